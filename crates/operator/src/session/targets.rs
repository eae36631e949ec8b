//! What the targets of RecordSets with `resolveTargets` resolve to, each asked for at its TTL.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    time::Duration,
};

use futures::{StreamExt, stream};
use tokio::time::Instant;
use zonekeeper_api::RecordSet;
use zonekeeper_kernel::name::Name;
use zonekeeper_model::targets::{RETRY, pace};
use zonekeeper_providers::lookup::Resolver;

use crate::folder::{Declared, Folder};

/// How many are asked for at once, so that a silent server keeps no other waiting.
const AT_ONCE: usize = 16;

/// The targets of a folder.
#[derive(Default)]
pub struct Targets(BTreeMap<Name, Target>);

struct Target {
    /// The last good answer.
    good: Option<BTreeSet<IpAddr>>,
    /// Why the last question was not answered.
    failure: String,
    due: Instant,
}

// === impl Targets ===

impl Targets {
    /// Asks for those that are due.
    pub async fn ask(&mut self, folder: &Folder, resolver: &Resolver) {
        let wanted: BTreeSet<Name> = folder.record_sets.iter().filter_map(target_of).collect();
        self.0.retain(|name, _| wanted.contains(name));
        let now = Instant::now();
        let is_due = |name: &&Name| self.0.get(*name).is_none_or(|target| target.due <= now);
        let due: Vec<&Name> = wanted.iter().filter(is_due).collect();
        let asked = due.into_iter().map(async |name| (name.clone(), resolver.resolve(name).await));
        for (name, found) in stream::iter(asked).buffered(AT_ONCE).collect::<Vec<_>>().await {
            let target =
                self.0.entry(name).or_insert(Target { good: None, failure: String::new(), due: now });
            let wait = match found {
                Ok((addresses, ttl)) if !addresses.is_empty() => {
                    target.good = Some(addresses);
                    pace(ttl)
                }
                Ok(_) => target.fail("it has no address".into()),
                Err(error) => target.fail(error.to_string()),
            };
            target.due = Instant::now() + wait;
        }
    }

    /// When one is to be asked for again.
    pub fn due(&self) -> Option<Instant> {
        self.0.values().map(|target| target.due).min()
    }

    /// The addresses of a target, or why they are not known.
    pub fn addresses(&self, name: &Name) -> Result<&BTreeSet<IpAddr>, &str> {
        match self.0.get(name) {
            Some(target) => target.good.as_ref().ok_or(&target.failure),
            None => Err("it was not asked for"),
        }
    }
}

// === impl Target ===

impl Target {
    fn fail(&mut self, why: String) -> Duration {
        self.failure = why;
        RETRY
    }
}

/// The target of a RecordSet that is to be resolved.
pub fn target_of(declared: &Declared<RecordSet>) -> Option<Name> {
    let spec = &declared.object.spec;
    spec.values.first().filter(|_| spec.resolve_targets).and_then(|value| Name::parse(value).ok())
}
