//! Zones, wishes and claims, small enough that everything meets everything.

use proptest::{collection::vec, prelude::*, sample::select};
use zonekeeper_kernel::{
    capability::Capabilities,
    claim::{Known, marked_comment},
    desired::{Adoption, Desired, DesiredSet, Unmet, Values, Wanted},
    holder::{Holder, HolderRef, OwnerId},
    marker::{Form, Registry, comment::CommentForm, key::MarkerKeys, txt::TxtForm, txt_names::TxtNames},
    name::Name,
    plan::{Evidence, Fate, Settled, Situation},
    rdata::{Rdata, RecordType},
    record::{Attributes, LiveRecord, RecordId, Ttl},
    resolve::{Intent, Origin, WantedName},
    zone::{
        Grant, LabelSelector, NameLimits, Namespaces, Prune, PruneMode, Rules, Selection, Sharing, ZoneKey,
    },
};

use crate::model::Zone;

/// Everything a law looks at.
#[derive(Debug, Clone)]
pub struct Case {
    pub records: Vec<(Name, LiveRecord)>,
    pub desired: Desired,
    pub registry: Registry,
    pub capabilities: Capabilities,
    pub known: Known,
    pub rules: Rules,
    pub evidence: Evidence,
    settled: Settled,
}

/// A wish for one zone.
#[derive(Debug, Clone)]
pub struct Wish {
    pub name: Name,
    pub intent: Intent,
}

impl Case {
    pub fn zone(&self) -> Zone {
        Zone::new(&self.registry, &self.capabilities, self.records.clone())
    }

    pub fn situation<'a>(&'a self, zone: &'a Zone) -> Situation<'a> {
        Situation {
            desired: &self.desired,
            live: &zone.live,
            registry: &self.registry,
            known: &self.known,
            rules: &self.rules,
            capabilities: &self.capabilities,
            evidence: &self.evidence,
            settled: &self.settled,
        }
    }
}

pub fn names() -> Vec<Name> {
    [
        "example.com",
        "www.example.com",
        "api.example.com",
        "*.example.com",
        "a.b.example.com",
        "_acme-challenge.example.com",
    ]
    .map(|text| Name::parse(text).unwrap())
    .into()
}

const TYPES: [RecordType; 6] =
    [RecordType::A, RecordType::AAAA, RecordType::CNAME, RecordType::TXT, RecordType::MX, RecordType::NS];

fn rdata(rtype: RecordType, variant: usize) -> Rdata {
    let text = match rtype {
        RecordType::A => ["192.0.2.1", "192.0.2.2", "192.0.2.3"][variant],
        RecordType::AAAA => ["2001:db8::1", "2001:db8::2", "2001:db8::3"][variant],
        RecordType::CNAME | RecordType::NS => ["x.example.net", "y.example.net", "z.example.net"][variant],
        RecordType::MX => ["10 x.example.net", "20 x.example.net", "10 y.example.net"][variant],
        _txt => ["one", "two", "three"][variant],
    };
    Rdata::parse(rtype, text).unwrap()
}

pub fn holders() -> Vec<Holder> {
    ["a", "b", "c"].map(|name| Holder::new("recordset", "default", name)).into()
}

/// Whose a generated record is.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Ours(usize),
    OldOwner(usize),
    Other,
    Forged,
    Nobody,
}

fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![
        4 => (0..3_usize).prop_map(Mark::Ours),
        1 => (0..3_usize).prop_map(Mark::OldOwner),
        1 => Just(Mark::Other),
        1 => Just(Mark::Forged),
        2 => Just(Mark::Nobody),
    ]
}

fn registry_like(owner: &str, key: Option<&[u8]>, form: Form) -> Registry {
    Registry {
        domain: Name::parse("example.com").unwrap(),
        owner: OwnerId::new(owner),
        take_over_from: vec![OwnerId::new("old")],
        keys: MarkerKeys::new(key, None),
        form,
    }
}

fn registry() -> impl Strategy<Value = (Registry, Capabilities)> {
    let txt = |prefix: &str, signed| {
        Form::Txt(TxtForm { names: TxtNames::new(prefix, "", "any").unwrap(), signed, encryption: None })
    };
    let forms = vec![
        (Form::Comment(CommentForm { limit: 100 }), Capabilities::cloudflare(60)),
        (Form::Comment(CommentForm { limit: 60 }), Capabilities::cloudflare(60)),
        (txt("", false), Capabilities::cloudflare(60)),
        (txt("x-%{record_type}.", true), Capabilities::standard()),
        (txt("p.", false), Capabilities::standard()),
        (Form::None, Capabilities::standard()),
    ];
    select(forms).prop_map(|(form, capabilities)| (registry_like("us", Some(b"key"), form), capabilities))
}

/// A live set: its records share a name, and a TXT marker claims them all.
type LiveSet = (usize, usize, Vec<(usize, Mark)>, Mark, u32);

fn live_sets() -> impl Strategy<Value = Vec<LiveSet>> {
    vec((0..6_usize, 0..6_usize, vec((0..3_usize, mark()), 0..3), mark(), select(vec![1, 300, 600])), 0..7)
}

fn live_records(
    sets: &[LiveSet],
    registry: &Registry,
    capabilities: &Capabilities,
) -> Vec<(Name, LiveRecord)> {
    let mut records: Vec<(Name, LiveRecord)> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (name, rtype, values, set_mark, ttl) in sets {
        if !seen.insert((*name, *rtype)) {
            continue;
        }
        let (name, rtype) = (names()[*name].clone(), TYPES[*rtype]);
        let fits = |records: &[(Name, LiveRecord)], rdata: &Rdata| {
            records.iter().filter(|(other, _)| *other == name).all(|(_, other)| {
                other.rdata != *rdata
                    && !capabilities.conflict((&name, &registry.domain), other.rdata.rtype(), rtype)
            })
        };
        if records.iter().any(|(other, record)| *other == name && record.rdata.rtype() == rtype) {
            continue;
        }
        let mut any = false;
        for (variant, mark) in values {
            let rdata = rdata(rtype, *variant);
            let has_cname = records.iter().any(|(other, record)| {
                *other == name && record.rdata.rtype() == RecordType::CNAME && rtype == RecordType::CNAME
            });
            if !fits(&records, &rdata) || has_cname {
                continue;
            }
            let comment = match registry.form {
                Form::Comment(_) => comment(registry, &name, rtype, *mark),
                Form::Txt(_) | Form::None => "".into(),
            };
            any = true;
            records.push((name.clone(), live(rdata, *ttl, comment)));
        }
        // ExternalDNS may be at work in a zone with comment markers too.
        let form = match (&registry.form, set_mark) {
            (Form::Txt(form), _) => Some(form.clone()),
            (Form::Comment(_), Mark::Other) => Some(TxtForm::default()),
            (Form::Comment(_) | Form::None, _) => None,
        };
        if let Some(form) = form
            && let Some(value) = txt_value(registry, &form, &name, rtype, *set_mark)
            && (any || values.len() == 1)
        {
            let at = form.names.marker_of(&name, rtype, &registry.domain);
            if !records.iter().any(|(other, record)| *other == at && record.rdata == value) {
                records.push((at, live(value, 1, "".into())));
            }
        }
    }
    for (index, (_, record)) in records.iter_mut().enumerate() {
        record.id = RecordId(format!("r{index}").into());
    }
    records
}

fn live(rdata: Rdata, ttl: u32, comment: Box<str>) -> LiveRecord {
    LiveRecord {
        rdata,
        id: RecordId::default(),
        ttl: Ttl(ttl),
        attributes: Attributes::default(),
        comment,
        read_only: false,
    }
}

fn comment(registry: &Registry, name: &Name, rtype: RecordType, mark: Mark) -> Box<str> {
    let form = || registry.form.clone();
    let (author, holder) = match mark {
        Mark::Ours(holder) => (registry.clone(), holder),
        Mark::OldOwner(holder) => (registry_like("old", Some(b"old key"), form()), holder),
        Mark::Other => (registry_like("other", Some(b"key"), form()), 0),
        Mark::Forged => (registry_like("us", Some(b"guess"), form()), 0),
        Mark::Nobody => return "text".into(),
    };
    marked_comment(&author, (name, rtype), &holders()[holder], "text").0
}

fn txt_value(
    registry: &Registry,
    form: &TxtForm,
    name: &Name,
    rtype: RecordType,
    mark: Mark,
) -> Option<Rdata> {
    let (author, holder) = match mark {
        Mark::Ours(holder) => (registry.clone(), holder),
        Mark::OldOwner(holder) => (registry_like("old", None, Form::None), holder),
        Mark::Other | Mark::Forged => (registry_like("other", None, Form::None), 0),
        Mark::Nobody => return None,
    };
    Some(form.write(&author, (name, rtype), &holders()[holder]))
}

fn desired(capabilities: Capabilities) -> impl Strategy<Value = Desired> {
    let set = (
        (0..6_usize, 0..6_usize, vec((0..3_usize, 0..3_usize), 1..4), any::<u8>()),
        (
            select(vec![1, 300, 600]),
            any::<bool>(),
            select(vec![Adoption::Never, Adoption::Identical, Adoption::Force]),
        ),
        select(vec![
            None,
            Some("text"),
            Some("a longer text that may have to be cut on the way, with ünïcödé in it"),
        ]),
    );
    (vec(set, 0..7), any::<u16>()).prop_map(move |(sets, reserved)| {
        let mut desired = Desired::default();
        // Every eighth name or so.
        for (index, name) in names().into_iter().enumerate() {
            if (reserved >> (2 * index)) & 3 == 0 && reserved & 1 == 1 {
                let unmet = if reserved & 2 == 0 { Unmet::Mistaken } else { Unmet::Forbidden };
                desired.reserve(name, TYPES[usize::from(reserved >> 12) % TYPES.len()], unmet);
            }
        }
        for ((name, rtype, values, kind), (ttl, proxied, adoption), comment) in sets {
            let (name, rtype) = (names()[name].clone(), TYPES[rtype]);
            if desired
                .at(&name)
                .iter()
                .any(|other| capabilities.conflict((&name, &names()[0]), other.rtype, rtype))
            {
                continue;
            }
            if capabilities.default_ttl == Ttl(300) && ttl == 1 {
                continue;
            }
            let mut wanted: Vec<Wanted> = Vec::new();
            for (variant, holder) in values {
                let rdata = rdata(rtype, variant);
                let is_full = rtype == RecordType::CNAME && !wanted.is_empty();
                if !is_full && !wanted.iter().any(|other| other.rdata == rdata) {
                    wanted.push(Wanted { rdata, holder: holders()[holder].clone() });
                }
            }
            wanted.sort();
            let mut holders: Vec<Holder> = wanted.iter().map(|value| value.holder.clone()).collect();
            holders.sort();
            holders.dedup();
            let values = if kind < 20 { Values::Unknown } else { Values::Known(wanted) };
            let mut set = DesiredSet {
                rtype,
                values,
                ttl: Ttl(ttl),
                attributes: Attributes { proxied, ..Attributes::default() },
                comment: comment.map(Into::into),
                adoption,
                holders,
            };
            capabilities.normalise(&mut set);
            desired.insert(name, set);
        }
        desired
    })
}

fn evidence() -> impl Strategy<Value = Evidence> {
    prop_oneof![
        2 => Just(Evidence::complete()),
        3 => (proptest::sample::subsequence(holders(), 0..=3), any::<u64>()).prop_map(seen),
    ]
}

/// Every holder gives up some sets, leaves others behind, and is not understood about the rest.
fn seen((holders, dice): (Vec<Holder>, u64)) -> Evidence {
    let mut fates = Vec::new();
    for (one, holder) in holders.iter().enumerate() {
        for (two, name) in names().into_iter().enumerate() {
            for (three, rtype) in TYPES.into_iter().enumerate() {
                let fate = match dice.rotate_right((one * 31 + two * 7 + three * 3) as u32) & 7 {
                    0 => Fate::Retained,
                    1 => Fate::Awaited,
                    _most => Fate::Released,
                };
                fates.push((name.clone(), rtype, HolderRef::Full(holder.clone()), fate));
            }
        }
    }
    Evidence::seen(fates)
}

pub fn case() -> impl Strategy<Value = Case> {
    registry().prop_flat_map(|(registry, capabilities)| {
        let prune = select(vec![PruneMode::Never, PruneMode::Owned]);
        (live_sets(), desired(capabilities.clone()), evidence(), prune, any::<u8>()).prop_map(
            move |(sets, desired, evidence, mode, known)| {
                let records = live_records(&sets, &registry, &capabilities);
                let ids =
                    records.iter().enumerate().filter(|(index, _)| known & (1 << (index % 8)) != 0).map(
                        |(index, (_, record))| {
                            // Memory knows what the marker says, and more where that is gone.
                            let is_named = |holder: &&Holder| record.comment.contains(holder.as_str());
                            let holders = holders();
                            let named = holders.iter().find(is_named).unwrap_or(&holders[index % 3]);
                            (record.id.clone(), named.clone())
                        },
                    );
                let known = match registry.form {
                    Form::None => Known::Everything,
                    Form::Comment(_) if known > 128 => Known::Ids(ids.collect()),
                    Form::Comment(_) | Form::Txt(_) => Known::Nothing,
                };
                Case {
                    records,
                    desired,
                    registry: registry.clone(),
                    capabilities: capabilities.clone(),
                    known,
                    rules: Rules {
                        prune: Prune { mode, max_deletes: 10, ignore: Vec::new() },
                        ..Rules::default()
                    },
                    evidence,
                    settled: Settled::default(),
                }
            },
        )
    })
}

pub fn zone() -> zonekeeper_kernel::zone::Zone {
    let grant = |share, adoption| Grant {
        namespaces: Namespaces::Selected(LabelSelector::default()),
        names: None,
        types: None,
        share,
        adoption,
    };
    zonekeeper_kernel::zone::Zone {
        key: ZoneKey { namespace: "default".into(), name: "example-com".into() },
        provider: "p".into(),
        domain: Name::parse("example.com").unwrap(),
        selection: Selection::Any,
        names: NameLimits::default(),
        grants: vec![grant(Sharing::Shared, Adoption::Identical)],
        records_from: Vec::new(),
        sources: None,
        default_ttl: None,
        default_proxied: false,
    }
}

/// Wishes, and the same wishes in another order.
pub fn intents() -> impl Strategy<Value = (Vec<Wish>, Vec<Wish>)> {
    let wish = (
        0..6_usize,
        0..6_usize,
        vec(0..3_usize, 0..3),
        0..3_usize,
        select(vec!["default", "team"]),
        0..2_u32,
    );
    let wish = wish.prop_map(|(name, rtype, values, object, namespace, ttl)| {
        let rtype = TYPES[rtype];
        let intent = Intent {
            holder: Holder::new("recordset", namespace, &format!("o{object}")),
            origin: Origin::RecordSet,
            age: format!("{namespace}/o{object}"),
            namespace: namespace.into(),
            namespace_labels: Default::default(),
            labels: Default::default(),
            zone_refs: None,
            name: WantedName::Absolute(names()[name].clone()),
            rtype,
            values: (!values.is_empty())
                .then(|| values.iter().map(|variant| rdata(rtype, *variant)).collect()),
            ttl: Some(Ttl(300 + ttl)),
            proxied: None,
            attributes: Attributes::default(),
            comment: None,
            adoption: Adoption::Identical,
        };
        Wish { name: names()[name].clone(), intent }
    });
    vec(wish, 0..8).prop_flat_map(|wishes| (Just(wishes.clone()), Just(wishes).prop_shuffle()))
}
