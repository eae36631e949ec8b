//! The laws of the design as properties of the kernel, on generated zones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod forge;
mod generate;
mod guarding;
mod host;
mod laws;
mod live;
mod model;
mod mutants;
mod tenants;
mod truth;

use std::fmt::Debug;

use generate::case;
use proptest::{
    prelude::*,
    test_runner::{TestCaseResult, TestRunner},
};

fn cases() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: 10_000, ..config },
    }
}

/// Has a law judge as many cases as are asked for.
fn holds<T: Debug>(cases_of: impl Strategy<Value = T>, law: fn(&T) -> TestCaseResult) {
    if let Err(error) = TestRunner::new(cases()).run(&cases_of, |case| law(&case)) {
        panic!("{error}");
    }
}

#[test]
fn law_1_a_quiet_system_makes_no_writes() {
    holds(case(), laws::a_quiet_system_makes_no_writes);
}

#[test]
fn law_2_a_crash_at_any_write_is_harmless() {
    holds(case(), laws::a_crash_at_any_write_is_harmless);
}

#[test]
fn law_3_what_is_not_ours_is_never_touched() {
    holds(case(), laws::what_is_not_ours_is_never_touched);
}

#[test]
fn law_3_a_change_names_the_marker_that_it_rests_on() {
    holds(case(), laws::a_change_names_the_marker_that_it_rests_on);
}

#[test]
fn law_4_data_never_stands_without_its_claim() {
    holds(case(), laws::data_never_stands_without_its_claim);
}

#[test]
fn law_5_a_delete_needs_evidence() {
    holds(case(), laws::a_delete_needs_evidence);
}

#[test]
fn law_6_a_wanted_name_is_never_empty() {
    holds(case(), laws::a_wanted_name_is_never_empty);
}

#[test]
fn law_7_order_of_input_never_matters() {
    holds(case(), laws::order_of_input_never_matters);
}

#[test]
fn law_8_every_change_differs_and_no_cname_has_company() {
    holds(case(), laws::every_change_differs_and_no_cname_has_company);
}

#[test]
fn the_end_is_what_is_wanted() {
    holds(case(), laws::the_end_is_what_is_wanted);
}

#[test]
fn drift_is_reported_where_the_zone_says_so() {
    holds(case(), laws::drift_is_reported_where_the_zone_says_so);
}

#[test]
fn a_plan_for_some_names_is_the_whole_plan_restricted() {
    holds((case(), any::<u16>()), laws::a_plan_for_some_names_is_the_whole_plan_restricted);
}

#[test]
fn law_7_the_order_of_wishes_never_matters() {
    holds(tenants::tenancy(), tenants::the_order_of_wishes_never_matters);
}

#[test]
fn law_11_a_name_belongs_to_one_namespace() {
    holds(tenants::tenancy(), tenants::a_name_belongs_to_one_namespace);
}

#[test]
fn law_11_no_namespace_changes_the_name_of_another() {
    holds(tenants::tenancy(), tenants::no_namespace_changes_the_name_of_another);
}

#[test]
fn every_wish_is_served_or_refused() {
    holds(tenants::tenancy(), tenants::every_wish_is_served_or_refused);
}

#[test]
fn the_guard_lets_no_more_go_than_the_limits_allow() {
    holds(guarding::guarded(), guarding::no_more_goes_than_the_limits_allow);
}

#[test]
fn an_approval_releases_exactly_what_was_shown() {
    holds(guarding::guarded(), guarding::an_approval_releases_exactly_what_was_shown);
}

#[test]
fn a_watched_zone_is_never_written_to() {
    holds(guarding::guarded(), guarding::a_watched_zone_is_never_written_to);
}
