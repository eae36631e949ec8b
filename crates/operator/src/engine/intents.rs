//! What a zone should hold, by the wishes that were placed in it.

use std::collections::BTreeSet;

use zonekeeper_kernel::{
    desired::Desired,
    name::Name,
    reason::{Reason, Rejection},
    resolve::{Intent, resolve},
    zone::Zone,
    zone_state::Contents,
};

use zonekeeper_providers::ProviderError;

use crate::engine::ZoneWorker;

/// Resolves the intents of one zone, and lets its provider adapt the sets; where several objects want a name, the one
/// that holds it now comes first.
///
/// Assumes: the zone was observed.
pub async fn resolve_intents<'a>(
    zone: &Zone,
    worker: &ZoneWorker,
    wishes: impl Iterator<Item = (&'a Name, &'a Intent)> + Clone,
) -> Result<(Desired, Vec<Rejection>), ProviderError> {
    if worker.taken_for() == Contents::Copies {
        let refused: BTreeSet<_> = wishes.map(|(name, intent)| copied(zone, name, intent)).collect();
        return Ok((Desired::default(), refused.into_iter().collect()));
    }
    let incumbents = worker.incumbents(contested(wishes.clone().map(|(name, _)| name)));
    let wishes = wishes.map(|(name, intent)| (name.clone(), intent));
    let (desired, mut rejections) =
        resolve(zone, worker.capabilities(), &worker.settings().registry, wishes, &incumbents);
    let (desired, refused) = worker.adapt(desired).await?;
    if !refused.is_empty() {
        rejections.extend(refused);
        rejections.sort();
        rejections.dedup();
    }
    Ok((desired, rejections))
}

impl ZoneWorker {
    /// What the provider makes of sets before they are planned, and who is refused what it does not take.
    pub async fn adapt(&self, mut desired: Desired) -> Result<(Desired, Vec<Rejection>), ProviderError> {
        let Some(answer) = self.access().adapt(&desired).await? else { return Ok((desired, Vec::new())) };
        let left_out = desired.adapt(&answer, self.capabilities());
        let refused = left_out.into_iter().flat_map(|(name, set)| {
            let message = format!("the provider does not take {name} {}; ask for another value", set.rtype);
            set.holders.into_iter().map(move |holder| Rejection {
                holder,
                name: Some(name.clone()),
                rtype: set.rtype,
                reason: Reason::InvalidValue,
                message: message.clone(),
            })
        });
        Ok((desired, refused.collect()))
    }
}

/// Why a zone that is transferred from another server takes nothing.
fn copied(zone: &Zone, name: &Name, intent: &Intent) -> Rejection {
    let message = format!(
        "DNSZone {} is a secondary: its records are copies; declare the record at its primary",
        zone.key
    );
    Rejection {
        holder: intent.holder.clone(),
        name: Some(name.clone()),
        rtype: intent.rtype,
        reason: Reason::NotAllowed,
        message,
    }
}

/// Names that several objects want: only there does it matter who was first.
fn contested<'a>(names: impl Iterator<Item = &'a Name>) -> BTreeSet<Name> {
    let (mut seen, mut contested) = (BTreeSet::new(), BTreeSet::new());
    for name in names {
        if !seen.insert(name) {
            contested.insert(name.clone());
        }
    }
    contested
}
