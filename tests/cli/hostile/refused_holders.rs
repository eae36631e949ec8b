//! Objects that are refused keep what they hold, against everybody who waits for it.

use serde_json::{Value, json};

use crate::support::{Lab, Manifest, records, zone};

/// How ownership is remembered: every case must hold for both.
async fn labs() -> [Lab; 2] {
    [Lab::start().await, Lab::with_txt(json!({})).await]
}

fn shared(share: bool) -> Manifest {
    let grants: Value = json!([{"namespaces": {"from": "All"}, "share": share, "adoption": "Force"}]);
    zone("example.com").with("allowedRecords", grants)
}

fn x1(namespace: &str, address: &str) -> Manifest {
    records("x.example.com", "A", &[address]).named("x1").in_namespace(namespace)
}

fn cname(namespace: &str) -> Manifest {
    records("x.example.com", "CNAME", &["evil.example.net"]).named("x1").in_namespace(namespace)
}

/// The data in the zone, markers aside.
fn data(lab: &Lab) -> Vec<String> {
    let mut contents = lab.contents();
    contents.retain(|line| !line.contains("heritage="));
    contents
}

/// Applies, and finds the zone as before.
async fn nothing_moves(lab: &Lab, wishes: &[Manifest], reasons: &[&str]) {
    let before = lab.contents();
    lab.want(wishes);
    let run = lab.apply().await.exits(1);
    for reason in reasons {
        assert!(run.stdout.contains(reason), "{reason}\n{run}");
    }
    assert_eq!(lab.contents(), before, "{run}");
}

#[tokio::test]
async fn another_namespace_gets_nothing_from_a_refused_holder() {
    for waiting in [x1("bbb", "192.0.2.2"), x1("bbb", "192.0.2.2").with("adoption", "Force"), cname("bbb")] {
        for lab in labs().await {
            lab.declare(shared(false));
            lab.applied(&[x1("aaa", "192.0.2.1")]).await;
            let refused = x1("aaa", "192.0.2.1").with("ttl", 5);
            let reasons = ["recordset aaa/x1: InvalidValue", "recordset bbb/x1: Conflict"];
            nothing_moves(&lab, &[refused, waiting.clone()], &reasons).await;
        }
    }
}

#[tokio::test]
async fn a_neighbour_of_the_same_namespace_leaves_a_refused_holder_its_value() {
    let part = |name: &str, value: &str| records("x.example.com", "A", &[value]).named(name);
    for (ttl, reason) in [(5, "recordset default/b: InvalidValue"), (600, "recordset default/b: Conflict")] {
        let refused = part("b", "192.0.2.2").with("ttl", ttl);
        for lab in labs().await {
            lab.applied(&[part("a", "192.0.2.1"), part("b", "192.0.2.2")]).await;
            nothing_moves(&lab, &[part("a", "192.0.2.1"), refused.clone()], &[reason]).await;
            lab.want(&[part("a", "192.0.2.3"), refused.clone()]);
            lab.apply().await.exits(1);
            let values = lab.values("x.example.com", "A");
            assert!(
                values.contains(&"192.0.2.2".into()) && values.contains(&"192.0.2.3".into()),
                "{values:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_grant_to_share_that_is_taken_back_takes_no_value() {
    for lab in labs().await {
        lab.declare(shared(true));
        let both = [x1("aaa", "192.0.2.1"), x1("bbb", "192.0.2.2")];
        lab.applied(&both).await;
        assert_eq!(lab.values("x.example.com", "A"), ["192.0.2.1", "192.0.2.2"]);
        for zone in [shared(false), zone("example.com")] {
            lab.declare(zone);
            nothing_moves(&lab, &both, &["recordset bbb/x1: "]).await;
        }
    }
}

#[tokio::test]
async fn a_renamed_object_that_is_refused_loses_nothing() {
    let www = records("www.example.com", "A", &["192.0.2.1"]).named("www");
    let renamed = www.clone().named("web");
    let refusals = [
        (renamed.clone().with("ttl", 5), "InvalidValue"),
        (records("www.example.com", "MX", &["no number"]).named("web"), "InvalidValue"),
        (renamed.clone().in_namespace("elsewhere"), "NotAllowed"),
        (
            renamed.without("values").with("valuesFrom", json!([{"addressSourceRef": {"name": "none"}}])),
            "RefNotFound",
        ),
    ];
    for (refused, reason) in refusals {
        for lab in labs().await {
            lab.applied(std::slice::from_ref(&www)).await;
            nothing_moves(&lab, std::slice::from_ref(&refused), &[reason]).await;
            assert_eq!(data(&lab), ["www.example.com A 192.0.2.1"]);
        }
    }
}
