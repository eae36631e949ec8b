//! What a provider can hold, and how it changes what it is given.

use crate::{
    desired::DesiredSet,
    name::Name,
    rdata::RecordType,
    record::{Attributes, Ttl},
};

/// What one zone at one provider can hold.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// The types it takes.
    pub types: TypeSupport,
    /// What may stand beside a CNAME.
    pub neighbours: Neighbours,
    /// Whether it keeps proxied, comments, tags and settings.
    pub attributes: AttributeSupport,
    /// The TTL of a set that asks for none.
    pub default_ttl: Ttl,
    /// The smallest TTL apart from "automatic".
    pub minimum_ttl: u32,
    /// The largest TTL.
    pub maximum_ttl: u32,
}

/// Which record types a provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeSupport {
    /// Every type, unknown ones by RFC 3597.
    Every,
    /// The 21 types of Cloudflare's API: every type of the table but DNAME.
    Cloudflare,
}

/// What may stand beside a CNAME or a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// Nothing at all beside a CNAME (RFC 1034 section 3.6.2).
    Standard,
    /// Cloudflare: a CNAME excludes A, AAAA and NS only; NS excludes all but DS.
    Cloudflare,
}

/// Whether a provider keeps more than value and TTL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeSupport {
    /// Value and TTL only.
    None,
    /// Cloudflare's proxied, comment, tags and settings.
    Cloudflare,
}

// === impl Capabilities ===

impl Capabilities {
    /// An ordinary DNS server.
    pub fn standard() -> Self {
        Self {
            types: TypeSupport::Every,
            neighbours: Neighbours::Standard,
            attributes: AttributeSupport::None,
            default_ttl: Ttl(300),
            minimum_ttl: 0,
            maximum_ttl: i32::MAX as u32,
        }
    }

    /// A zone at Cloudflare; `minimum_ttl` is 60, on the Enterprise plan 30 (2026-11).
    pub fn cloudflare(minimum_ttl: u32) -> Self {
        Self {
            types: TypeSupport::Cloudflare,
            neighbours: Neighbours::Cloudflare,
            attributes: AttributeSupport::Cloudflare,
            default_ttl: Ttl::AUTOMATIC,
            minimum_ttl,
            maximum_ttl: 86_400,
        }
    }

    /// Whether the provider takes this type.
    pub fn supports(&self, rtype: RecordType) -> bool {
        match self.types {
            TypeSupport::Every => true,
            TypeSupport::Cloudflare => {
                rtype.is_known() && rtype != RecordType::DNAME && rtype != RecordType::SOA
            }
        }
    }

    /// Whether sets of these two types can't share `name` in the zone of `domain`.
    pub fn conflict(&self, (name, domain): (&Name, &Name), one: RecordType, other: RecordType) -> bool {
        if one == other {
            return false;
        }
        let either = |rtype| one == rtype || other == rtype;
        match self.neighbours {
            Neighbours::Standard => either(RecordType::CNAME),
            Neighbours::Cloudflare => {
                let is_host = |rtype| matches!(rtype, RecordType::A | RecordType::AAAA | RecordType::NS);
                (either(RecordType::CNAME) && (is_host(one) || is_host(other)))
                    || (either(RecordType::NS) && !either(RecordType::DS) && name != domain)
            }
        }
    }

    /// Whether the proxy can stand in for a set of this type.
    pub fn is_proxiable(&self, rtype: RecordType) -> bool {
        self.attributes == AttributeSupport::Cloudflare
            && matches!(rtype, RecordType::A | RecordType::AAAA | RecordType::CNAME)
    }

    /// Whether this TTL can be stored as it is.
    pub fn allows_ttl(&self, ttl: Ttl) -> bool {
        (self.default_ttl == Ttl::AUTOMATIC && ttl == Ttl::AUTOMATIC)
            || (self.minimum_ttl..=self.maximum_ttl).contains(&ttl.0)
    }

    /// Changes a wish into the form in which the provider will return it (law 8).
    pub fn normalise(&self, set: &mut DesiredSet) {
        match self.attributes {
            AttributeSupport::None => {
                set.attributes = Attributes::default();
                set.comment = None;
            }
            AttributeSupport::Cloudflare => {
                set.attributes.proxied &= self.is_proxiable(set.rtype);
                set.attributes.flatten_cname &= set.rtype == RecordType::CNAME;
                set.attributes.tags.sort();
                if set.attributes.proxied {
                    set.ttl = Ttl::AUTOMATIC;
                }
            }
        }
    }
}
