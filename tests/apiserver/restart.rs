//! The operator ends and begins again, in the middle of its work too; and several releases side by side.

use std::time::Duration;

use control_plane::eventually;
use futures::{StreamExt, stream};
use serde_json::json;

use crate::support::{Lab, condition};

#[tokio::test]
async fn a_second_start_writes_nothing() {
    let lab = Lab::new("second-start").await;
    // A zone that may concern every RecordSet, and that comes before the one that takes them.
    let domain = format!("first.{}", lab.domain);
    lab.sim.zone(&domain, cloudflare_sim::Plan::Free);
    let taken = json!([{"selector": {"matchLabels": {"dns": "public"}}}]);
    lab.ready(&lab.zone_of(&domain).named("first").with("recordsFrom", taken)).await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.records("txt", "TXT", &["v=spf1 -all"])).await;
    lab.ready(&lab.records("@", "MX", &["10 mail.example.net."])).await;
    lab.scan().await;
    let versions = async || {
        let mut versions = Vec::new();
        let names = [("RecordSet", "www"), ("RecordSet", "txt"), ("RecordSet", "apex"), ("DNSZone", "zone")];
        for (kind, name) in names {
            versions
                .push(lab.get(kind, name).await.expect("it is there")["metadata"]["resourceVersion"].clone());
        }
        versions
    };
    lab.kill().await;
    let (before, mark, requests) = (versions().await, lab.mark(), lab.sim.requests());
    lab.run();
    eventually("the zone is read", Duration::from_secs(20), async || {
        let entries = lab.sim.journal_since(mark);
        let is_read = entries.iter().any(|entry| entry.path.ends_with("/dns_records"));
        if is_read { Ok(()) } else { Err(lab.sim.requests() - requests) }
    })
    .await;
    // A new object is a barrier: the first look is over when it is Ready.
    lab.ready(&lab.a("barrier", "192.0.2.9")).await;
    assert_eq!(lab.changes_since(mark), ["+ barrier A 192.0.2.9"]);
    assert_eq!(versions().await[..3], before[..3]);
}

#[tokio::test]
async fn what_happened_while_it_was_down_is_made_up_for() {
    let lab = Lab::new("down").await;
    for name in ["deleted", "stripped", "edited", "drifted", "renamed"] {
        lab.ready(&lab.a(name, "192.0.2.1")).await;
    }
    lab.kill().await;
    lab.delete("RecordSet", "deleted").await;
    // Gone without a trace: its finalizer was removed by hand.
    lab.patch("RecordSet", "stripped", json!({"metadata": {"finalizers": null}})).await;
    lab.delete("RecordSet", "stripped").await;
    lab.wait_gone("RecordSet", "stripped").await;
    lab.apply(&lab.a("edited", "192.0.2.2")).await;
    lab.apply(&lab.a("renamed", "192.0.2.1").with("name", lab.at("new"))).await;
    lab.sim.edit(&lab.zone, &lab.id_of("drifted", "A"), json!({"content": "192.0.2.66", "comment": ""}));
    lab.apply(&lab.a("created", "192.0.2.3")).await;
    lab.run();
    lab.wait_gone("RecordSet", "deleted").await;
    lab.wait_contents(&[
        "created A 192.0.2.3",
        "drifted A 192.0.2.1",
        "edited A 192.0.2.2",
        "new A 192.0.2.1",
    ])
    .await;
    for name in ["edited", "drifted", "renamed", "created"] {
        lab.wait_ready("RecordSet", name).await;
    }
}

#[tokio::test]
async fn killed_in_the_middle_of_its_work_it_ends_up_at_the_same_place() {
    let lab = Lab::new("killed").await;
    lab.wait_ready("DNSZone", "zone").await;
    let manifests: Vec<_> = (0..60).map(|number| lab.a(&format!("n{number:03}"), "192.0.2.1")).collect();
    for half in manifests.chunks(20) {
        let before = lab.sim.writes();
        let applied =
            stream::iter(half).for_each_concurrent(8, |manifest| async { drop(lab.apply(manifest).await) });
        let killed = async {
            eventually("it writes", Duration::from_secs(20), async || {
                if lab.sim.writes() > before { Ok(()) } else { Err(lab.sim.writes()) }
            })
            .await;
            lab.kill().await;
            lab.run();
        };
        tokio::join!(applied, killed);
    }
    for manifest in &manifests {
        lab.wait_ready("RecordSet", manifest.0["metadata"]["name"].as_str().expect("a name")).await;
    }
    assert_eq!(lab.contents().len(), 60);
    lab.scan().await;
    let mark = lab.mark();
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
}

#[tokio::test]
async fn each_release_takes_the_providers_that_name_it() {
    let lab = Lab::new("release-one").await;
    lab.wait_ready("DNSZone", "zone").await;
    // A provider, a zone and a record of another release, which does not run yet.
    let other = Lab::ready_to_run("release-two").await;
    other.apply(&other.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.scan().await;
    for (kind, name) in [("DNSProvider", other.home.name()), ("DNSZone", "zone"), ("RecordSet", "www")] {
        let object = other.get(kind, name).await.expect("it is there");
        assert_eq!(object["status"]["observedGeneration"], -1, "{object}");
        assert!(object["metadata"]["finalizers"].is_null(), "{object}");
    }
    assert_eq!(other.sim.requests(), 0);
    other.run();
    other.wait_ready("RecordSet", "www").await;
    assert_eq!(other.contents(), ["www A 192.0.2.1"]);
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
}

#[tokio::test]
async fn an_object_moves_from_one_release_to_another() {
    let (one, two) = (Lab::new("from-release").await, Lab::new("to-release").await);
    two.apply(&two.dns_zone().with("allowedRecords", json!([{"namespaces": {"from": "All"}}]))).await;
    one.ready(&one.a("www", "192.0.2.1")).await;
    let moved = one.a("www", "192.0.2.1").with("name", two.at("www"));
    one.apply(&moved).await;
    let object = one
        .wait("RecordSet", "www", "in the other release", |object| {
            condition(object, "Ready").is("True")
                && object["status"]["zones"][0]["namespace"] == two.home.name()
        })
        .await;
    assert_eq!(object["status"]["zones"].as_array().map(Vec::len), Some(1), "{object}");
    assert_eq!(two.contents(), ["www A 192.0.2.1"]);
    one.wait_contents(&[]).await;
}
