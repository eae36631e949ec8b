//! One ladder for every provider: each pair of a place and a rung is one test.
//!
//! A rung is skipped only where the place declares that it lacks what the rung needs, and
//! `a_skip_can_not_hide` says for each place which rungs those are.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod attributes;
mod forgery;
mod freshness;
mod ground;
mod ownership;
mod retype;
mod safety;
mod sets;
mod spelling;
mod types;

use cloudflare_sim::Plan;
use dns_servers::Software;
use ground::{Ground, Host, Need, Place, climb};
use zonekeeper_tests::stage::Marks;

/// The ladder: every rung with what it needs. `$then` gets all of it.
macro_rules! ladder {
    ($then:ident $($head:tt)*) => {
        $then! { $($head)*;
            sets::one_set_is_created_updated_and_deleted [];
            sets::values_are_added_removed_and_replaced [];
            sets::a_ttl_changes_alone_and_in_place [];
            sets::a_priority_changes_alone_and_in_place [];
            sets::a_hundred_values_make_one_set [];
            sets::three_hundred_changes_at_once [];
            sets::several_types_share_a_name [];
            types::every_type_is_created_read_back_updated_and_deleted [];
            types::an_unknown_type_travels_by_rfc_3597 [UnknownTypes];
            types::a_delegation_and_its_ds_come_and_go_together [];
            types::a_target_may_be_the_root [];
            spelling::texts_come_back_as_they_were [];
            spelling::ipv6_has_one_spelling [];
            spelling::case_and_trailing_dots_make_no_difference [];
            spelling::unicode_names_become_a_labels [];
            spelling::a_wildcard_is_a_name_like_any_other [];
            spelling::the_apex_is_a_name_like_any_other [];
            spelling::names_may_begin_with_an_underscore [];
            spelling::names_may_be_as_long_as_dns_allows [];
            attributes::proxied_has_an_automatic_ttl_whatever_was_asked [Attributes];
            attributes::a_comment_is_set_kept_changed_and_cleared [Attributes];
            attributes::a_long_comment_is_cut_at_the_limit [Attributes, CommentMarkers];
            attributes::tags_are_set_and_changed_where_the_plan_has_them [Attributes];
            attributes::settings_are_set_and_cleared [Attributes];
            retype::an_address_becomes_an_alias_and_back [];
            retype::two_families_become_an_alias_and_back [];
            retype::several_values_become_an_alias_and_back [];
            retype::a_type_without_conflict_is_just_replaced [];
            ownership::foreign_records_are_never_touched [Markers];
            ownership::adoption_never_refuses_what_is_there [Markers];
            ownership::adoption_identical_writes_nothing_but_the_marker [Markers];
            ownership::adoption_identical_refuses_another_value [Markers];
            ownership::adoption_identical_refuses_another_ttl [Markers];
            ownership::adoption_identical_refuses_another_proxied [Markers, Attributes];
            ownership::adoption_force_changes_in_place_and_claims [Markers];
            ownership::a_value_beside_ours_stays [CommentMarkers];
            ownership::a_value_added_to_our_set_goes [TxtMarkers];
            ownership::a_wiped_marker_is_drift_and_not_a_loss [Markers];
            ownership::a_wiped_marker_is_a_loss_to_another_process [Markers];
            forgery::records_of_another_owner_are_never_touched [Markers];
            forgery::an_owner_is_taken_over_by_name [Markers];
            forgery::a_marker_signed_with_another_key_is_foreign [CommentMarkers];
            forgery::a_copied_marker_is_foreign [CommentMarkers];
            forgery::a_marker_signed_with_the_previous_key_is_renewed [CommentMarkers];
            forgery::an_unsigned_txt_marker_is_foreign_where_they_are_signed [TxtMarkers];
            safety::many_deletes_are_held_and_released_by_their_hash [];
            safety::few_deletes_pass_in_a_large_zone [];
            safety::a_small_zone_may_lose_three_sets [];
            safety::the_zones_own_ns_change_only_by_approval [BareApex];
            safety::an_outside_change_is_reverted [];
            safety::an_outside_delete_is_reverted [];
            safety::drift_is_only_reported_where_the_zone_says_so [];
            safety::a_policy_limits_what_is_done [];
            safety::without_evidence_nothing_is_deleted [Markers];
        }
    };
}

macro_rules! tests {
    ($place:ident = $host:expr, $marks:ident; $($module:ident::$rung:ident [$($need:ident),*];)*) => {
        mod $place {
            use super::*;

            pub const PLACE: Place = Place { host: $host, marks: Marks::$marks };

            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $rung() {
                    climb(PLACE, &[$(Need::$need),*], async |ground: &mut Ground| crate::$module::$rung(ground).await).await;
                }
            )*
        }
    };
}

macro_rules! list {
    (; $($module:ident::$rung:ident [$($need:ident),*];)*) => {
        const RUNGS: &[(&str, &[Need])] = &[$((stringify!($rung), &[$(Need::$need),*])),*];
    };
}

ladder!(list);
ladder!(tests memory_standard_comment = Host::MemoryStandard, Comment);
ladder!(tests memory_standard_txt = Host::MemoryStandard, Txt);
ladder!(tests memory_standard_none = Host::MemoryStandard, None);
ladder!(tests memory_cloudflare_comment = Host::MemoryCloudflare, Comment);
ladder!(tests memory_cloudflare_txt = Host::MemoryCloudflare, Txt);
ladder!(tests memory_cloudflare_none = Host::MemoryCloudflare, None);
ladder!(tests builtin = Host::Builtin, None);
ladder!(tests cloudflare_free_comment = Host::Cloudflare(Plan::Free), Comment);
ladder!(tests cloudflare_free_txt = Host::Cloudflare(Plan::Free), Txt);
ladder!(tests cloudflare_enterprise_comment = Host::Cloudflare(Plan::Enterprise), Comment);
ladder!(tests cloudflare_enterprise_txt = Host::Cloudflare(Plan::Enterprise), Txt);
ladder!(tests cloudflare_in_doubt_comment = Host::CloudflareInDoubt, Comment);
ladder!(tests cloudflare_in_doubt_txt = Host::CloudflareInDoubt, Txt);
ladder!(tests bind_txt = Host::Server(Software::Bind), Txt);
ladder!(tests knot_txt = Host::Server(Software::Knot), Txt);
ladder!(tests powerdns_txt = Host::Server(Software::PowerDns), Txt);

const NEEDS_ATTRIBUTES: &[&str] = &[
    "proxied_has_an_automatic_ttl_whatever_was_asked",
    "a_comment_is_set_kept_changed_and_cleared",
    "a_long_comment_is_cut_at_the_limit",
    "tags_are_set_and_changed_where_the_plan_has_them",
    "settings_are_set_and_cleared",
    "adoption_identical_refuses_another_proxied",
];
const NEEDS_COMMENTS: &[&str] = &[
    "a_long_comment_is_cut_at_the_limit",
    "a_value_beside_ours_stays",
    "a_marker_signed_with_another_key_is_foreign",
    "a_copied_marker_is_foreign",
    "a_marker_signed_with_the_previous_key_is_renewed",
];
const NEEDS_TXT: &[&str] =
    &["a_value_added_to_our_set_goes", "an_unsigned_txt_marker_is_foreign_where_they_are_signed"];
const NEEDS_MARKERS: &[&str] = &[
    "foreign_records_are_never_touched",
    "adoption_never_refuses_what_is_there",
    "adoption_identical_writes_nothing_but_the_marker",
    "adoption_identical_refuses_another_value",
    "adoption_identical_refuses_another_ttl",
    "adoption_identical_refuses_another_proxied",
    "adoption_force_changes_in_place_and_claims",
    "a_wiped_marker_is_drift_and_not_a_loss",
    "a_wiped_marker_is_a_loss_to_another_process",
    "records_of_another_owner_are_never_touched",
    "an_owner_is_taken_over_by_name",
    "without_evidence_nothing_is_deleted",
];
const NEEDS_BARE_APEX: &[&str] = &["the_zones_own_ns_change_only_by_approval"];
const NEEDS_UNKNOWN_TYPES: &[&str] = &["an_unknown_type_travels_by_rfc_3597"];

#[tokio::test(flavor = "multi_thread")]
async fn a_skip_can_not_hide() {
    let cases: [(Place, &[&[&str]]); 16] = [
        (memory_standard_comment::PLACE, &[NEEDS_ATTRIBUTES, NEEDS_TXT]),
        (memory_standard_txt::PLACE, &[NEEDS_ATTRIBUTES, NEEDS_COMMENTS]),
        (memory_standard_none::PLACE, &[NEEDS_ATTRIBUTES, NEEDS_MARKERS, NEEDS_COMMENTS, NEEDS_TXT]),
        (memory_cloudflare_comment::PLACE, &[NEEDS_UNKNOWN_TYPES, NEEDS_TXT]),
        (memory_cloudflare_txt::PLACE, &[NEEDS_UNKNOWN_TYPES, NEEDS_COMMENTS]),
        (memory_cloudflare_none::PLACE, &[NEEDS_UNKNOWN_TYPES, NEEDS_MARKERS, NEEDS_COMMENTS, NEEDS_TXT]),
        (builtin::PLACE, &[NEEDS_ATTRIBUTES, NEEDS_MARKERS, NEEDS_COMMENTS, NEEDS_TXT]),
        (cloudflare_free_comment::PLACE, &[NEEDS_UNKNOWN_TYPES, NEEDS_TXT]),
        (cloudflare_free_txt::PLACE, &[NEEDS_UNKNOWN_TYPES, NEEDS_COMMENTS]),
        (cloudflare_enterprise_comment::PLACE, &[NEEDS_UNKNOWN_TYPES, NEEDS_TXT]),
        (cloudflare_enterprise_txt::PLACE, &[NEEDS_UNKNOWN_TYPES, NEEDS_COMMENTS]),
        (cloudflare_in_doubt_comment::PLACE, &[NEEDS_UNKNOWN_TYPES, NEEDS_TXT]),
        (cloudflare_in_doubt_txt::PLACE, &[NEEDS_UNKNOWN_TYPES, NEEDS_COMMENTS]),
        (bind_txt::PLACE, &[NEEDS_ATTRIBUTES, NEEDS_COMMENTS, NEEDS_BARE_APEX]),
        (knot_txt::PLACE, &[NEEDS_ATTRIBUTES, NEEDS_COMMENTS, NEEDS_BARE_APEX]),
        (powerdns_txt::PLACE, &[NEEDS_ATTRIBUTES, NEEDS_COMMENTS, NEEDS_BARE_APEX, NEEDS_UNKNOWN_TYPES]),
    ];
    for (place, expected) in cases {
        let ground = Ground::at(place).await;
        let mut expected: Vec<&str> = expected.concat();
        expected.sort_unstable();
        expected.dedup();
        let mut skipped: Vec<&str> =
            RUNGS.iter().filter(|(_, needs)| ground.lacks(needs).is_some()).map(|(rung, _)| *rung).collect();
        skipped.sort_unstable();
        assert_eq!(skipped, expected, "{place:?}");
    }
}
