//! Deliberate faults, switched on by name in test builds: what the tests do not catch, they do not test.
//!
//! The switches are compiled in by the feature `mutants`, which only dev-dependencies ask for.

#[cfg(all(feature = "mutants", not(debug_assertions)))]
compile_error!("the feature `mutants` is for test builds only");

/// Whether a fault is switched on. It never is outside test builds.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub const fn is_on(_name: &str) -> bool {
    false
}

#[cfg(feature = "mutants")]
pub use switched::{Mutant, is_on, with};

#[cfg(feature = "mutants")]
mod switched {
    use std::{
        cell::Cell,
        sync::atomic::{AtomicUsize, Ordering},
    };

    /// Faults that are switched on, in all threads together.
    static ACTIVE: AtomicUsize = AtomicUsize::new(0);

    thread_local!(static ON: Cell<Option<&'static str>> = const { Cell::new(None) });

    /// A deliberate fault.
    #[derive(Debug, Clone, Copy)]
    pub struct Mutant {
        /// Where it is.
        pub part: super::Part,
        /// Its name, which says where it is and what it does.
        pub name: &'static str,
        /// What goes wrong with it.
        pub breaks: &'static str,
        /// The law or scenario that must fail.
        pub caught_by: &'static str,
    }

    struct Switch;

    impl Drop for Switch {
        fn drop(&mut self) {
            ON.set(None);
            ACTIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether a fault is switched on in this thread.
    pub fn is_on(name: &str) -> bool {
        ACTIVE.load(Ordering::Relaxed) > 0 && ON.get() == Some(name)
    }

    /// Does something with a fault switched on in this thread.
    pub fn with<T>(name: &'static str, act: impl FnOnce() -> T) -> T {
        ACTIVE.fetch_add(1, Ordering::Relaxed);
        ON.set(Some(name));
        let _switch = Switch;
        act()
    }
}

/// Which part of the program a fault is in; the tests of that part must catch it.
#[cfg(feature = "mutants")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `crates/kernel`, judged by its laws.
    Kernel,
    /// `crates/sources`, judged by its catalogue.
    Sources,
    /// `crates/operator/src/zone`, judged by the scenarios of `tests/zone`.
    Zone,
}

/// Every deliberate fault, and what catches it.
#[cfg(feature = "mutants")]
pub const MUTANTS: &[Mutant] = &[
    Mutant {
        part: Part::Kernel,
        name: "claim: any place",
        breaks: "A record that is remembered by its id is ours at every name and type.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "claim: foreign is free",
        breaks: "A record with another owner's comment counts as unmarked.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "claim: untyped where sealed",
        breaks: "An untyped marker is believed where markers are signed or encrypted.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "claim: untyped for all types",
        breaks: "An untyped marker of ours claims mail and text, too.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "claim: ours beats theirs",
        breaks: "Of two markers that disagree, ours counts.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "marker: unproved comment",
        breaks: "A comment marker is believed without its MAC.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "marker: of another name",
        breaks: "A signed TXT marker is believed at another name.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "marker: copies admitted",
        breaks: "A wish may have the encrypted text of a marker as its value.",
        caught_by: "every_wish_is_served_or_refused",
    },
    Mutant {
        part: Part::Kernel,
        name: "evidence: absence",
        breaks: "What was not seen counts as given up.",
        caught_by: "a_delete_needs_evidence",
    },
    Mutant {
        part: Part::Kernel,
        name: "evidence: all of a folder",
        breaks: "A folder speaks for objects that it could not understand.",
        caught_by: "a_delete_needs_evidence",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: scope leaks",
        breaks: "A plan for some names changes others.",
        caught_by: "a_plan_for_some_names_is_the_whole_plan_restricted",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: unordered",
        breaks: "Changes come in the order of names: deletes before creates.",
        caught_by: "order_of_input_never_matters",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: unknown is absent",
        breaks: "A set whose values are not known is treated as not wanted.",
        caught_by: "a_delete_needs_evidence",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: orphan is released",
        breaks: "An orphaned record goes without approval.",
        caught_by: "a_delete_needs_evidence",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: claim goes first",
        breaks: "A marker is removed before its data.",
        caught_by: "data_never_stands_without_its_claim",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: claim comes last",
        breaks: "A marker is written after its data.",
        caught_by: "data_never_stands_without_its_claim",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: read-only goes",
        breaks: "A record that the provider manages itself is deleted.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: ignore ignored",
        breaks: "Pruning deletes what its ignore list keeps.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: prune by retype",
        breaks: "An unowned record of another type is replaced without counting as a prune.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: other names",
        breaks: "Records outside the names of the zone are deleted.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: claims unnamed",
        breaks: "A change does not name the marker that makes it ours to change.",
        caught_by: "a_change_names_the_marker_that_it_rests_on",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: drift reverted",
        breaks: "An outside change is reverted where it is to be reported.",
        caught_by: "drift_is_reported_where_the_zone_says_so",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: beside a CNAME",
        breaks: "A CNAME is written beside other records.",
        caught_by: "every_change_differs_and_no_cname_has_company",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: adopts another ttl",
        breaks: "`adoption: Identical` takes a record with another TTL.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: adopts in spite of Never",
        breaks: "`adoption: Never` takes an equal record.",
        caught_by: "what_is_not_ours_is_never_touched",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: all holders give up",
        breaks: "A wanted set replaces values of holders that may still want them.",
        caught_by: "a_delete_needs_evidence",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: writes the same",
        breaks: "A record that is as wanted is written again.",
        caught_by: "every_change_differs_and_no_cname_has_company",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: deletes before it creates",
        breaks: "A change of type deletes before it creates.",
        caught_by: "a_wanted_name_is_never_empty",
    },
    Mutant {
        part: Part::Kernel,
        name: "plan: refused is not reserved",
        breaks: "A refused wish does not keep what its namespace has.",
        caught_by: "a_delete_needs_evidence",
    },
    Mutant {
        part: Part::Kernel,
        name: "resolve: share forgotten",
        breaks: "Namespaces share a name without grants that say so.",
        caught_by: "a_name_belongs_to_one_namespace",
    },
    Mutant {
        part: Part::Kernel,
        name: "resolve: newcomers first",
        breaks: "The namespace that holds a name does not come first.",
        caught_by: "a_name_belongs_to_one_namespace",
    },
    Mutant {
        part: Part::Kernel,
        name: "resolve: unknown holds",
        breaks: "An object without values keeps a name from namespaces that know what they want there.",
        caught_by: "a_name_belongs_to_one_namespace",
    },
    Mutant {
        part: Part::Kernel,
        name: "resolve: as they come",
        breaks: "The order of wishes decides who wins.",
        caught_by: "the_order_of_wishes_never_matters",
    },
    Mutant {
        part: Part::Kernel,
        name: "guard: one more",
        breaks: "A small zone may lose four sets in a window instead of three.",
        caught_by: "no_more_goes_than_the_limits_allow",
    },
    Mutant {
        part: Part::Kernel,
        name: "guard: hash without identity",
        breaks: "A hash of one zone approves the same changes in another.",
        caught_by: "an_approval_releases_exactly_what_was_shown",
    },
    Mutant {
        part: Part::Kernel,
        name: "guard: any hash approves",
        breaks: "Any hash releases what is held.",
        caught_by: "an_approval_releases_exactly_what_was_shown",
    },
    Mutant {
        part: Part::Kernel,
        name: "guard: orphans go",
        breaks: "Orphans need no approval.",
        caught_by: "no_more_goes_than_the_limits_allow",
    },
    Mutant {
        part: Part::Kernel,
        name: "guard: prunes without a cap",
        breaks: "Pruning has no limit.",
        caught_by: "no_more_goes_than_the_limits_allow",
    },
    Mutant {
        part: Part::Kernel,
        name: "guard: name servers go",
        breaks: "The zone's own NS set is changed without approval.",
        caught_by: "no_more_goes_than_the_limits_allow",
    },
    Mutant {
        part: Part::Kernel,
        name: "guard: watched is written",
        breaks: "A zone with `policy: Observe` is written to.",
        caught_by: "a_watched_zone_is_never_written_to",
    },
    Mutant {
        part: Part::Sources,
        name: "world: unread is empty",
        breaks: "A kind that could not be listed counts as empty.",
        caught_by: "absence_is_known_only_of_a_kind_that_was_read",
    },
    Mutant {
        part: Part::Sources,
        name: "publish: unclear is clear",
        breaks: "An object that can't be understood counts as wanting nothing else.",
        caught_by: "what_is_not_understood_stays",
    },
    Mutant {
        part: Part::Sources,
        name: "publish: unselected gives up",
        breaks: "An object that the zone no longer reads counts as wanting nothing.",
        caught_by: "a_narrowed_selector_is_no_evidence",
    },
    Mutant {
        part: Part::Sources,
        name: "publish: unknown is unasked",
        breaks: "A Service without an address asks for nothing, instead of for unknown values.",
        caught_by: "missing_addresses_are_not_known",
    },
    Mutant {
        part: Part::Zone,
        name: "zone: deletes unread",
        breaks: "Records are deleted without a fresh read.",
        caught_by: "a_delete_is_read_first",
    },
    Mutant {
        part: Part::Zone,
        name: "zone: updates unread",
        breaks: "Records that were read long ago are updated without a fresh read.",
        caught_by: "a_stale_update_is_read_first",
    },
    Mutant {
        part: Part::Zone,
        name: "zone: repeats lost writes",
        breaks: "A write whose reply was lost is repeated before the zone is read.",
        caught_by: "a_lost_reply_is_not_repeated",
    },
    Mutant {
        part: Part::Zone,
        name: "zone: window forgotten",
        breaks: "Deletes do not count against the next ones.",
        caught_by: "deletes_add_up_within_a_window",
    },
    Mutant {
        part: Part::Zone,
        name: "zone: doubt is free",
        breaks: "A delete whose reply was lost does not count.",
        caught_by: "a_lost_delete_counts",
    },
    Mutant {
        part: Part::Zone,
        name: "zone: approval unrecorded",
        breaks: "A used approval is not written down, so that it works twice.",
        caught_by: "an_approval_is_written_down_first",
    },
    Mutant {
        part: Part::Zone,
        name: "zone: ledger skipped",
        breaks: "The window is not kept before deletes are sent.",
        caught_by: "the_window_is_written_down_first",
    },
    Mutant {
        part: Part::Zone,
        name: "zone: forgets its writes",
        breaks: "What this process wrote is not remembered by its id.",
        caught_by: "a_wiped_marker_is_put_back",
    },
];
