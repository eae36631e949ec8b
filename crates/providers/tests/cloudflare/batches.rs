//! Writing at Cloudflare: full batches, bisected where one is refused, and never through what belongs together.

use crate::support::{
    Answer, At, Stub, all_applied, change, cleared, create, create_marked, creating, delete, domain, name,
    operations, provider, record, update,
};
use cloudflare_sim::{Action, Fault, Knobs, Plan, knobs};
use serde_json::{Value, json};
use zonekeeper_kernel::{
    plan::{Change, Edit, Operation, Role},
    rdata::{RecordType, row},
    record::Ttl,
};
use zonekeeper_providers::{Outcome, Provider};

fn hosts(count: usize) -> Vec<Change> {
    (0..count).map(|i| create("A", &format!("host-{i}"), "192.0.2.1")).collect()
}

#[tokio::test]
async fn ten_thousand_creates_take_three_calls_on_a_paid_plan() {
    let at = At::plan(Plan::Enterprise).await;
    let done = std::sync::Mutex::new(Vec::new());
    let outcomes = at.access.apply(&cleared(hosts(10_000)), &|count| done.lock().unwrap().push(count)).await;
    all_applied(&outcomes);
    let sizes: Vec<usize> = at.writes().iter().map(|entry| operations(&entry.body)).collect();
    assert_eq!(sizes, [3_500, 3_500, 3_000]);
    assert_eq!(*done.lock().unwrap(), [3_500, 7_000, 10_000]);
}

#[tokio::test]
async fn a_batch_has_200_operations_on_the_free_plan() {
    let at = At::plan(Plan::Free).await;
    all_applied(&at.apply(hosts(500)).await);
    let sizes: Vec<usize> = at.writes().iter().map(|entry| operations(&entry.body)).collect();
    assert_eq!(sizes, [200, 200, 100]);
}

#[tokio::test]
async fn a_smaller_limit_than_the_plan_says_is_learned_once() {
    for status in [400, 413] {
        let stub =
            Stub::start(move |asked| match (asked.path.ends_with("/batch"), operations(&asked.body)) {
                (false, _) => Answer::zone("pro"),
                (true, 0..=200) => Answer::applied(&asked.body),
                (true, size) => Answer::error(
                    status,
                    9400,
                    &format!("Batch of {size} operations exceeds the limit of 200."),
                ),
            })
            .await;
        let access = provider(&stub.url(), |_| {}).open(&domain(), None).await.unwrap();
        all_applied(&access.apply(&cleared(hosts(1_000)), &|_| {}).await);
        let sizes: Vec<usize> = stub.batches().iter().map(|asked| operations(&asked.body)).collect();
        assert_eq!(sizes, [1_000, 200, 200, 200, 200, 200], "one refusal teaches the limit");
        all_applied(&access.apply(&cleared(hosts(400)), &|_| {}).await);
        assert_eq!(stub.batches().len(), 8, "and it stays learned");
    }
}

#[tokio::test]
async fn a_proxy_that_takes_only_small_bodies_is_learned_too() {
    let stub = Stub::start(move |asked| match (asked.path.ends_with("/batch"), operations(&asked.body)) {
        (false, _) => Answer::zone("free"),
        (true, 0..=60) => Answer::applied(&asked.body),
        (true, _) => Answer::html(413, "<html>Request Entity Too Large</html>"),
    })
    .await;
    let access = provider(&stub.url(), |_| {}).open(&domain(), None).await.unwrap();
    all_applied(&access.apply(&cleared(hosts(200)), &|_| {}).await);
    let sizes: Vec<usize> = stub.batches().iter().map(|asked| operations(&asked.body)).collect();
    assert_eq!(sizes, [200, 100, 50, 50, 50, 50]);
}

#[tokio::test]
async fn an_update_is_a_patch_in_place_of_only_what_differs() {
    let at = At::plan(Plan::Enterprise).await;
    all_applied(
        &at.apply(vec![create("A", "www", "192.0.2.1"), create("MX", "mail", "10 mx.example.net")]).await,
    );
    let before = at.live("www").await;
    let mail = at.live("mail").await;
    let steps: Vec<(Change, Value)> = vec![
        (
            update(
                before.clone(),
                zonekeeper_kernel::record::Record { ttl: Ttl(600), ..before.at(&name("www")) },
            ),
            json!({"id": &*before.id.0, "ttl": 600}),
        ),
        (
            update(mail.clone(), record("MX", "mail", "20 mx.example.net")),
            json!({"id": &*mail.id.0, "priority": 20, "content": "mx.example.net"}),
        ),
    ];
    for (change, expected) in steps {
        all_applied(&at.apply(vec![change]).await);
        let last = at.writes().pop().unwrap();
        assert_eq!(last.body, json!({"patches": [expected]}));
        assert_eq!(last.effects.len(), 1);
        let effect = &last.effects[0];
        assert!(effect.before.is_some() && effect.after.is_some(), "an update, no delete and create");
        assert_eq!(effect.id, expected["id"].as_str().unwrap());
    }
    let comment =
        zonekeeper_kernel::record::Record { comment: "ours".into(), ..at.live("www").await.at(&name("www")) };
    all_applied(&at.apply(vec![update(at.live("www").await, comment)]).await);
    assert_eq!(
        at.writes().pop().unwrap().body["patches"][0],
        json!({"id": &*before.id.0, "comment": "ours"})
    );
}

#[tokio::test]
async fn a_change_of_type_is_one_call() {
    let at = At::plan(Plan::Free).await;
    all_applied(&at.apply(vec![create("A", "www", "192.0.2.1")]).await);
    let before = at.live("www").await;
    all_applied(&at.apply(vec![update(before.clone(), record("CNAME", "www", "target.example.net"))]).await);
    let after = at.live("www").await;
    assert_eq!(after.rdata.to_string(), "target.example.net.");
    assert_eq!(after.id, before.id);
    assert_eq!(at.writes().len(), 2);
}

#[tokio::test]
async fn one_bad_record_among_five_hundred_blocks_none_of_the_others() {
    let at = At::plan(Plan::Enterprise).await;
    let mut changes = hosts(500);
    changes.insert(321, create("CNAME", "bad", "bad.example.com"));
    let outcomes = at.apply(changes).await;
    let refused: Vec<usize> = (0..outcomes.len()).filter(|at| outcomes[*at].error().is_some()).collect();
    assert_eq!(refused, [321]);
    let Outcome::Refused(error) = &outcomes[321] else { panic!("{:?}", outcomes[321]) };
    assert_eq!(error.reason(), "ProviderRejected");
    let message = error.to_string();
    for part in ["bad.example.com CNAME", "CNAME content cannot reference itself", "9039", "correct"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(at.sim.records(&at.zone).len(), 500);
    let calls = at.writes().len();
    assert!(calls <= 20, "{calls} calls: about twice the logarithm of 500");
}

#[tokio::test]
async fn several_bad_records_are_each_named() {
    let at = At::plan(Plan::Enterprise).await;
    let mut changes = hosts(100);
    for bad in [0, 50, 51, 99] {
        changes[bad] = create("CNAME", &format!("bad-{bad}"), &format!("bad-{bad}.example.com"));
    }
    let outcomes = at.apply(changes).await;
    let refused: Vec<usize> = (0..outcomes.len()).filter(|at| outcomes[*at].error().is_some()).collect();
    assert_eq!(refused, [0, 50, 51, 99]);
    for at in refused {
        assert!(outcomes[at].error().unwrap().to_string().contains(&format!("bad-{at}.example.com")));
    }
}

#[tokio::test]
async fn data_and_its_marker_are_never_in_different_calls() {
    // An odd limit, and bad records that force bisection.
    let at = At::with(Plan::Enterprise, |settings| settings.batch_limit = Some(7)).await;
    let mut changes: Vec<Change> =
        (0..50).map(|i| create_marked(&format!("host-{i}"), "192.0.2.1")).collect();
    changes.insert(17, create("CNAME", "bad", "bad.example.com"));
    let outcomes = at.apply(changes).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.error().is_some()).count(), 1);
    for entry in at.writes() {
        let posts: Vec<&str> = entry.body["posts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|post| post["name"].as_str().unwrap())
            .collect();
        assert!(posts.len() <= 7);
        for host in posts.iter().filter(|host| host.starts_with("host-")) {
            assert!(posts.contains(&&*format!("a-{host}")), "{posts:?}");
        }
        let hosts = posts.iter().filter(|host| host.starts_with("host-")).count();
        let markers = posts.iter().filter(|host| host.starts_with("a-host-")).count();
        assert_eq!(hosts, markers, "{posts:?}");
    }
}

#[tokio::test]
async fn a_change_larger_than_a_call_goes_in_its_own_order() {
    let at = At::with(Plan::Enterprise, |settings| settings.batch_limit = Some(40)).await;
    let edits = (0..100)
        .map(|i| Edit::Create { record: record("A", "many", &format!("192.0.2.{i}")), role: Role::Data });
    all_applied(
        &at.apply(vec![change(Operation::Create, edits.collect()), create("A", "www", "192.0.2.1")]).await,
    );
    let sizes: Vec<usize> = at.writes().iter().map(|entry| operations(&entry.body)).collect();
    assert_eq!(sizes, [40, 40, 20, 1]);
}

#[tokio::test]
async fn a_lost_reply_stops_the_plan_and_says_that_nobody_knows() {
    let at = At::with(Plan::Enterprise, |settings| settings.batch_limit = Some(10)).await;
    for fault in [
        Fault::cut_after_write(2),
        Fault::nth_write(2, Action::Html(502)).after(),
        Fault::nth_write(2, Action::CutMidBody),
    ] {
        let before = at.sim.writes();
        at.sim.faults(vec![fault]);
        let prefix = before;
        let changes = (0..30).map(|i| create("A", &format!("host-{prefix}-{i}"), "192.0.2.1")).collect();
        let outcomes = at.apply(changes).await;
        assert!(outcomes[..10].iter().all(|outcome| matches!(outcome, Outcome::Applied(_))));
        assert!(outcomes[10..20].iter().all(|outcome| matches!(outcome, Outcome::Unknown(_))));
        assert!(outcomes[20..].iter().all(|outcome| matches!(outcome, Outcome::NotSent(_))));
        assert_eq!(at.sim.writes() - before, 2, "nothing is sent before the zone was read");
    }
}

#[tokio::test]
async fn an_unreachable_cloudflare_gets_nothing_and_says_so() {
    let at = At::plan(Plan::Enterprise).await;
    at.sim.shutdown();
    let mut outcomes = at.apply(hosts(3)).await;
    // A connection that was open is found closed; only a new one is known not to have carried anything.
    if matches!(outcomes[0], Outcome::Unknown(_)) {
        outcomes = at.apply(hosts(3)).await;
    }
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::NotSent(_))), "{outcomes:?}");
    let error = outcomes[0].error().unwrap();
    assert_eq!(error.reason(), "ProviderUnavailable");
    assert!(error.to_string().contains("can't connect to http://127.0.0.1"), "{error}");
}

#[tokio::test]
async fn all_21_types_are_written_as_cloudflare_wants_them() {
    let at = At::plan(Plan::Enterprise).await;
    let with_data = [
        "CAA", "CERT", "DNSKEY", "DS", "HTTPS", "LOC", "NAPTR", "SMIMEA", "SRV", "SSHFP", "SVCB", "TLSA",
        "URI",
    ];
    let types: Vec<RecordType> =
        RecordType::known().filter(|rtype| at.access.traits().capabilities.types.contain(*rtype)).collect();
    assert_eq!(types.len(), 21);
    for rtype in types {
        let value = row(rtype).unwrap().example;
        let mnemonic = rtype.to_string();
        let change = create(&mnemonic, &format!("x-{}", mnemonic.to_lowercase()), value);
        at.apply(vec![change]).await;
        let body = at.writes().pop().unwrap().body;
        let post = &body["posts"][0];
        assert_eq!(post["type"], mnemonic.as_str());
        assert_eq!(post["data"].is_object(), with_data.contains(&&*mnemonic), "{post}");
        assert_eq!(post["content"].is_string(), !with_data.contains(&&*mnemonic), "{post}");
        assert_eq!(post["priority"].is_number(), matches!(&*mnemonic, "MX" | "URI"), "{post}");
    }
}

#[tokio::test]
async fn the_order_within_a_batch_lets_a_value_move() {
    let at = At::plan(Plan::Free).await;
    all_applied(&at.apply(vec![create("CNAME", "www", "one.example.net")]).await);
    let old = at.live("www").await;
    // The post is listed first; Cloudflare carries deletes out first, and so does what we make of the answer.
    let edits = vec![
        Edit::Create { record: record("A", "www", "192.0.2.1"), role: Role::Data },
        Edit::Delete { name: name("www"), before: old, role: Role::Data },
    ];
    let outcomes = at.apply(vec![change(Operation::Update, edits)]).await;
    let [Outcome::Applied(effects)] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(effects[0].written.as_ref().unwrap().id, at.live("www").await.id);
    assert!(effects[1].written.is_none());
}

#[tokio::test]
async fn a_record_that_is_gone_or_there_already_is_read_again() {
    let at = At::plan(Plan::Free).await;
    all_applied(&at.apply(vec![create("A", "gone", "192.0.2.1"), create("A", "there", "192.0.2.1")]).await);
    let gone = at.live("gone").await;
    at.sim.remove(&at.zone, &gone.id.0);
    for (missing_record, identical_record) in [
        (knobs::MissingRecord::NotFound, knobs::IdenticalRecord::Code81058),
        (knobs::MissingRecord::BadRequest, knobs::IdenticalRecord::Code81057),
    ] {
        at.sim.knobs(Knobs { missing_record, identical_record, ..Knobs::default() });
        let changes = vec![
            delete("gone", gone.clone()),
            update(gone.clone(), record("A", "gone", "192.0.2.2")),
            create("A", "there", "192.0.2.1"),
            creating(record("TXT", &format!("good-{missing_record:?}"), "text")),
        ];
        let outcomes = at.apply(changes).await;
        for outcome in &outcomes[..3] {
            let Outcome::Refused(error) = outcome else { panic!("{outcome:?}") };
            assert_eq!(error.reason(), "Pending", "{error}");
        }
        assert!(outcomes[3].error().is_none());
    }
}
