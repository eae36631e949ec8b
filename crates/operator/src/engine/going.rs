//! Objects that ask for something no more: what they hold still, and why.

use std::collections::BTreeSet;

use zonekeeper_api::Reason;
use zonekeeper_kernel::{
    desired::{Desired, DesiredSet, Values},
    holder::{Holder, HolderRef},
    marker::Form,
    name::Name,
    plan::{Evidence, Orphan},
    rdata::{Rdata, RecordType},
    record::LiveRecord,
};
use zonekeeper_model::{
    Key,
    conditions::Verdict,
    pass::{Left, PassRequest, Retained},
    released::ALL,
};

use crate::engine::{ZoneWorker, outcomes::Fates};

/// A RecordSet as markers name it.
fn holder_of(object: &Key) -> Holder {
    Holder::new("recordset", &object.0, &object.1)
}

/// Notes the values that objects leave behind, where a marker claims whole sets and does not say whose a value is.
pub fn note_retained(request: &PassRequest, worker: &ZoneWorker, desired: &mut Desired) {
    if !matches!(worker.settings().registry.form, Form::Txt(_)) {
        return;
    }
    for retained in &request.retained {
        let values = retained.values.iter().cloned();
        values.for_each(|rdata| desired.leave(retained.name.clone(), rdata));
    }
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
    known: (&Desired, &Evidence),
) -> Vec<Left> {
    let left = request.departing.iter().map(|(name, object)| {
        let retained = request.retained.iter().find(|it| it.name == *name && it.object == *object);
        let why = match retained.and_then(|retained| left_in_set(worker, retained, known.0)) {
            Some(shared) => shared,
            None => left_of_its_own(request, worker, fates, known.1, (name, object)),
        };
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

/// Where a marker claims a set as a whole and others ask for it too: whether an object leaves values behind in it. Without
/// the object they would be taken for values of the set, and deleted. None where that is not so.
fn left_in_set(worker: &ZoneWorker, retained: &Retained, desired: &Desired) -> Option<Option<Verdict>> {
    if !matches!(worker.settings().registry.form, Form::Txt(_)) {
        return None;
    }
    let (name, rtype) = (&retained.name, retained.rtype);
    let set = desired.at(name).iter().find(|set| set.rtype == rtype)?;
    let is_left = worker.held_at(name).iter().any(|(record, _)| {
        record.rdata.rtype() == rtype
            && retained.values.contains(&record.rdata)
            && !is_wanted(set, &record.rdata)
    });
    let others: Vec<String> = set.holders.iter().map(ToString::to_string).collect();
    let others = others.join(", ");
    Some(is_left.then(|| {
        Verdict::new(
            Reason::Orphaned,
            format!(
                "{name} {rtype} is also requested by {others}, and its TXT marker claims the whole set: the values of this object can't be left unmanaged beside it. They stay until {others} is deleted; to give them up, annotate this object with zonekeeper.dev/release=true"
            ),
        )
    }))
}

fn is_wanted(set: &DesiredSet, rdata: &Rdata) -> bool {
    match &set.values {
        Values::Known(values) => values.iter().any(|value| value.rdata == *rdata),
        Values::Unknown => false,
    }
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
