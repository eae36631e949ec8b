//! Changes as people read them: every attribute is shown, and a comment is not called a marker.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use zonekeeper_kernel::{
    attribute::{AttributeValue, Attributes, FLATTEN_CNAME, IPV4_ONLY, IPV6_ONLY, PROXIED, TAGS},
    name::Name,
    plan::{Cause, Change, Edit, Operation, Role},
    rdata::{Rdata, RecordType},
    record::{LiveRecord, Record, Ttl},
    render,
};

const MARKER: &str = "zk1:abcdefgh:recordset/default/www";

fn domain() -> Name {
    Name::parse("example.com").unwrap()
}

fn record(comment: &str) -> Record {
    Record {
        name: Name::parse("www.example.com").unwrap(),
        rdata: Rdata::parse(RecordType::A, "192.0.2.1").unwrap(),
        ttl: Ttl(300),
        attributes: Attributes::default(),
        comment: comment.into(),
    }
}

fn live(record: Record) -> LiveRecord {
    record.written(Default::default())
}

/// One record that becomes another.
fn update(before: Record, after: Record) -> Change {
    Change {
        operation: Operation::Update,
        name: after.name.clone(),
        rtype: after.rdata.rtype(),
        edits: vec![Edit::Update { before: live(before), after, role: Role::Data }],
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Wanted,
        holders: Vec::new(),
    }
}

#[test]
fn a_changed_comment_is_not_called_a_marker() {
    let change = update(record(&format!("theirs {MARKER}")), record(&format!("ours {MARKER}")));
    assert!(change.is_marker_only(), "it changes no answer and counts against no limit");
    assert!(!change.is_adoption());
    assert_eq!(render::line(&change, &domain()), r#"~ www A 192.0.2.1 (comment "theirs" -> "ours")"#);
}

#[test]
fn a_record_that_gets_its_first_marker_is_adopted_and_a_marker_that_is_written_anew_is_not() {
    let adopted = update(record("by hand"), record(&format!("by hand {MARKER}")));
    assert!(adopted.is_adoption() && render::is_marking(&adopted));
    assert_eq!(render::line(&adopted, &domain()), "= www A 192.0.2.1 (ownership marker only)");
    let signed = update(record(MARKER), record(&format!("{MARKER}:abcdefghabcdefgh")));
    assert!(!signed.is_adoption() && render::is_marking(&signed));
    let restored = Change { cause: Cause::Drift, ..adopted };
    assert!(!restored.is_adoption());
}

#[test]
fn every_field_that_differs_is_named() {
    let mut after = record(&format!("ours {MARKER}"));
    after.ttl = Ttl(600);
    let flags = [PROXIED, FLATTEN_CNAME, IPV4_ONLY, IPV6_ONLY].map(|name| (name.into(), true.into()));
    let tags = AttributeValue::from_iter(["team:web"]);
    after.attributes = flags.into_iter().chain([(TAGS.into(), tags)]).collect();
    let change = update(record(MARKER), after);
    let (before, after) = (change.before(), change.after());
    let named: Vec<&str> = render::differences(&before[0], &after[0]).into_iter().map(|it| it.0).collect();
    assert_eq!(named, ["ttl", "proxied", "flattenCNAME", "ipv4Only", "ipv6Only", "tags", "comment"]);
    assert_eq!(
        render::states(&after),
        r#"192.0.2.1 (proxied, flattenCNAME, ipv4Only, ipv6Only, tags team:web, comment "ours")"#
    );
    assert_eq!(render::states(&before), "192.0.2.1 (ttl 300)");
}

/// Approvals that were given before stay what they are.
#[test]
fn a_comment_is_no_part_of_the_line_that_hashes_are_made_of() {
    let one = update(record("a"), record("b"));
    let other = update(record("c"), record("d"));
    assert_eq!(render::hash_line(&one), render::hash_line(&other));
}
