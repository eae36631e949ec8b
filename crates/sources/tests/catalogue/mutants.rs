//! Every deliberate fault in this crate is caught by the scenario that the table names.

use std::panic::{AssertUnwindSafe, catch_unwind};

use zonekeeper_api::SourceKind;
use zonekeeper_kernel::{
    mutant::{self, MUTANTS, Part},
    name::Name,
    rdata::RecordType,
};
use zonekeeper_sources::{
    Found, Word, World,
    object::{Kind, ObjectRef},
};

use crate::scene::{Scene, scene};

const WAITING: &str = "\
kind: Service
metadata: {name: web, namespace: shop, annotations: {external-dns.kubernetes.io/hostname: www.example.com}}
spec: {type: LoadBalancer}
status: {loadBalancer: {}}";

fn says(scene: &Scene, rtype: RecordType) -> Word {
    scene.first().about(&Name::parse("www.example.com").unwrap(), rtype)
}

fn absence_is_known_only_of_a_kind_that_was_read() {
    let mut world = World::default();
    let gateway = |name: &str| ObjectRef::new(Kind::Source(SourceKind::Gateway), "shop", name);
    // One was seen before the rest could be listed.
    world.lose(&gateway("one"));
    assert_eq!(world.get(&gateway("other")), Found::NotKnown);
    world.synced(Kind::Source(SourceKind::Gateway));
    assert_eq!(world.get(&gateway("other")), Found::NotThere);
}

fn what_is_not_understood_stays() {
    // Without an address it is not known which records it will ask for.
    assert_eq!(says(&scene(WAITING), RecordType::TXT), Word::Awaited);
}

fn a_narrowed_selector_is_no_evidence() {
    let narrowed = scene(WAITING).reading(|sources| sources.kinds = vec![SourceKind::Ingress]);
    assert_eq!(says(&narrowed, RecordType::A), Word::Silent);
}

fn missing_addresses_are_not_known() {
    let asked = scene(WAITING).first().asked;
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.unknown.is_some()), "{asked:?}");
}

fn run(name: &str) {
    match name {
        "absence_is_known_only_of_a_kind_that_was_read" => absence_is_known_only_of_a_kind_that_was_read(),
        "what_is_not_understood_stays" => what_is_not_understood_stays(),
        "a_narrowed_selector_is_no_evidence" => a_narrowed_selector_is_no_evidence(),
        "missing_addresses_are_not_known" => missing_addresses_are_not_known(),
        other => panic!("no scenario is called {other}"),
    }
}

#[test]
fn every_mutant_is_caught_by_its_scenario_and_each_passes_without() {
    for row in MUTANTS.iter().filter(|row| row.part == Part::Sources) {
        run(row.caught_by);
        let outcome = mutant::with(row.name, || catch_unwind(AssertUnwindSafe(|| run(row.caught_by))));
        assert!(outcome.is_err(), "{} is not caught by {}", row.name, row.caught_by);
    }
}
