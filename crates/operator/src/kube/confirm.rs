//! Confirms by fresh reads what is known of holders (law 5).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kube::{Client, CustomResourceExt};
use zonekeeper_api::RecordSet;
use zonekeeper_sources::object::Kind;

use zonekeeper_model::{
    Event,
    confirmation::{ConfirmRequest, Confirmation, Confirmed, Fresh},
    holders::{Answer, HolderState, Subject},
};

use crate::{
    kube::{
        fresh::{Memory, Much, Reads, resource_of},
        resources::{is_defined, is_staying},
    },
    runner::tasks::{self, Task},
};

/// Confirms what is known of holders.
struct HolderConfirmer {
    client: Client,
    memory: Arc<Memory>,
    /// Whether the definition of RecordSets stays, where that was asked.
    is_staying: Option<bool>,
}

/// Reads, and answers; what can't be confirmed is no evidence.
pub async fn confirm(request: ConfirmRequest, client: Client, memory: Arc<Memory>) -> Event {
    let ConfirmRequest { zone, pass, about, answer } = request;
    let unconfirmed = Confirmed::new(about.iter().map(|about| (about.clone(), None)));
    let confirm = async {
        let mut confirmer = HolderConfirmer { client, memory, is_staying: None };
        let fresh = confirmer.read(&answer).await;
        let fates = about.into_iter().zip(&answer.states);
        let fates = fates.map(|(about, state)| (about, fresh.fate(state)));
        (Confirmed::new(fates), confirmer.is_staying)
    };
    let done = tasks::caught(Task::Confirmation, confirm).await;
    let (confirmed, is_staying) = done.unwrap_or((unconfirmed, None));
    Event::Confirmed(Confirmation { zone, pass, confirmed, is_staying })
}

// === impl HolderConfirmer ===

impl HolderConfirmer {
    /// Reads afresh what the states are about, as far as that was not done a moment ago.
    async fn read(&mut self, answer: &Answer) -> Fresh {
        let (client, memory) = (self.client.clone(), self.memory.clone());
        let reads = Reads { client: &client, memory: &memory };
        let mut fresh = Fresh::default();
        let mut by_kind: BTreeMap<Option<Kind>, BTreeMap<Subject, Much>> = BTreeMap::new();
        for state in &answer.states {
            let Some(subject) = state.object() else { continue };
            if let Some(found) = self.memory.recall(subject) {
                fresh.objects.entry(subject.clone()).or_insert(found);
                if fresh.confirms(state) {
                    continue;
                }
            }
            let much = match state {
                HolderState::SourceWantsOther { .. } => Much::Whole,
                _others => Much::Metadata,
            };
            let asked = by_kind.entry(subject.kind()).or_default().entry(subject.clone()).or_insert(much);
            *asked = (*asked).max(much);
        }
        let leaving: BTreeSet<&Subject> = answer.states.iter().filter_map(HolderState::leaving).collect();
        for (kind, subjects) in by_kind {
            subjects.keys().for_each(|subject| drop(fresh.objects.remove(subject)));
            let Some(resource) = resource_of(kind, answer) else { continue };
            let mut read = reads.objects(kind, &resource, subjects).await;
            let is_leaving = |subject: &Subject| leaving.contains(subject);
            let is_in_doubt = read.iter().any(|(subject, found)| found.is_none() || is_leaving(subject));
            if is_in_doubt && !self.is_staying(kind).await {
                read.retain(|(subject, found)| found.is_some() && !is_leaving(subject));
            }
            self.memory.note(&read);
            fresh.objects.extend(read);
        }
        let has_hashes = answer.states.iter().any(|state| matches!(state, HolderState::AbsentHash { .. }));
        if has_hashes && answer.is_complete {
            fresh.hashes = reads.hashes(answer).await;
        }
        fresh
    }

    /// Whether what is not there, or going, was deleted, and does not go with its kind.
    async fn is_staying(&mut self, kind: Option<Kind>) -> bool {
        let found = match kind {
            Some(kind) => is_staying(&self.client, kind).await,
            None => is_defined(&self.client, RecordSet::crd_name()).await,
        };
        if let (None, Ok(is_staying)) = (kind, &found) {
            self.is_staying = Some(*is_staying);
        }
        found.unwrap_or_else(|error| {
            let kind = kind.map_or("RecordSet", |kind| kind.as_str());
            tracing::warn!(kind, %error, "a definition can't be read; records stay for now");
            false
        })
    }
}
