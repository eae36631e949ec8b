//! Where a name lies in a zone: at a node, below a cut, under a wildcard, or nowhere.

use zonekeeper_kernel::{name::Name, rdata::RecordType};

use super::{
    key::{suffixes, wildcard_below},
    tree::{Records, Tree, has},
};

/// Where a name lies in a zone.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place<'t> {
    /// The name exists, perhaps without records.
    Node(&'t Records),
    /// The name does not exist, and a wildcard speaks for it (RFC 4592 section 3.3.1).
    Wildcard(&'t Records),
    /// The name is at or below a delegation.
    Cut(&'t Name, &'t Records),
    /// The name is below a DNAME.
    Redirected(&'t Name, &'t Records),
    /// The name does not exist.
    Nowhere,
}

/// Finds a name, from the apex downwards, so that the highest cut or DNAME on the way wins.
///
/// Assumes: the name lies within the zone. DS is asked at the cut's upper side (RFC 4035 section 3.1.4.1),
/// so there a cut at the very name is none.
pub(super) fn find<'t>(tree: &'t Tree, name: &Name, rtype: RecordType) -> Place<'t> {
    let apex = tree.apex().as_str();
    let mut encloser = apex;
    for suffix in suffixes(name).rev().skip_while(|suffix| *suffix != apex) {
        let Some((owner, records)) = tree.get_with_name(suffix) else {
            return match tree.get(&wildcard_below(encloser)) {
                Some(records) => Place::Wildcard(records),
                None => Place::Nowhere,
            };
        };
        let is_name = suffix == name.as_str();
        if suffix != apex && has(records, RecordType::NS) && !(is_name && rtype == RecordType::DS) {
            return Place::Cut(owner, records);
        }
        if is_name {
            return Place::Node(records);
        }
        if has(records, RecordType::DNAME) {
            return Place::Redirected(owner, records);
        }
        encloser = suffix;
    }
    Place::Nowhere
}
