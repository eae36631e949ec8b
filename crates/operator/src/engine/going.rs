//! Objects that ask for something no more: what they hold still, and why.

use std::collections::BTreeSet;

use zonekeeper_api::Reason;
use zonekeeper_kernel::{
    holder::{Holder, HolderRef},
    name::Name,
    plan::{Evidence, Orphan},
    rdata::RecordType,
    record::LiveRecord,
};
use zonekeeper_model::{
    Key,
    conditions::Verdict,
    pass::{Left, PassRequest},
    released::ALL,
};

use crate::engine::{ZoneWorker, outcomes::Fates};

/// A RecordSet as markers name it.
fn holder_of(object: &Key) -> Holder {
    Holder::new("recordset", &object.0, &object.1)
}

/// What objects hold that ask for it no more.
pub fn held(request: &PassRequest, worker: &ZoneWorker) -> Vec<Orphan> {
    let held = request.departing.iter().flat_map(|(name, object)| {
        let holder = holder_of(object);
        let wished = wished_types(request, name, &holder);
        let its_own = worker
            .held_at(name)
            .into_iter()
            .filter(move |(record, named)| named.names(&holder) && !wished.contains(&record.rdata.rtype()));
        let orphan = |(record, holder): (&LiveRecord, HolderRef)| Orphan {
            name: name.clone(),
            rdata: record.rdata.clone(),
            holder,
        };
        its_own.map(orphan).collect::<Vec<_>>()
    });
    held.collect()
}

/// Which types an object asks for at a name.
fn wished_types(request: &PassRequest, name: &Name, holder: &Holder) -> BTreeSet<RecordType> {
    let its_own = request.wishes.iter().filter(|(at, intent)| at == name && intent.holder == *holder);
    its_own.map(|(_, intent)| intent.rtype).collect()
}

/// Which of those that wish something no more hold it still.
pub fn left(
    request: &PassRequest,
    worker: &ZoneWorker,
    fates: &Fates<'_>,
    evidence: &Evidence,
) -> Vec<Left> {
    let left = request.departing.iter().map(|(name, object)| {
        let why = left_of_its_own(request, worker, fates, evidence, (name, object));
        Left { object: object.clone(), name: name.clone(), why }
    });
    left.collect()
}

/// Why an object holds something still that nothing else has a claim on; nothing where it does not.
fn left_of_its_own(
    request: &PassRequest,
    worker: &ZoneWorker,
    fates: &Fates<'_>,
    evidence: &Evidence,
    (name, object): (&Name, &Key),
) -> Option<Verdict> {
    let holder = holder_of(object);
    let wished = wished_types(request, name, &holder);
    let held: Vec<_> = worker
        .held_at(name)
        .into_iter()
        .filter(|(record, named)| named.names(&holder) && !wished.contains(&record.rdata.rtype()))
        .collect();
    if held.is_empty() {
        return None;
    }
    let is_given_up = held.iter().any(|(record, named)| {
        let place = (name, record.rdata.rtype());
        evidence.releases(place, named) || evidence.retains(place, named)
    });
    let unfinished = fates.unfinished(name, |_| true);
    Some(unfinished.unwrap_or_else(|| match is_given_up {
        true => Verdict::new(
            Reason::Orphaned,
            format!(
                "its records at {name} stay: another object asks for this name and can't be served yet; correct or delete that object, or annotate this one with zonekeeper.dev/release=true"
            ),
        ),
        false => Verdict::new(Reason::Pending, "it is not known yet whether the old record may go"),
    }))
}

/// Objects that were let go, and of which no record is left in the zone.
pub fn gone(request: &PassRequest, worker: &ZoneWorker) -> BTreeSet<String> {
    if request.released.is_empty() {
        return BTreeSet::new();
    }
    let mut held: BTreeSet<HolderRef> = BTreeSet::new();
    for (name, _) in worker.cache().live().iter() {
        let is_wished = |record: &LiveRecord, named: &HolderRef| {
            let mut wishes = request.wishes.iter().filter(|(at, _)| at == name);
            wishes.any(|(_, intent)| intent.rtype == record.rdata.rtype() && named.names(&intent.holder))
        };
        let left = worker.held_at(name).into_iter().filter(|(record, named)| !is_wished(record, named));
        held.extend(left.map(|(_, named)| named));
    }
    let is_left = |released: &str| match released {
        ALL => !held.is_empty(),
        _ => held.iter().any(|named| named.names(&Holder::from_text(released))),
    };
    request.released.iter().filter(|released| !is_left(released)).cloned().collect()
}
