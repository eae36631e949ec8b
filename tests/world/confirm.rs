//! Fresh reads of holders, as the API server answers them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use zonekeeper_kernel::holder::HolderHashes;
use zonekeeper_model::{
    Event,
    confirmation::{ConfirmRequest, Confirmation, Confirmed, Found, Fresh},
    holders::{HolderState, Subject},
    objects::Kind,
};
use zonekeeper_sources::object::ObjectRef;

use crate::{
    cluster::AnyKind,
    world::{State, World},
};

pub async fn confirm(request: ConfirmRequest, world: Arc<World>) -> Event {
    let ConfirmRequest { zone, pass, about, answer } = request;
    let latency = world.lock().api_latency();
    tokio::time::sleep(latency).await;
    let mut fresh = Fresh::default();
    let mut is_staying = None;
    let leaving: BTreeSet<&Subject> = answer.states.iter().filter_map(HolderState::leaving).collect();
    {
        let state = world.lock();
        for subject in answer.states.iter().filter_map(HolderState::object) {
            let kind = kind_of(subject);
            let Some(found) = read(&state, subject) else { continue };
            let is_in_doubt = found.is_none() || leaving.contains(subject);
            let stays = !state.missing.contains(&kind);
            if is_in_doubt && kind == AnyKind::Ours(Kind::RecordSet) {
                is_staying = Some(stays);
            }
            if !is_in_doubt || stays {
                fresh.objects.insert(subject.clone(), found);
            }
        }
        if answer.states.iter().any(|state| matches!(state, HolderState::AbsentHash { .. }))
            && answer.is_complete
        {
            let possible = answer.possible.iter().map(|kind| AnyKind::Source(*kind));
            let kinds: Vec<AnyKind> = possible.chain([AnyKind::Ours(Kind::RecordSet)]).collect();
            fresh.hashes = hashes(&state, &kinds);
        }
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    let fates = about.into_iter().zip(&answer.states).map(|(about, state)| (about, fresh.fate(state)));
    let confirmed = Confirmed::new(fates.collect::<Vec<_>>());
    Event::Confirmed(Confirmation { zone, pass, confirmed, is_staying })
}

fn kind_of(subject: &Subject) -> AnyKind {
    subject.kind().map_or(AnyKind::Ours(Kind::RecordSet), AnyKind::Source)
}

/// What a GET answers; none where it fails, or the kind is not there.
fn read(state: &State, subject: &Subject) -> Option<Found> {
    let kind = kind_of(subject);
    let is_down = state.faults.api_down > state.clock.millis();
    if is_down || state.forbidden.contains(&kind) || state.missing.contains(&kind) {
        return None;
    }
    let (namespace, name) = subject.key();
    let id = (kind, (namespace.to_owned(), name.to_owned()));
    Some(state.cluster.things.get(&id).and_then(|thing| thing.dynamic()))
}

/// The hashes of all objects that there are; none where a kind can't be listed, or its list is empty.
fn hashes(state: &State, kinds: &[AnyKind]) -> Option<HolderHashes> {
    let mut hashes = HolderHashes::default();
    for kind in kinds {
        if state.missing.contains(kind) || state.forbidden.contains(kind) {
            return None;
        }
        let mut count = 0;
        for (key, _) in state.cluster.of_kind(*kind) {
            count += 1;
            let subject = match kind {
                AnyKind::Ours(_) => Subject::RecordSet(key.clone()),
                AnyKind::Source(kind) => Subject::Source(ObjectRef::new(*kind, &key.0, &key.1)),
            };
            hashes.insert(&subject.holder());
        }
        if count == 0 && *kind != AnyKind::Ours(Kind::RecordSet) {
            return None;
        }
    }
    Some(hashes)
}
