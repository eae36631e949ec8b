//! Forms that outlive a process: hashes that people approve, and digests in statuses, are made of them.

#![allow(clippy::unwrap_used)]

use zonekeeper_kernel::{
    attribute::{AttributeValue, Attributes, PROXIED, TAGS},
    name::Name,
    plan::{Cause, Change, Edit, Operation, Role},
    rdata::{Rdata, RecordType},
    record::{LiveRecord, Record, RecordId, Ttl},
    render::hash_line,
    zone::{LabelSelector, Requirement},
};

fn attributes(proxied: bool, tags: &[&str]) -> Attributes {
    Attributes::of(TAGS, AttributeValue::from_iter(tags.iter().copied())).with(PROXIED, proxied)
}

#[test]
fn the_line_that_approvals_are_made_of_is_fixed() {
    let name = Name::parse("www.example.com").unwrap();
    let rdata = |value| Rdata::parse(RecordType::A, value).unwrap();
    let before = LiveRecord {
        rdata: rdata("192.0.2.1"),
        id: RecordId("r1".into()),
        ttl: Ttl(300),
        attributes: attributes(false, &[]),
        comment: "not part of it".into(),
        read_only: false,
    };
    let after = Record {
        name: name.clone(),
        rdata: rdata("192.0.2.2"),
        ttl: Ttl(1),
        attributes: attributes(true, &["team:a", "env:b"]),
        comment: "".into(),
    };
    let change = Change {
        operation: Operation::Update,
        name,
        rtype: RecordType::A,
        edits: vec![Edit::Update { before, after, role: Role::Data }],
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Wanted,
        holders: Vec::new(),
    };
    let expected = [
        "Update",
        "www.example.com",
        "A",
        "A 300 192.0.2.1 proxied=false flattenCNAME=false ipv4Only=false ipv6Only=false tags=",
        "A 1 192.0.2.2 proxied=true flattenCNAME=false ipv4Only=false ipv6Only=false tags=team:a\u{1f}env:b",
    ];
    assert_eq!(hash_line(&change), expected.join("\t"));
}

#[test]
fn attributes_that_only_some_providers_have_follow_quoted_where_they_are_set() {
    let name = Name::parse("www.example.com").unwrap();
    let attributes = Attributes::of("setIdentifier", "blue\t\"1\" a=b")
        .with("aws/evaluate", true)
        .with(TAGS, "a text under the name of a list");
    let record = Record {
        name: name.clone(),
        rdata: Rdata::parse(RecordType::A, "192.0.2.1").unwrap(),
        ttl: Ttl(300),
        attributes,
        comment: "".into(),
    };
    let change = Change {
        operation: Operation::Create,
        name,
        rtype: RecordType::A,
        edits: vec![Edit::Create { record, role: Role::Data }],
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Wanted,
        holders: Vec::new(),
    };
    let expected = concat!(
        "Create\twww.example.com\tA\t\t",
        "A 300 192.0.2.1 proxied=false flattenCNAME=false ipv4Only=false ipv6Only=false tags=",
        r#" "aws/evaluate"=true "setIdentifier"="blue\t\"1\" a=b" "tags"="a text under the name of a list""#
    );
    assert_eq!(hash_line(&change), expected);
}

#[test]
fn selectors_are_written_as_kubectl_writes_them() {
    let requirements = vec![
        Requirement::In("team".into(), vec!["a".into(), "b".into()]),
        Requirement::NotIn("env".into(), vec!["test".into()]),
        Requirement::Exists("public".into()),
        Requirement::DoesNotExist("draft".into()),
    ];
    let text = LabelSelector { requirements }.to_string();
    assert_eq!(text, "team in (a,b),env notin (test),public,!draft");
    assert_eq!(LabelSelector::default().to_string(), "");
}
