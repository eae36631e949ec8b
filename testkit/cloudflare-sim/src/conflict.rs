//! Which records exclude each other at one name.

use crate::{
    error::{ApiError, error},
    kinds::Rule,
    knobs::{DsWithoutNs, IdenticalRecord, Knobs, TxtBesideNs},
    record::Record,
    zone::Zone,
};

const LONGEST_SET: usize = 8_192;

/// Checks a record against the others of its name; its own former self doesn't count.
pub fn check(zone: &Zone, knobs: &Knobs, record: &Record) -> Result<(), ApiError> {
    let kind = record.kind.name;
    let is_delegation = record.name != zone.name;
    let mut has_ns = false;
    let mut length = record.content.chars().count();
    for other in zone.records.named(&record.name).filter(|other| other.id != record.id) {
        let other_kind = other.kind.name;
        has_ns |= other_kind == "NS";
        if other_kind == kind {
            length += other.content.chars().count();
        }
        match (kind, other_kind) {
            ("CNAME", "A" | "AAAA" | "CNAME") => {
                return Err(error(
                    81053,
                    "An A, AAAA, or CNAME record with that host already exists. For more details, refer to the documentation.",
                ));
            }
            ("A" | "AAAA", "CNAME") => {
                return Err(error(
                    81054,
                    "A CNAME record with that host already exists. For more details, refer to the documentation.",
                ));
            }
            ("NS", other) if is_delegation && excludes_ns(other, knobs) => {
                return Err(error(81055, "Records with that host already exist, so an NS record cannot."));
            }
            (kind, "NS") if is_delegation && excludes_ns(kind, knobs) => {
                return Err(error(81056, "NS records with that host already exist."));
            }
            _ if record.is_identical(other) => {
                return Err(match knobs.identical_record {
                    IdenticalRecord::Code81058 => error(81058, "An identical record already exists."),
                    IdenticalRecord::Code81057 => error(81057, "Record already exists."),
                });
            }
            _ => {}
        }
    }
    if length > LONGEST_SET {
        let text = "Combined content length of records with this name and type exceeds the limit.";
        return Err(error(83011, text));
    }
    if record.kind.rule == Rule::NeedsDelegation && !has_ns && knobs.ds_without_ns == DsWithoutNs::Refuse {
        return Err(error(9007, "Content for DS record is invalid: the name has no NS records."));
    }
    Ok(())
}

/// DS belongs beside the delegation; whether TXT may stand there is unverified.
fn excludes_ns(kind: &str, knobs: &Knobs) -> bool {
    match kind {
        "NS" | "DS" => false,
        "TXT" => knobs.txt_beside_ns == TxtBesideNs::Refuse,
        _ => true,
    }
}
