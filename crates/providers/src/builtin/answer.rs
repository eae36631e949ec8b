//! What is said about a question, before it becomes a message.

use std::ops::Range;

use domain::base::iana::Rcode;
use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
};

use super::tree::{Records, Stored, of_type, ttl_of};

/// The answer to one question.
#[derive(Debug)]
pub(super) struct Answer {
    /// The response code.
    pub(super) rcode: Rcode,
    /// Whether we have authority over the name that was asked for.
    pub(super) is_authoritative: bool,
    /// The answer section.
    pub(super) answer: Vec<RecordSet>,
    /// The authority section.
    pub(super) authority: Vec<RecordSet>,
    /// Addresses without which a referral is of no use (RFC 9471): they fit, or the answer is truncated.
    pub(super) glue: Vec<RecordSet>,
    /// Addresses that spare the client a question, where they fit.
    pub(super) additional: Vec<RecordSet>,
}

/// One set under the name that it is served by, which is not always the name that it is stored by.
#[derive(Debug, Clone)]
pub(super) struct RecordSet {
    /// The owner's name.
    pub(super) owner: Name,
    /// The TTL.
    pub(super) ttl: u32,
    values: Values,
}

#[derive(Debug, Clone)]
enum Values {
    Stored(Records, Range<usize>),
    Made(Rdata),
}

// === impl Answer ===

impl Answer {
    /// An answer without records.
    pub(super) fn empty(rcode: Rcode) -> Self {
        Self {
            rcode,
            is_authoritative: false,
            answer: Vec::new(),
            authority: Vec::new(),
            glue: Vec::new(),
            additional: Vec::new(),
        }
    }
}

// === impl RecordSet ===

impl RecordSet {
    /// The set of one type of a name; none where it has none.
    pub(super) fn of(owner: &Name, records: &Records, rtype: RecordType) -> Option<Self> {
        let start = records.partition_point(|record| record.rdata.rtype() < rtype);
        let set = of_type(records, rtype);
        let range = start..start + set.len();
        (!set.is_empty()).then(|| Self {
            owner: owner.clone(),
            ttl: ttl_of(set),
            values: Values::Stored(records.clone(), range),
        })
    }

    /// All sets of a name, by type.
    pub(super) fn all(owner: &Name, records: &Records) -> Vec<Self> {
        let runs = records.chunk_by(|one, other| one.rdata.rtype() == other.rdata.rtype());
        runs.filter_map(|run| Self::of(owner, records, run.first()?.rdata.rtype())).collect()
    }

    /// A set of one value that is stored nowhere.
    pub(super) fn made(owner: Name, ttl: u32, rdata: Rdata) -> Self {
        Self { owner, ttl, values: Values::Made(rdata) }
    }

    /// The values.
    pub(super) fn values(&self) -> impl Iterator<Item = &Rdata> {
        let (stored, made): (&[Stored], Option<&Rdata>) = match &self.values {
            Values::Stored(records, range) => (&records[range.clone()], None),
            Values::Made(rdata) => (&[], Some(rdata)),
        };
        stored.iter().map(|record| &record.rdata).chain(made)
    }
}
