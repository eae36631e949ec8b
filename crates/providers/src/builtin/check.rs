//! What a name server can't serve.

use zonekeeper_kernel::{name::Name, rdata::RecordType};

use super::tree::{Stored, has};
use crate::ProviderError;

/// What is left of a message for one set, after header, question and OPT at their longest.
const MAX_SET: usize = 65_535 - 12 - (255 + 4) - 11;

/// Whether a zone can hold a record of this name and type at all.
pub(super) fn check_place(domain: &Name, name: &Name, rtype: RecordType) -> Result<(), ProviderError> {
    if !name.is_within(domain) {
        return Err(rejected(format!(
            "{name} {rtype} lies outside zone {domain}; move it to the zone of its name"
        )));
    }
    match (rtype, rtype.code()) {
        (RecordType::SOA, _) => Err(rejected(format!(
            "{name} SOA belongs to the built-in server; change spec.authority of the DNSZone instead"
        ))),
        // RFC 6895 section 3.1: OPT, and the types of questions and of signed transactions.
        (_, 0 | 41 | 128..=255) => Err(rejected(format!(
            "{name} {rtype} is a type of questions and messages, not of records; remove it"
        ))),
        (RecordType::NS, _) if name.is_wildcard() => Err(rejected(format!(
            "{name} NS would delegate every name (RFC 4592 section 4.2); name each delegated zone"
        ))),
        (RecordType::CNAME, _) if name == domain => Err(rejected(format!(
            "{name} CNAME can't stand at the apex, beside SOA and NS; use A and AAAA records"
        ))),
        (_, _) => Ok(()),
    }
}

/// Whether these records, sorted, can stand at one name together.
pub(super) fn check_name(name: &Name, records: &[Stored]) -> Result<(), ProviderError> {
    if has(records, RecordType::CNAME) && records.len() > 1 {
        return Err(rejected(format!(
            "{name} CNAME must be the only record of its name (RFC 1034 section 3.6.2); remove one side"
        )));
    }
    for set in records.chunk_by(|one, other| one.rdata.rtype() == other.rdata.rtype()) {
        let rtype = set[0].rdata.rtype();
        if rtype == RecordType::DNAME && set.len() > 1 {
            return Err(rejected(format!(
                "{name} DNAME must have one target (RFC 6672 section 2.4); keep one"
            )));
        }
        // The owner's name is a pointer to the question, then type, class, TTL and length.
        let length: usize = set.iter().map(|record| 2 + 10 + record.rdata.wire().len()).sum();
        if length > MAX_SET {
            return Err(rejected(format!(
                "{name} {rtype} has {length} octets, more than a message holds ({MAX_SET}); split the set"
            )));
        }
    }
    Ok(())
}

pub(super) fn rejected(message: String) -> ProviderError {
    ProviderError::Rejected { message }
}
