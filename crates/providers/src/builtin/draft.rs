//! One change to a zone, tried on copies of the names that it touches before any of it is visible.

use std::collections::BTreeMap;

use zonekeeper_kernel::{
    attribute::Attributes,
    name::Name,
    plan::{Change, Edit},
    record::{LiveRecord, RecordId},
};

use super::{
    check::{check_name, check_place},
    tree::{SERVER, Stored, Tree},
};
use crate::{Effect, ProviderError};

/// The names that a change touches, as it leaves them, and what it did.
#[derive(Debug)]
pub(super) struct Draft {
    /// The records of each name, sorted, without the server's own.
    pub(super) names: BTreeMap<Name, Vec<Stored>>,
    /// What each edit did.
    pub(super) effects: Vec<Effect>,
}

// === impl Draft ===

impl Draft {
    /// Carries a change out on copies, or says why it can't be.
    pub(super) fn of(change: &Change, tree: &Tree, last_id: &mut u64) -> Result<Self, ProviderError> {
        let mut draft = Self { names: BTreeMap::new(), effects: Vec::with_capacity(change.edits.len()) };
        for edit in &change.edits {
            draft.edit(edit, tree, last_id)?;
        }
        for (name, records) in &draft.names {
            check_name(name, records)?;
        }
        Ok(draft)
    }

    fn edit(&mut self, edit: &Edit, tree: &Tree, last_id: &mut u64) -> Result<(), ProviderError> {
        let name = edit.name();
        if let Some(after) = edit.after() {
            check_place(tree.apex(), name, after.rdata.rtype())?;
        }
        let records = self.names.entry(name.clone()).or_insert_with(|| given(tree, name));
        let mut removed = None;
        if let Some(before) = edit.before() {
            let at = position(records, before).ok_or_else(|| ProviderError::Stale {
                message: format!("{name} {:?} is no longer in zone {}", before.rdata, tree.apex()),
            })?;
            removed = Some(records.remove(at));
        }
        let mut written = None;
        if let Some(after) = edit.after() {
            let id = removed.as_ref().map_or_else(
                || {
                    *last_id += 1;
                    *last_id
                },
                |removed| removed.id,
            );
            let stored = Stored { rdata: after.rdata.clone(), ttl: after.ttl, id };
            match records.binary_search_by(|record| record.rdata.cmp(&stored.rdata)) {
                Ok(_) => {
                    return Err(ProviderError::Stale {
                        message: format!("{name} {:?} is already in zone {}", stored.rdata, tree.apex()),
                    });
                }
                Err(at) => {
                    written = Some(live(&stored));
                    records.insert(at, stored);
                }
            }
        }
        let removed = removed.map(|removed| (removed.rdata, id_text(removed.id)));
        self.effects.push(Effect { name: name.clone(), removed, written });
        Ok(())
    }
}

/// The records of a name that we were given.
pub(super) fn given(tree: &Tree, name: &Name) -> Vec<Stored> {
    let records = tree.get(name.as_str()).map_or(&[][..], |records| records);
    records.iter().filter(|record| record.id != SERVER).cloned().collect()
}

/// A record as a listing shows it.
pub(super) fn live(stored: &Stored) -> LiveRecord {
    LiveRecord {
        rdata: stored.rdata.clone(),
        id: id_text(stored.id),
        ttl: stored.ttl,
        attributes: Attributes::default(),
        comment: "".into(),
        read_only: false,
    }
}

fn id_text(id: u64) -> RecordId {
    RecordId(id.to_string().into())
}

fn position(records: &[Stored], wanted: &LiveRecord) -> Option<usize> {
    let at = records.binary_search_by(|record| record.rdata.cmp(&wanted.rdata)).ok()?;
    (id_text(records[at].id) == wanted.id).then_some(at)
}
