//! The zone itself: read with its records, planned and cleared with them, changed before them.

use std::time::Duration;

use zonekeeper_kernel::{
    holder::Holder,
    plan::{Operation, Plan},
    rdata::RecordType,
    reason::{Reason, Rejection},
    zone::Policy,
    zone_change::{
        self, AUTHORITY, DNSSEC, Fields, Presence, TRANSFER_TSIG, ZoneChange, ZoneLive, ZonePlan, ZoneWish,
    },
    zone_state::{Contents, ParentDs, ZoneState},
};
use zonekeeper_providers::{Asks, ProviderError, Removal, ZoneAccess, ZoneTraits};

use crate::engine::{
    Pass, ZoneWorker,
    pass::{Order, Round},
};

/// What is known of the zone itself.
#[derive(Debug, Default)]
pub struct ZoneWork {
    /// What was read; none before, or after a change.
    read: Option<ZoneRead>,
    /// The values that were applied, or seen as they are wanted.
    settled: Fields,
    /// The values that managed fields had when they were first read.
    initial: Fields,
    /// Whether the parent zone vouches for its keys.
    parent_ds: ParentDs,
    /// Whose records it had when it was last read.
    contents: Contents,
}

/// What was read of the zone itself.
#[derive(Debug)]
enum ZoneRead {
    /// It is not there.
    Missing,
    There(ZoneState),
    /// Its records can be read, and it can't.
    Failed(ProviderError),
}

/// A change of the zone itself that was not made.
#[derive(Debug)]
pub struct ZoneFailure {
    pub change: ZoneChange,
    pub error: ProviderError,
}

/// What a pass did to the zone itself, and found of it.
#[derive(Debug, Default)]
pub struct ZonePass {
    pub applied: Vec<ZoneChange>,
    pub failed: Vec<ZoneFailure>,
    /// Whether it is gone.
    pub is_gone: bool,
    /// Whether all of it was read again before its end.
    was_read_again: bool,
}

// === impl ZoneWork ===

impl ZoneWork {
    /// Has the next look read the zone again.
    pub fn forget(&mut self) {
        self.read = None;
    }

    /// Notes what the parent's servers say.
    pub fn note_parent(&mut self, ds: ParentDs) {
        self.parent_ds = ds;
    }

    /// Takes values for applied that a status knows.
    pub fn recall(&mut self, initial: Fields) {
        self.initial = initial;
    }

    /// Reads the zone, unless that was done. That it can't be read keeps its records from nothing.
    pub async fn read(&mut self, access: &dyn ZoneAccess, wish: &ZoneWish, asks: Asks) {
        let wish = possible(wish, access.traits());
        let read = match access.zone_state(&wish, asks).await {
            Ok(None) => ZoneRead::Missing,
            Ok(Some(state)) => {
                self.note(&wish, &state);
                self.contents = state.contents;
                ZoneRead::There(state)
            }
            Err(error) => ZoneRead::Failed(error),
        };
        self.read = Some(read);
    }

    pub fn is_read(&self) -> bool {
        self.read.is_some()
    }

    fn note(&mut self, wish: &ZoneWish, state: &ZoneState) {
        for (field, wanted) in wish.fields.iter() {
            let Some(live) = state.fields.get(field) else { continue };
            if self.initial.get(field).is_none() {
                self.initial.insert(field, live);
            }
            if live == wanted {
                self.settled.insert(field, live);
            } else if self.settled.get(field).is_some_and(|settled| settled != wanted) {
                self.settled.remove(field);
            }
        }
    }

    /// Where the zone stands, if that is known.
    pub fn state(&self) -> Option<&ZoneState> {
        match &self.read {
            Some(ZoneRead::There(state)) => Some(state),
            Some(ZoneRead::Missing | ZoneRead::Failed(_)) | None => None,
        }
    }

    /// Why it can't be read, if that is so.
    pub fn trouble(&self) -> Option<&ProviderError> {
        match &self.read {
            Some(ZoneRead::Failed(error)) => Some(error),
            Some(ZoneRead::Missing | ZoneRead::There(_)) | None => None,
        }
    }

    /// The values that managed fields had when they were first read.
    pub fn initial(&self) -> &Fields {
        &self.initial
    }

    fn plan(&self, worker: &ZoneWorker) -> ZonePlan {
        let live = match &self.read {
            Some(ZoneRead::Missing) => ZoneLive::Missing,
            Some(ZoneRead::There(state)) => ZoneLive::There(&state.fields),
            Some(ZoneRead::Failed(_)) | None => return ZonePlan::default(),
        };
        let wish = possible(&worker.settings.wish, worker.access.traits());
        zone_change::plan(&wish, live, &self.settled, &worker.settings.rules)
    }
}

// === impl ZoneWorker ===

impl ZoneWorker {
    /// Whose records the zone has, or is to have: those of another server are neither read nor written.
    pub(super) fn contents(&self) -> Contents {
        match possible(&self.settings.wish, self.access.traits()).contents() {
            Contents::Copies => Contents::Copies,
            Contents::Own => self.zone.contents,
        }
    }

    /// What must change of the zone itself.
    pub(super) fn plan_zone(&self) -> ZonePlan {
        self.zone.plan(self)
    }

    /// Whether the zone is signed, and is not to be.
    pub fn is_to_be_unsigned(&self) -> bool {
        let is = |fields: &Fields, value| fields.get(DNSSEC) == Some(value);
        is(&self.settings.wish.fields, "Off")
            && self.zone.state().is_some_and(|state| is(&state.fields, "On"))
    }

    /// What is wanted of the zone itself, and can't be had at its provider.
    pub fn zone_rejections(&self, holder: &Holder) -> Vec<Rejection> {
        let (wish, traits) = (&self.settings.wish, self.access.traits());
        let cant = |what: &str, next: &str| Rejection {
            holder: holder.clone(),
            name: Some(self.settings.registry.domain.clone()),
            rtype: RecordType::SOA,
            reason: Reason::InvalidValue,
            message: format!("{what}: the provider of this zone can't do that; {next}"),
        };
        let fields = wish.fields.iter().filter(|(field, _)| !traits.has_zone_field(field));
        let fields = fields.map(|(field, _)| match field {
            DNSSEC => cant("spec.dnssec.mode", "set it to Unmanaged"),
            field if field.starts_with(AUTHORITY) => cant(&format!("spec.{field}"), "remove the field"),
            TRANSFER_TSIG => cant("spec.cloudflare.transferTsigSecretRef", "remove the field"),
            field => cant(&format!("spec.cloudflare.{field}"), "remove the field"),
        });
        let removal = (wish.ends_with_object && traits.removal == Removal::Impossible)
            .then(|| cant("spec.lifecycle.deletionPolicy", "set it to Retain, or delete the zone there"));
        fields.chain(removal).collect()
    }

    /// What must happen before a change of the zone itself, whatever is approved.
    pub(super) fn zone_block(&self, change: &ZoneChange, plan: &Plan) -> Option<String> {
        let unsigns = &*change.field == DNSSEC && change.after.as_deref() == Some("Off");
        if unsigns || change.operation == Operation::Delete {
            // A signed parent makes everything below it bogus that is not signed any more.
            let block = self.zone.parent_ds.block();
            if block.is_some() {
                return block;
            }
        }
        if change.operation != Operation::Delete {
            return None;
        }
        let fields = self.zone.state().map(|state| &state.fields);
        if fields.and_then(|fields| fields.get("hold.enabled")) == Some("true") {
            return Some("its hold is on: set spec.cloudflare.hold.enabled to false first".into());
        }
        match (plan.counts.desired, plan.counts.foreign) {
            (0, 0) => None,
            (desired @ 1.., _) => {
                Some(format!("objects ask for {desired} record sets in it: delete them first"))
            }
            (0, foreign) => Some(format!(
                "{foreign} record sets in it are not managed by Zonekeeper: remove them first, or set spec.lifecycle.deletionPolicy to Retain"
            )),
        }
    }

    /// Makes cleared changes of the zone itself, once in a pass. None if there is nothing to do.
    pub(super) async fn change_zone(
        &mut self,
        pass: &mut Pass,
        order: &Order<'_>,
    ) -> Result<Option<Round>, ProviderError> {
        if pass.verdict.zone.cleared.changes().is_empty() || !pass.zone.failed.is_empty() {
            return Ok(None);
        }
        let changes = pass.verdict.zone.cleared.changes();
        let is_end = changes.iter().any(|change| change.operation == Operation::Delete);
        if is_end && !std::mem::replace(&mut pass.zone.was_read_again, true) {
            // What came since would go with it.
            self.forget();
            return Ok(Some(Round::Again(Duration::ZERO)));
        }
        if let Some(record) = self.unsaved(pass, order) {
            return Ok(Some(Round::MustSave(record)));
        }
        let wish = possible(&self.settings.wish, self.access.traits());
        let was_missing = matches!(self.zone.read, Some(ZoneRead::Missing));
        let answers = self.access.change_zone(&pass.verdict.zone.cleared, &wish).await;
        let changes = std::mem::take(&mut pass.verdict.zone.cleared).into_changes();
        self.zone.forget();
        if was_missing {
            self.forget();
        }
        for (change, answer) in changes.into_iter().zip(answers) {
            match answer {
                // What a zone is to be beyond being there is compared after it is made.
                Ok(()) if was_missing && change.operation == Operation::Update => {}
                Ok(()) => {
                    super::log::zone_changed(&self.settings.registry.domain, &change);
                    pass.zone.is_gone |= change.operation == Operation::Delete;
                    if let Some(after) = &change.after {
                        self.zone.settled.insert(change.field.clone(), after.clone());
                    }
                    pass.zone.applied.push(change);
                }
                // Without it nothing can be written.
                Err(error) if change.operation == Operation::Create => return Err(error),
                Err(error) => pass.zone.failed.push(ZoneFailure { change, error }),
            }
        }
        Ok(Some(match pass.zone.is_gone {
            true => Round::Done,
            false => Round::Again(Duration::ZERO),
        }))
    }
}

/// Whether a provider may be asked to look at a zone: only by work that may change it.
pub fn asks(policy: Policy) -> Asks {
    match policy {
        Policy::Observe => Asks::Nothing,
        Policy::Sync | Policy::UpsertOnly | Policy::CreateOnly => Asks::Provider,
    }
}

/// What of a wish the provider can do.
fn possible(wish: &ZoneWish, traits: &ZoneTraits) -> ZoneWish {
    let presence = match (wish.presence, traits.removal) {
        (Presence::Deleted, Removal::Impossible) => Presence::Unmanaged,
        (presence, _) => presence,
    };
    let fields = wish.fields.iter().filter(|(field, _)| traits.has_zone_field(field)).collect();
    ZoneWish { presence, fields, ..wish.clone() }
}
