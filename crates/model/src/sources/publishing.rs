//! What source objects ask for becomes wishes of zones.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use zonekeeper_kernel::{
    reason::{Reason as Word, Rejection},
    resolve::{Intent, choose},
    zone::{Labels, ZoneKey},
};
use zonekeeper_sources::{
    Complaint, Found, Look, Published, Reading, Surroundings,
    object::{Kind, ObjectRef},
    publish,
};

use crate::{
    conditions::Verdict,
    core::Model,
    reasons,
    sources::{Place, SourceEntry},
    zone_entry::Requester,
};

/// What an object asks for, put where it goes.
#[derive(Default)]
struct Placed {
    wishes: BTreeMap<Place, Arc<Intent>>,
    names: BTreeSet<zonekeeper_kernel::name::Name>,
    looks: BTreeSet<Look>,
    refused: Option<Verdict>,
    complaints: Vec<Complaint>,
    notes: Vec<Complaint>,
}

// === impl Model ===

impl Model {
    /// Publishes anew what something has changed for.
    pub fn publish_stale(&mut self) {
        if !self.is_synced() {
            return;
        }
        if !self.sources.is_stale() {
            return;
        }
        // An object that looks at a kind for the first time is published again when that was listed.
        for reference in std::mem::take(&mut self.sources.stale) {
            self.publish_object(&reference);
        }
        // Zones that are going waited until it was known who depends on them.
        let going = self.zones.iter().filter(|(_, zone)| zone.is_leaving() && zone.reading.is_some());
        let going: Vec<ZoneKey> = going.map(|(key, _)| key.clone()).collect();
        going.iter().for_each(|zone| self.release_zone(zone));
    }

    fn publish_object(&mut self, reference: &ObjectRef) {
        if !matches!(reference.kind, Kind::Source(_)) {
            return;
        }
        let placed = self.place_source(reference);
        let before = self.sources.entries.remove(reference).unwrap_or_default();
        // After a restart nothing is news that was so before.
        let has_news = !before.states.is_empty() && placed.notes != before.notes.0;
        for look in before.looks.keys().filter(|look| !placed.looks.contains(*look)) {
            if let Some(looking) = self.sources.dependents.get_mut(look) {
                looking.remove(reference);
                if looking.is_empty() {
                    self.sources.dependents.remove(look);
                }
            }
        }
        for look in placed.looks.iter().filter(|look| !before.looks.contains_key(look)) {
            if let Some(kind) = look.kind() {
                self.follow_kind(kind);
            }
            self.sources.dependents.entry(look.clone()).or_default().insert(reference.clone());
        }
        let mut left = before.left;
        for place in before.wishes.keys().filter(|place| !placed.wishes.contains_key(*place)) {
            self.remove_intent(&place.0, &place.1, &Requester::Source(reference.clone(), place.2));
            left.insert(place.clone());
        }
        left.retain(|place| !placed.wishes.contains_key(place));
        let left_zones: BTreeSet<ZoneKey> = left.iter().map(|(zone, _, _)| zone.clone()).collect();
        let mut states = before.states;
        states.retain(|place| placed.wishes.get(place) == before.wishes.get(place));
        let changed: Vec<(Place, Arc<Intent>)> = placed
            .wishes
            .iter()
            .filter(|(place, intent)| before.wishes.get(*place) != Some(*intent))
            .map(|(place, intent)| (place.clone(), intent.clone()))
            .collect();
        if !placed.wishes.is_empty()
            || !placed.complaints.is_empty()
            || !placed.looks.is_empty()
            || !placed.names.is_empty()
        {
            let entry = SourceEntry {
                wishes: placed.wishes.into_iter().collect(),
                left,
                names: placed.names.into_iter().map(|name| (name, ())).collect(),
                looks: placed.looks.into_iter().map(|look| (look, ())).collect(),
                states,
                refused: placed.refused,
                complaints: before.complaints,
                notes: match placed.notes == before.notes.0 {
                    true => before.notes,
                    false => (placed.notes, false),
                },
                told: before.told,
                has_written: before.has_written,
                has_told_change: before.has_told_change,
            };
            self.sources.entries.insert(reference.clone(), entry);
        }
        for ((zone, name, rtype), intent) in changed {
            self.add_intent(&zone, name, &Requester::Source(reference.clone(), rtype), intent);
        }
        self.complain(reference, placed.complaints);
        if has_news {
            self.tell_notes(reference);
        }
        self.tell_source(reference);
        // No pass comes to a zone in trouble: only this lets it go.
        for zone in left_zones {
            if self.zones.get(&zone).is_some_and(|zone| zone.trouble.is_some()) {
                self.release_zone(&zone);
            }
        }
    }

    fn place_source(&self, reference: &ObjectRef) -> Placed {
        let mut placed = Placed::default();
        let readings: Vec<Arc<Reading>> =
            self.sources.readings.values().map(|(reading, _)| reading.clone()).collect();
        for published in readings.iter().filter_map(|reading| self.published(reference, reading)) {
            placed.looks.extend(published.looked_at);
            placed.complaints.extend(published.complaints);
            let mut notes = published.notes;
            if let Some((word, message)) = published.unclear {
                placed.refused.get_or_insert_with(|| in_words(word, message));
            }
            for asked in published.asked {
                if let zonekeeper_kernel::resolve::WantedName::Absolute(name) = &asked.intent.name {
                    placed.names.insert(name.clone());
                }
                let (candidates, rejections) = choose(&asked.intent, &self.index);
                let is_ours = |zone: &ZoneKey| self.zones.get(zone).is_some_and(|entry| entry.is_ours);
                let intent = Arc::new(asked.intent.clone());
                let mut is_placed = false;
                for candidate in candidates.into_iter().filter(|found| is_ours(&found.zone.key)) {
                    is_placed = true;
                    placed.notes.append(&mut notes);
                    let place = (candidate.zone.key.clone(), candidate.name, intent.rtype);
                    placed.wishes.insert(place, intent.clone());
                }
                if let (true, Some((word, message))) = (is_placed, asked.unknown) {
                    placed.refused.get_or_insert_with(|| in_words(word, message));
                }
                // A name that none of our zones has is not ours to speak of.
                let is_news =
                    |found: &&Rejection| matches!(found.reason, Word::AmbiguousZone | Word::RefNotFound);
                if let Some(rejection) = rejections.iter().find(is_news) {
                    let verdict = Verdict::new(reasons::of_word(rejection.reason), rejection.message.clone());
                    placed.refused.get_or_insert(verdict);
                }
            }
        }
        placed
    }

    /// What an object asks for as a reading has it; none where it is not there.
    pub fn published(&self, reference: &ObjectRef, reading: &Reading) -> Option<Published> {
        let Kind::Source(kind) = reference.kind else { return None };
        if !reading.kinds().contains(&kind) {
            return None;
        }
        let Found::Here(object) = self.sources.world.get(reference) else { return None };
        let none = Arc::new(Labels::new());
        let labels = self.namespaces.get(&reference.namespace).map_or(&none, |namespace| &namespace.labels);
        let addresses = self.addresses_in(&reference.namespace);
        let surroundings = Surroundings { namespace_labels: labels, addresses: &addresses };
        Some(publish(object, reading, &self.sources.world, &surroundings))
    }
}

fn in_words(word: Word, message: String) -> Verdict {
    Verdict::new(reasons::of_word(word), message)
}
