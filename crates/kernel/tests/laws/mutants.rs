//! Every deliberate fault in the kernel is caught by the law that the table names, and without faults the law holds.

use std::{collections::BTreeSet, fmt::Debug};

use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestCaseResult, TestRng, TestRunner},
};
use zonekeeper_kernel::mutant::{self, MUTANTS, Part};

use crate::{generate::case, guarding as g, laws as l, tenants as t};

/// Cases until a fault must have shown itself.
const CASES: u32 = 4_000;

/// Whether a law holds on always the same cases.
fn holds<T: Debug>(cases_of: impl Strategy<Value = T>, law: fn(&T) -> TestCaseResult) -> bool {
    let config = ProptestConfig {
        cases: CASES,
        max_shrink_iters: 0,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng).run(&cases_of, |case| law(&case)).is_ok()
}

/// Whether the law of this name holds.
fn law_holds(name: &str) -> bool {
    let scoped = (case(), any::<u16>());
    match name {
        "a_quiet_system_makes_no_writes" => holds(case(), l::a_quiet_system_makes_no_writes),
        "a_crash_at_any_write_is_harmless" => holds(case(), l::a_crash_at_any_write_is_harmless),
        "what_is_not_ours_is_never_touched" => holds(case(), l::what_is_not_ours_is_never_touched),
        "a_change_names_the_marker_that_it_rests_on" => {
            holds(case(), l::a_change_names_the_marker_that_it_rests_on)
        }
        "data_never_stands_without_its_claim" => holds(case(), l::data_never_stands_without_its_claim),
        "a_delete_needs_evidence" => holds(case(), l::a_delete_needs_evidence),
        "a_wanted_name_is_never_empty" => holds(case(), l::a_wanted_name_is_never_empty),
        "order_of_input_never_matters" => holds(case(), l::order_of_input_never_matters),
        "every_change_differs_and_no_cname_has_company" => {
            holds(case(), l::every_change_differs_and_no_cname_has_company)
        }
        "the_end_is_what_is_wanted" => holds(case(), l::the_end_is_what_is_wanted),
        "drift_is_reported_where_the_zone_says_so" => {
            holds(case(), l::drift_is_reported_where_the_zone_says_so)
        }
        "a_plan_for_some_names_is_the_whole_plan_restricted" => {
            holds(scoped, l::a_plan_for_some_names_is_the_whole_plan_restricted)
        }
        "the_order_of_wishes_never_matters" => holds(t::tenancy(), t::the_order_of_wishes_never_matters),
        "a_name_belongs_to_one_namespace" => holds(t::tenancy(), t::a_name_belongs_to_one_namespace),
        "no_namespace_changes_the_name_of_another" => {
            holds(t::tenancy(), t::no_namespace_changes_the_name_of_another)
        }
        "every_wish_is_served_or_refused" => holds(t::tenancy(), t::every_wish_is_served_or_refused),
        "no_more_goes_than_the_limits_allow" => holds(g::guarded(), g::no_more_goes_than_the_limits_allow),
        "an_approval_releases_exactly_what_was_shown" => {
            holds(g::guarded(), g::an_approval_releases_exactly_what_was_shown)
        }
        "a_watched_zone_is_never_written_to" => holds(g::guarded(), g::a_watched_zone_is_never_written_to),
        other => panic!("no law is called {other}"),
    }
}

#[test]
fn every_mutant_is_caught_by_its_law() {
    let kernels = MUTANTS.iter().filter(|mutant| mutant.part == Part::Kernel);
    let missed: Vec<_> = kernels
        .filter(|mutant| mutant::with(mutant.name, || law_holds(mutant.caught_by)))
        .map(|mutant| format!("{} is not caught by {}", mutant.name, mutant.caught_by))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn without_a_mutant_the_same_laws_hold() {
    let kernels = MUTANTS.iter().filter(|mutant| mutant.part == Part::Kernel);
    let laws: BTreeSet<&str> = kernels.map(|mutant| mutant.caught_by).collect();
    let broken: Vec<&&str> = laws.iter().filter(|law| !law_holds(law)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The page that people read is the table.
#[test]
fn every_mutant_is_in_the_document() {
    let page = include_str!("../../../../docs/mutants.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = MUTANTS
        .iter()
        .map(|mutant| format!("| `{}` | {} | `{}` |", mutant.name, mutant.breaks, mutant.caught_by))
        .collect();
    assert_eq!(rows, expected, "docs/mutants.md must list MUTANTS in their order");
    let names: BTreeSet<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
    assert!(names.len() == MUTANTS.len() && names.len() >= 25);
}
