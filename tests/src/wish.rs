//! Wishes that read as prose: `want("A", "www", ["192.0.2.1"]).ttl(300)`.

use zonekeeper_kernel::{
    attribute::{AttributeValue, Attributes, FLATTEN_CNAME, IPV4_ONLY, PROXIED, TAGS},
    capability::Capabilities,
    desired::{Adoption, Desired, DesiredSet, Values, Wanted},
    holder::Holder,
    name::Name,
    rdata::Rdata,
    record::Ttl,
};

/// One wanted set.
#[derive(Debug, Clone)]
pub struct Wish {
    name: String,
    rtype: String,
    values: Vec<String>,
    ttl: Option<u32>,
    attributes: Attributes,
    comment: Option<String>,
    adoption: Adoption,
    holder: Option<Holder>,
}

/// A wanted set; its name is relative to the zone.
pub fn want<const N: usize>(rtype: &str, name: &str, values: [&str; N]) -> Wish {
    want_all(rtype, name, values.map(str::to_owned))
}

/// A wanted set of as many values as there are.
pub fn want_all(rtype: &str, name: &str, values: impl IntoIterator<Item = String>) -> Wish {
    Wish {
        name: name.into(),
        rtype: rtype.into(),
        values: values.into_iter().collect(),
        ttl: None,
        attributes: Attributes::default(),
        comment: None,
        adoption: Adoption::Identical,
        holder: None,
    }
}

impl Wish {
    pub fn ttl(mut self, ttl: u32) -> Self {
        self.ttl = Some(ttl);
        self
    }

    pub fn proxied(mut self) -> Self {
        self.attributes = self.attributes.with(PROXIED, true);
        self
    }

    pub fn tagged(mut self, tags: &[&str]) -> Self {
        self.attributes = self.attributes.with(TAGS, AttributeValue::from_iter(tags.iter().copied()));
        self
    }

    pub fn flattened(mut self) -> Self {
        self.attributes = self.attributes.with(FLATTEN_CNAME, true);
        self
    }

    pub fn ipv4_only(mut self) -> Self {
        self.attributes = self.attributes.with(IPV4_ONLY, true);
        self
    }

    pub fn comment(mut self, comment: &str) -> Self {
        self.comment = Some(comment.into());
        self
    }

    pub fn adopting(mut self, adoption: Adoption) -> Self {
        self.adoption = adoption;
        self
    }

    pub fn held_by(mut self, name: &str) -> Self {
        self.holder = Some(Holder::new("recordset", "default", name));
        self
    }
}

/// Wishes as a zone's worker gets them from the resolver.
pub fn desired(domain: &Name, capabilities: &Capabilities, wishes: &[Wish]) -> Desired {
    let mut desired = Desired::default();
    for wish in wishes {
        let name = place(&wish.name, domain);
        let rtype = wish.rtype.parse().expect("a test's type");
        let holder = wish.holder.clone().unwrap_or_else(|| {
            Holder::new("recordset", "default", &format!("{}-{}", wish.name, wish.rtype).to_lowercase())
        });
        let mut values: Vec<Wanted> = wish
            .values
            .iter()
            .map(|text| Wanted {
                rdata: Rdata::parse(rtype, text).expect("a test's value"),
                holder: holder.clone(),
            })
            .collect();
        values.sort();
        values.dedup();
        let mut set = DesiredSet {
            rtype,
            values: Values::Known(values),
            ttl: wish.ttl.map_or(capabilities.default_ttl, Ttl),
            attributes: wish.attributes.clone(),
            comment: wish.comment.as_deref().map(Into::into),
            adoption: wish.adoption,
            holders: vec![holder],
        };
        capabilities.normalise(&mut set);
        desired.insert(name, set);
    }
    desired
}

/// A test's name: relative to the zone, or absolute where it ends in the zone's domain and a dot.
pub fn place(text: &str, domain: &Name) -> Name {
    match Name::parse(text) {
        Ok(name) if text.ends_with('.') && name.is_within(domain) => name,
        Ok(_) | Err(_) => Name::parse_under(text, domain).expect("a test's name"),
    }
}
