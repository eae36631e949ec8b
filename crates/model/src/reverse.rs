//! PTR records for addresses: RecordSets beside the object that has the addresses, judged by the reverse zones' grants.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};
use zonekeeper_api::{API_VERSION, DeletionPolicy, Reason};
use zonekeeper_kernel::{
    name::Name,
    rdata::Rdata,
    resolve::Zones,
    reverse::{address, reverse_name},
    zone::ZoneKey,
};
use zonekeeper_sources::object::ObjectRef;

use crate::{
    Key,
    core::Model,
    records::RecordEntry,
    sources::{kinds, news::Standing},
    zone_entry::Requester,
};

/// The names that addresses have, by address.
#[derive(Debug, Default)]
pub struct Named(BTreeMap<IpAddr, BTreeSet<Name>>);

/// PTR records that are wanted for an object.
pub struct Reverse<'a> {
    pub namespace: &'a str,
    /// What their names begin with.
    pub object: &'a str,
    pub deletion_policy: DeletionPolicy,
}

// === impl Named ===

impl Named {
    /// Notes the addresses of a set.
    pub fn add(&mut self, name: &Name, values: &[Rdata]) {
        if name.is_wildcard() {
            return;
        }
        for address in values.iter().filter_map(address) {
            self.0.entry(address).or_default().insert(name.clone());
        }
    }

    /// Keeps the addresses that have a reverse zone here, and returns the others.
    pub fn split_off_homeless(&mut self, zones: &Zones) -> Vec<IpAddr> {
        let has_zone = |address: &IpAddr| zones.above(&reverse_name(*address)).next().is_some();
        let homeless = self.0.keys().filter(|address| !has_zone(address)).copied().collect();
        self.0.retain(|address, _| has_zone(address));
        homeless
    }
}

// === impl Reverse ===

impl Reverse<'_> {
    /// One RecordSet per address.
    pub fn record_sets(&self, named: &Named) -> Vec<Value> {
        let record_set = |(address, names): (&IpAddr, &BTreeSet<Name>)| {
            let values: Vec<String> = names.iter().map(Name::to_fqdn).collect();
            json!({
                "apiVersion": API_VERSION,
                "kind": "RecordSet",
                "metadata": { "name": self.name_of(*address), "namespace": self.namespace },
                "spec": {
                    "name": reverse_name(*address).as_str(),
                    "type": "PTR",
                    "values": values,
                    "deletionPolicy": self.deletion_policy,
                },
            })
        };
        named.0.iter().map(record_set).collect()
    }

    fn name_of(&self, address: IpAddr) -> String {
        // `::` alone would begin or end the name with a hyphen.
        let text = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => address.segments().map(|part| format!("{part:x}")).join(":"),
        };
        format!("{}-ptr-{}", self.object, text.replace(['.', ':'], "-"))
    }
}

// === impl Model ===

impl Model {
    /// Says which PTR records are wanted for a RecordSet, if it is known what it asks for and that stands.
    pub fn reverse_record(&mut self, key: &Key) {
        let Some(entry) = self.records.get(key).filter(|entry| !entry.is_leaving() && !entry.is_others)
        else {
            return;
        };
        let spec = &entry.object.spec;
        // That no zone takes it takes nothing away (law 5): a selector or a zone may have changed, not the object.
        if spec.suspend || spec.resolve_targets || entry.placed.is_empty() {
            return;
        }
        let is_reversed = |zone: &ZoneKey| spec.reverse.unwrap_or_else(|| self.reverses(zone));
        let mut named = Named::default();
        for (zone, name) in entry.placed.iter().filter(|(zone, _)| is_reversed(zone)) {
            let values = entry.intent.as_ref().and_then(|intent| intent.values.as_ref());
            let stands = entry.states.get(zone).is_some_and(|state| state.verdict.is_in_place());
            match values.filter(|_| stands) {
                Some(values) => named.add(name, values),
                // What is not known takes nothing away.
                None => return,
            }
        }
        let (object, is_asked_for) = (entry.object.clone(), spec.reverse == Some(true));
        let Some(owner) = object.uid().and_then(|_| object.controller_owner_ref(&())) else { return };
        let homeless = named.split_off_homeless(&self.index);
        let wanted =
            Reverse { namespace: &key.0, object: &key.1, deletion_policy: object.spec.deletion_policy };
        let manifests = wanted.record_sets(&named);
        if let Some(address) = homeless.first().filter(|_| is_asked_for) {
            let generation = object.metadata.generation;
            let entry = self.records.get_mut(key);
            let is_new = |entry: &mut RecordEntry| {
                std::mem::replace(&mut entry.reverse_told, generation) != generation
            };
            if entry.is_some_and(is_new) {
                let message = format!(
                    "spec.reverse: no DNSZone is the reverse zone of {address} ({}); create one, or set it to false",
                    reverse_name(*address)
                );
                self.effects.say(object.object_ref(&()), Reason::NoMatchingZone, &message, false);
            }
        }
        self.want_reverse(&owner, manifests);
    }

    /// Says which PTR records are wanted for a source object.
    pub fn reverse_source(&mut self, reference: &ObjectRef) {
        let entry = self.sources.entries.get(reference).filter(|entry| !entry.wishes.is_empty());
        let Some(entry) = entry else { return };
        let mut named = Named::default();
        for (place, intent) in entry.wishes.iter().filter(|((zone, _, _), _)| self.reverses(zone)) {
            let stands = entry.states.get(place).is_some_and(|verdict| verdict.is_in_place());
            match intent.values.as_ref().filter(|_| stands) {
                Some(values) => named.add(&place.1, values),
                None => return,
            }
        }
        let Standing::Following(resource) = self.sources.standing(reference.kind) else { return };
        let Some(owner) = kinds::owner(reference, resource, self.uid_of(reference)) else { return };
        named.split_off_homeless(&self.index);
        let kind = reference.kind.as_str().to_lowercase();
        let wanted = Reverse {
            namespace: &reference.namespace,
            object: &format!("{kind}-{}", reference.name),
            deletion_policy: DeletionPolicy::Delete,
        };
        let manifests = wanted.record_sets(&named);
        self.want_reverse(&owner, manifests);
    }

    fn want_reverse(&mut self, owner: &OwnerReference, manifests: Vec<Value>) {
        if !manifests.is_empty() || self.children.has(&owner.uid) {
            self.children.want(owner, manifests, &mut self.effects);
        }
    }

    /// Looks anew at who wants PTR records, where a reverse zone came.
    pub fn reconsider_reverse(&mut self, domain: &Name) {
        let is_reverse = ["in-addr.arpa", "ip6.arpa"]
            .iter()
            .any(|above| Name::parse(above).is_ok_and(|above| domain.is_within(&above)));
        if !is_reverse {
            return;
        }
        let records: Vec<Key> = self.records.keys().cloned().collect();
        records.iter().for_each(|key| self.reverse_record(key));
        let sources: Vec<ObjectRef> = self.sources.entries.keys().cloned().collect();
        sources.iter().for_each(|reference| self.reverse_source(reference));
    }

    /// Looks anew at who wants PTR records in a zone, where that was switched.
    pub fn reconsider_reverse_of(&mut self, zone: &ZoneKey) {
        let Some(entry) = self.zones.get(zone) else { return };
        let requesters: BTreeSet<Requester> =
            entry.wishes.values().flat_map(|objects| objects.keys().cloned()).collect();
        for requester in requesters {
            match requester {
                Requester::RecordSet(key) => self.reverse_record(&key),
                Requester::Source(reference, _) => self.reverse_source(&reference),
            }
        }
    }

    fn reverses(&self, zone: &ZoneKey) -> bool {
        self.zones.get(zone).is_some_and(|entry| entry.object.spec.reverse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, rtype: &str, values: &[&str]) -> Named {
        let mut named = Named::default();
        let rtype = rtype.parse().unwrap();
        let values: Vec<Rdata> = values.iter().map(|value| Rdata::parse(rtype, value).unwrap()).collect();
        named.add(&Name::parse(name).unwrap(), &values);
        named
    }

    fn sets(named: &Named) -> Vec<String> {
        let wanted = Reverse { namespace: "team", object: "www", deletion_policy: DeletionPolicy::Delete };
        let line = |set: Value| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            format!(
                "{} {} {}",
                text(&set["metadata"]["name"]),
                text(&set["spec"]["name"]),
                set["spec"]["values"]
            )
        };
        wanted.record_sets(named).into_iter().map(line).collect()
    }

    #[test]
    fn each_address_has_a_set_of_its_own() {
        assert_eq!(
            sets(&named("www.example.com", "A", &["192.0.2.2", "192.0.2.1"])),
            [
                r#"www-ptr-192-0-2-1 1.2.0.192.in-addr.arpa ["www.example.com."]"#,
                r#"www-ptr-192-0-2-2 2.2.0.192.in-addr.arpa ["www.example.com."]"#,
            ]
        );
        let v6 = sets(&named("www.example.com", "AAAA", &["2001:db8::"]));
        assert!(v6[0].starts_with("www-ptr-2001-db8-0-0-0-0-0-0 0.0.0.0."), "{v6:?}");
    }

    #[test]
    fn wildcards_and_aliases_have_none() {
        assert_eq!(sets(&named("*.example.com", "A", &["192.0.2.1"])), [""; 0]);
        assert_eq!(sets(&named("www.example.com", "CNAME", &["example.net"])), [""; 0]);
    }
}
