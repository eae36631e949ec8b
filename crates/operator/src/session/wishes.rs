//! What a folder wants of each zone, and whose wishes could not be understood.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kube::ResourceExt;
use zonekeeper_api::{AddressSource, RecordSet, RecordSetSpec};
use zonekeeper_kernel::{
    desired::{Desired, Unmet},
    holder::{Holder, HolderRef},
    name::Name,
    plan::Evidence,
    rdata::RecordType,
    reason::{Reason, Rejection},
    resolve::{Candidate, Intent, Origin, WantedName, Zones, choose},
    zone::{Zone, ZoneKey},
};
use zonekeeper_model::targets;
use zonekeeper_providers::ProviderError;
use zonekeeper_sources::{Addresses, Asked, Surroundings, Unknown, record_set};

use crate::{
    declare,
    engine::{Pass, ZoneWorker, resolve_intents},
    folder::{Declared, Folder, Place},
    session::{
        OpenZone, ZoneReport, ZoneState,
        delegation::{Delegation, delegation},
        reverse::{PtrRecords, ptr_records},
        sources::Sources,
        targets::{Targets, target_of},
    },
};

/// The wishes of a folder, by zone.
pub struct Wishes {
    by_zone: BTreeMap<ZoneKey, Vec<(Name, Intent)>>,
    rejections: Vec<Rejection>,
    /// Objects that are there, and whose wish is not clear: what they hold stays (law 5).
    unclear: BTreeSet<Holder>,
    /// Sets that refused objects ask for, as far as their name can be read.
    refused: Vec<Refused>,
    /// Whether an object asks for a name that can't be read at all: any record may be its own.
    has_nameless: bool,
    /// Wishes that a zone would have, were it not for a longer one.
    outranked: BTreeMap<ZoneKey, Vec<(Name, RecordType, Holder)>>,
    /// What source objects say.
    sources: Sources,
    /// Source objects that name a host in one of the zones, and that no zone takes it from: what they hold is not given up.
    untaken: BTreeSet<Holder>,
}

/// A set that an object of a namespace asks for and can't have.
struct Refused {
    name: WantedName,
    /// None where it can't be read.
    rtype: Option<RecordType>,
    namespace: String,
    unmet: Unmet,
}

/// What one zone should hold, and what may go.
pub struct Resolved {
    pub desired: Desired,
    pub evidence: Evidence,
}

// === impl Wishes ===

impl Wishes {
    /// Reads every RecordSet and finds its zones.
    pub fn gather(folder: &Folder, zones: &[OpenZone], addresses: &Addresses, targets: &Targets) -> Self {
        let mut wishes = Self {
            by_zone: BTreeMap::new(),
            rejections: Vec::new(),
            unclear: BTreeSet::new(),
            refused: Vec::new(),
            has_nameless: false,
            outranked: BTreeMap::new(),
            sources: Sources::default(),
            untaken: BTreeSet::new(),
        };
        let candidates = candidates(zones);
        for declared in &folder.record_sets {
            let Declared { object, place } = declared;
            match target_of(declared) {
                Some(target) => wishes.place_target(folder, declared, &target, targets, &candidates),
                None => wishes.place_record_set(folder, object, place, addresses, &candidates),
            }
        }
        let mut sources = Sources::publish(folder, zones, addresses);
        wishes.rejections.append(&mut sources.rejections);
        for Asked { intent, unknown } in std::mem::take(&mut sources.asked) {
            wishes.place(intent, unknown, &candidates);
        }
        wishes.sources = sources;
        wishes
    }

    fn place_record_set(
        &mut self,
        folder: &Folder,
        object: &RecordSet,
        place: &Place,
        addresses: &Addresses,
        zones: &Zones,
    ) {
        let namespace = object.namespace().unwrap_or_default();
        let age = format!("{namespace}/{}", object.name_any());
        let holder = Holder::new("recordset", &namespace, &object.name_any());
        let addresses = permitted(folder, &namespace, addresses);
        let labels = Arc::new(folder.namespace_labels(&namespace));
        let surroundings = Surroundings { namespace_labels: &labels, addresses: &addresses };
        match record_set(object, age, &surroundings) {
            Ok(Asked { intent, unknown }) => self.place(intent, unknown, zones),
            Err(bad) => {
                let rtype = object.spec.rtype.parse().ok();
                let unmet = Unmet::Mistaken;
                match wanted_name(&object.spec) {
                    Some(name) => self.refused.push(Refused { name, rtype, namespace, unmet }),
                    None => self.has_nameless = true,
                }
                self.refuse(Rejection {
                    holder,
                    name: None,
                    rtype: rtype.unwrap_or(RecordType::from_code(0)),
                    reason: Reason::InvalidValue,
                    message: format!("{place}: {bad}"),
                });
            }
        }
    }

    /// Publishes the addresses of a target. If they are not known, what is there stays.
    fn place_target(
        &mut self,
        folder: &Folder,
        declared: &Declared<RecordSet>,
        target: &Name,
        targets: &Targets,
        zones: &Zones,
    ) {
        let Declared { object, place } = declared;
        let why = match targets.addresses(target) {
            Ok(addresses) => {
                let sets = targets::record_sets(object, addresses);
                for set in sets.into_iter().filter_map(|set| serde_json::from_value(set).ok()) {
                    self.place_record_set(folder, &set, place, &Addresses::default(), zones);
                }
                return;
            }
            Err(why) => why,
        };
        let namespace = object.namespace().unwrap_or_default();
        self.refuse(Rejection {
            holder: Holder::new("recordset", &namespace, &object.name_any()),
            name: None,
            rtype: RecordType::CNAME,
            reason: Reason::TargetsUnknown,
            message: format!("{place}: the addresses of {target} are not known: {why}; what is there stays"),
        });
        let of_family =
            |rtype: &str| Holder::new("recordset", &namespace, &format!("{}-{rtype}", object.name_any()));
        self.unclear.extend([of_family("a"), of_family("aaaa")]);
        match wanted_name(&object.spec) {
            Some(name) => self.refused.push(Refused { name, rtype: None, namespace, unmet: Unmet::Mistaken }),
            None => self.has_nameless = true,
        }
    }

    /// Adds PTR records for addresses, as far as their reverse zones are in this folder.
    pub fn reverse(&mut self, folder: &Folder, zones: &[OpenZone]) {
        let candidates = candidates(zones);
        let placed = zones.iter().flat_map(|zone| {
            let wishes = self.by_zone.get(&zone.zone.key).into_iter().flatten();
            wishes.map(move |(name, intent)| (zone, name, intent))
        });
        let PtrRecords { record_sets, is_partial } = ptr_records(folder, &candidates, placed);
        self.has_nameless |= is_partial;
        for (place, object) in record_sets {
            self.place_record_set(folder, &object, &place, &Addresses::default(), &candidates);
        }
    }

    /// Adds what zones want of their parent zones, as far as those are in this folder.
    pub fn delegate(&mut self, folder: &Folder, zones: &[OpenZone]) {
        let candidates = candidates(zones);
        for zone in zones {
            let by_zone = self.by_zone.get(&zone.zone.key).map_or(&[][..], Vec::as_slice);
            let addresses = |name: &Name, rtype| {
                let wishes = by_zone.iter().filter(|(place, intent)| place == name && intent.rtype == rtype);
                wishes
                    .flat_map(|(_, intent)| intent.values.iter().flatten())
                    .map(ToString::to_string)
                    .collect()
            };
            match delegation(zone, &candidates, &addresses) {
                Delegation::Elsewhere => {}
                Delegation::Unknown => self.has_nameless = true,
                Delegation::Wanted(record_sets) => {
                    for object in record_sets {
                        self.place_record_set(
                            folder,
                            &object,
                            &zone.declared.place,
                            &Addresses::default(),
                            &candidates,
                        );
                    }
                }
            }
        }
    }

    fn place(&mut self, intent: Intent, unknown: Option<Unknown>, zones: &Zones) {
        let (candidates, mut rejections) = choose(&intent, zones);
        // A host that lies in none of these zones is published elsewhere, or not at all.
        let is_elsewhere = intent.origin != Origin::RecordSet && candidates.is_empty();
        if let (true, WantedName::Absolute(name)) = (is_elsewhere, &intent.name)
            && zones.iter().any(|zone| name.is_within(&zone.domain))
        {
            self.untaken.insert(intent.holder.clone());
        }
        if let Some((reason, message)) = unknown.filter(|_| !is_elsewhere) {
            let name = candidates.first().map(|candidate| candidate.name.clone());
            self.refuse(Rejection {
                holder: intent.holder.clone(),
                name,
                rtype: intent.rtype,
                reason,
                message,
            });
        }
        if intent.values.is_none() {
            self.unclear.insert(intent.holder.clone());
        }
        if let Some(first) = rejections.first() {
            self.refused.push(Refused {
                name: intent.name.clone(),
                rtype: Some(intent.rtype),
                namespace: intent.namespace.clone(),
                unmet: first.reason.unmet(),
            });
        }
        if intent.origin != Origin::RecordSet {
            rejections.retain(|it| matches!(it.reason, Reason::AmbiguousZone | Reason::RefNotFound));
        }
        rejections.into_iter().for_each(|rejection| self.refuse(rejection));
        for candidate in candidates {
            if intent.zone_refs.is_none() && intent.name == WantedName::Absolute(candidate.name.clone()) {
                self.note_outranked(&intent, &candidate, zones);
            }
            self.by_zone
                .entry(candidate.zone.key.clone())
                .or_default()
                .push((candidate.name, intent.clone()));
        }
    }

    fn note_outranked(&mut self, intent: &Intent, chosen: &Candidate<'_>, zones: &Zones) {
        for zone in zones.above(&chosen.zone.domain).flatten() {
            if zone.domain != chosen.zone.domain {
                let wish = (chosen.name.clone(), intent.rtype, intent.holder.clone());
                self.outranked.entry(zone.key.clone()).or_default().push(wish);
            }
        }
    }

    fn refuse(&mut self, rejection: Rejection) {
        self.rejections.push(rejection);
    }

    /// Observes a zone, begins its report, and says what it should hold where it is worked on.
    pub async fn begin(&self, zone: &mut OpenZone) -> (ZoneReport, Option<Resolved>) {
        let is_suspended = zone.declared.object.spec.suspend;
        let mut report = ZoneReport {
            key: zone.zone.key.clone(),
            domain: zone.zone.domain.clone(),
            identity: zone.binding.clone(),
            pass: Pass::default(),
            rejections: Vec::new(),
            error: None,
            state: if is_suspended { ZoneState::Suspended } else { ZoneState::Planned },
        };
        let resolved = match &mut zone.worker {
            Ok(_) if is_suspended => None,
            Ok(worker) => match self.resolve(&zone.zone, worker).await {
                Ok((mut desired, rejections)) => {
                    self.reserve(&zone.zone, &rejections, &mut desired);
                    let evidence = self.evidence(&zone.zone, worker, &rejections);
                    report.rejections = rejections;
                    Some(Resolved { desired, evidence })
                }
                Err(error) => {
                    report.error = Some(error);
                    None
                }
            },
            Err(error) => {
                report.error = Some(error.clone());
                None
            }
        };
        (report, resolved)
    }

    /// Observes a zone, and says what it should hold.
    async fn resolve(
        &self,
        zone: &Zone,
        worker: &mut ZoneWorker,
    ) -> Result<(Desired, Vec<Rejection>), ProviderError> {
        let wishes = self.by_zone.get(&zone.key).map_or(&[][..], Vec::as_slice);
        worker.expect(wishes.iter().map(|(name, intent)| (name, intent.rtype)), std::iter::empty());
        worker.observe().await?;
        resolve_intents(zone, worker, wishes.iter().map(|(name, intent)| (name, intent))).await
    }

    /// Keeps what the namespaces of refused wishes hold at their names: an object may have been renamed.
    fn reserve(&self, zone: &Zone, rejections: &[Rejection], desired: &mut Desired) {
        for rejection in rejections {
            if let Some(name) = &rejection.name {
                let namespace = rejection.holder.namespace();
                desired.reserve(name.clone(), Some(rejection.rtype), namespace, rejection.reason.unmet());
            }
        }
        let refused: BTreeSet<_> =
            rejections.iter().map(|it| (it.name.as_ref(), &it.holder, it.rtype)).collect();
        for (name, intent) in self.by_zone.get(&zone.key).into_iter().flatten() {
            if !refused.is_empty() && refused.contains(&(Some(name), &intent.holder, intent.rtype)) {
                let values = intent.values.iter().flatten();
                values.for_each(|rdata| desired.refuse_value(name.clone(), rdata.clone()));
            }
        }
        for Refused { name, rtype, namespace, unmet } in &self.refused {
            let name = match name {
                WantedName::Absolute(name) => Some(name.clone()),
                WantedName::Relative(text) => Name::parse_under(text, &zone.domain).ok(),
            };
            if let Some(name) = name.filter(|name| name.is_within(&zone.domain)) {
                desired.reserve(name, *rtype, namespace, *unmet);
            }
        }
    }

    /// The folder is the whole wish of its owner id, but for those whose wish is not clear, and for records
    /// that would move to a longer zone: those move by approval only.
    fn evidence(&self, zone: &Zone, worker: &ZoneWorker, rejections: &[Rejection]) -> Evidence {
        if self.has_nameless {
            return Evidence::seen([]);
        }
        let outranked = self.outranked.get(&zone.key).map_or(&[][..], Vec::as_slice);
        let incumbents = worker.incumbents(outranked.iter().map(|(name, _, _)| name.clone()));
        let is_moving = |name: &Name, rtype| {
            incumbents.get(name).is_some_and(|held| held.iter().any(|(held, _)| *held == rtype))
        };
        let moving = outranked.iter().filter(|(name, rtype, _)| is_moving(name, *rtype));
        let moving = moving.map(|(_, _, holder)| holder);
        let all = || self.rejections.iter().chain(rejections);
        let excluded =
            all().filter(|rejection| rejection.reason.unmet() == Unmet::Forbidden).map(|it| &it.holder);
        let refused =
            all().filter(|rejection| rejection.reason.unmet() == Unmet::Mistaken).map(|it| &it.holder);
        let full = |holder: &Holder| HolderRef::Full(holder.clone());
        let silent = self.sources.silent(zone.sources.as_ref()).iter().chain(&self.untaken);
        let awaited = self.sources.awaited(zone.sources.as_ref());
        Evidence::complete_but(moving.chain(excluded).chain(silent).map(full))
            .awaiting(self.unclear.iter().chain(refused).chain(awaited).map(full))
    }

    /// What was refused before it reached a zone.
    pub fn into_rejections(self) -> Vec<Rejection> {
        self.rejections
    }
}

/// The zones that wishes can go to. One that can't be reached keeps its place: its wishes must not fall to the zone above it.
fn candidates(zones: &[OpenZone]) -> Zones {
    let is_missing = |zone: &OpenZone| matches!(zone.worker, Err(ProviderError::ZoneNotFound { .. }));
    zones.iter().filter(|zone| !is_missing(zone)).map(|zone| zone.zone.clone()).collect()
}

/// The name that an object asks for, where that can be read.
fn wanted_name(spec: &RecordSetSpec) -> Option<WantedName> {
    match (&spec.name, &spec.relative_name) {
        (Some(name), _) => Name::parse(name).ok().map(WantedName::Absolute),
        (None, Some(name)) => Some(WantedName::Relative(name.clone())),
        (None, None) => None,
    }
}

/// The addresses that RecordSets of a namespace may use.
pub fn permitted(folder: &Folder, namespace: &str, addresses: &Addresses) -> Addresses {
    let mut permitted = addresses.clone();
    for declared in &folder.address_sources {
        let object: &AddressSource = &declared.object;
        let own = object.namespace().unwrap_or_default();
        let allowed = declare::namespaces(&object.spec.allowed_namespaces);
        if own != namespace && !allowed.contain(&own, namespace, &folder.namespace_labels(namespace)) {
            let message = format!(
                "AddressSource {own}/{} does not allow namespace {namespace}; see its spec.allowedNamespaces",
                object.name_any()
            );
            permitted.0.insert((own, object.name_any()), Err((Reason::RefNotPermitted, message)));
        }
    }
    permitted
}
