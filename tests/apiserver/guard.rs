//! Many deletes at once wait for a person; nothing else does.

use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::support::{Lab, condition, lab::DEADLINE, objects};

const COUNT: usize = 200;

/// A zone with 200 RecordSets, all Ready.
async fn full(name: &str) -> Lab<'static> {
    let lab = Lab::new(name).await;
    let manifests: Vec<_> = (0..COUNT).map(|number| lab.a(&format!("n{number:03}"), "192.0.2.1")).collect();
    stream::iter(&manifests)
        .for_each_concurrent(16, |manifest| async { drop(lab.apply(manifest).await) })
        .await;
    lab.wait("DNSZone", "zone", "all are there", |object| object["status"]["records"]["owned"] == COUNT)
        .await;
    lab.wait_ready("DNSZone", "zone").await;
    lab
}

fn hash(zone: &Value) -> String {
    zone["status"]["plan"]["hash"].as_str().expect("a hash").to_owned()
}

async fn delete(lab: &Lab<'_>, numbers: std::ops::Range<usize>) {
    stream::iter(numbers)
        .for_each_concurrent(
            16,
            |number| async move { lab.delete("RecordSet", &format!("n{number:03}")).await },
        )
        .await;
}

/// RecordSets that are deleted and still there. Which of many are let go first is not for a test to say.
async fn leaving(lab: &Lab<'_>) -> Vec<Value> {
    let api = objects::api(lab.home.client(), "RecordSet", lab.home.name());
    let all = api.list(&ListParams::default()).await.expect("a list").items;
    let leaving = all.iter().filter(|object| object.metadata.deletion_timestamp.is_some());
    leaving.map(objects::json).collect()
}

#[tokio::test]
async fn forty_percent_deleted_at_once_are_held_and_released_once_by_approval() {
    let lab = full("at-once").await;
    delete(&lab, 0..80).await;
    let zone = lab.wait("DNSZone", "zone", "all are held", |zone| zone["status"]["plan"]["held"] == 80).await;
    // None of them went before the guard had seen them all.
    assert_eq!(lab.contents().len(), COUNT);
    assert_eq!(condition(&zone, "Ready").reason, "Held");
    assert_eq!(condition(&zone, "Stalled").status, "True");
    assert!(condition(&zone, "Held").message.contains("zonekeeper.dev/approve-plan"));
    let held = zone["status"]["plan"]["held"].as_u64();
    control_plane::eventually("each that is held says so", DEADLINE, async || {
        let leaving = leaving(&lab).await;
        let is_held = |object: &Value| condition(object, "Ready").reason == "Held";
        let all_say_so = leaving.iter().all(is_held) && Some(leaving.len() as u64) == held;
        if all_say_so { Ok(()) } else { Err((leaving.len(), held)) }
    })
    .await;
    // Unrelated edits and new records are applied meanwhile.
    lab.ready(&lab.a("n150", "192.0.2.2")).await;
    lab.ready(&lab.a("new", "192.0.2.3")).await;
    assert_eq!(lab.record("n150", "A")["content"], "192.0.2.2");
    let zone = lab.wait("DNSZone", "zone", "counted", |object| condition(object, "Held").is("True")).await;
    let approved = hash(&zone);
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", &approved).await;
    lab.wait_ready("DNSZone", "zone").await;
    assert_eq!(lab.contents().len(), COUNT - 80 + 1);
    control_plane::eventually("they are gone", DEADLINE, async || match leaving(&lab).await.len() {
        0 => Ok(()),
        left => Err(left),
    })
    .await;
    // The approval is used up: what comes now within the window is held again.
    delete(&lab, 80..85).await;
    let zone =
        lab.wait("DNSZone", "zone", "held again", |object| object["status"]["plan"]["held"] == 5).await;
    assert_ne!(hash(&zone), approved);
    assert_eq!(lab.contents().len(), COUNT - 80 + 1);
    assert_eq!(zone["status"]["guard"]["usedApprovals"][0], approved);
}

#[tokio::test]
async fn forty_percent_deleted_in_slices_of_five_are_held_beyond_thirty() {
    let lab = full("slices").await;
    for slice in 0..6 {
        delete(&lab, slice * 10..slice * 10 + 10).await;
        let api = objects::api(lab.home.client(), "RecordSet", lab.home.name());
        control_plane::eventually("the slice is gone", control_plane::DEADLINE, async || {
            let left = api.list_metadata(&ListParams::default()).await.expect("a list").items.len();
            if left == COUNT - slice * 10 - 10 { Ok(()) } else { Err(left) }
        })
        .await;
    }
    assert_eq!(lab.contents().len(), COUNT - 60);
    // A restart does not forget the window.
    lab.kill().await;
    lab.run();
    delete(&lab, 60..70).await;
    lab.wait("DNSZone", "zone", "held", |object| object["status"]["plan"]["held"] == 10).await;
    lab.wait_reason("DNSZone", "zone", "Held").await;
    delete(&lab, 70..80).await;
    let zone = lab.wait("DNSZone", "zone", "held", |object| object["status"]["plan"]["held"] == 20).await;
    assert_eq!(lab.contents().len(), COUNT - 60);
    lab.ready(&lab.a("n150", "192.0.2.2")).await;
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", &hash(&zone)).await;
    lab.wait_ready("DNSZone", "zone").await;
    assert_eq!(lab.contents().len(), COUNT - 80);
}

#[tokio::test]
async fn a_small_zone_lets_three_deletes_pass_per_window() {
    let lab = Lab::new("small").await;
    for number in 0..6 {
        lab.ready(&lab.a(&format!("n{number:03}"), "192.0.2.1")).await;
    }
    for number in 0..3 {
        lab.delete("RecordSet", &format!("n{number:03}")).await;
        lab.wait_gone("RecordSet", &format!("n{number:03}")).await;
    }
    lab.delete("RecordSet", "n003").await;
    let message = lab.wait_reason("RecordSet", "n003", "Held").await;
    assert!(message.contains("approve-plan"), "{message}");
    assert_eq!(lab.contents().len(), 3);
    // The release annotation lets the object go; its record stays.
    lab.annotate("RecordSet", "n003", "zonekeeper.dev/release", "true").await;
    lab.wait_gone("RecordSet", "n003").await;
    assert_eq!(lab.contents().len(), 3);
}

#[tokio::test]
async fn apex_ns_is_always_held() {
    let lab = Lab::new("apex").await;
    lab.ready(&lab.records("@", "NS", &["ns1.example.net."]).named("ns")).await;
    let message = lab.not_ready(&lab.records("@", "NS", &["ns2.example.net."]).named("ns"), "Held").await;
    assert!(message.contains("NS and SOA"), "{message}");
    assert_eq!(lab.contents(), ["@ NS ns1.example.net"]);
}

#[tokio::test]
async fn deletes_one_after_the_other_are_judged_together_and_nothing_else_waits() {
    let lab = full("settling").await;
    lab.apply(&lab.dns_zone().with("guard", json!({"settle": "15s"}))).await;
    for number in 0..80 {
        lab.delete("RecordSet", &format!("n{number:03}")).await;
    }
    // Creates, updates and changes of type go on meanwhile.
    lab.ready(&lab.a("new", "192.0.2.3")).await;
    lab.ready(&lab.a("n150", "192.0.2.2")).await;
    lab.ready(&lab.records("n151", "CNAME", &["new.example.net."])).await;
    let zone = lab.get("DNSZone", "zone").await.expect("it is there");
    assert_eq!(zone["status"]["plan"]["held"].as_u64().unwrap_or_default(), 0, "nothing is judged yet");
    let zone = lab.wait("DNSZone", "zone", "all are held", |zone| zone["status"]["plan"]["held"] == 80).await;
    assert_eq!(lab.contents().len(), COUNT + 1);
    assert_eq!(zone["status"]["guard"]["deletes"].as_u64().unwrap_or_default(), 0);
}

#[tokio::test]
async fn a_lone_delete_is_gone_soon_and_says_that_it_goes() {
    let lab = full("lone").await;
    let begun = Instant::now();
    lab.delete("RecordSet", "n000").await;
    lab.wait_reason("RecordSet", "n000", "Terminating").await;
    lab.wait_gone("RecordSet", "n000").await;
    // Two seconds, and what a busy machine adds to that.
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(lab.contents().len(), COUNT - 1);
    lab.wait("DNSZone", "zone", "nothing is left", |zone| zone["status"]["plan"]["deletes"] == 0).await;
}

#[tokio::test]
async fn a_crash_while_deletes_settle_loses_nothing() {
    let lab = full("settling-crash").await;
    lab.apply(&lab.dns_zone().with("guard", json!({"settle": "60s"}))).await;
    lab.delete("RecordSet", "n000").await;
    lab.wait("DNSZone", "zone", "the plan shows it", |zone| zone["status"]["plan"]["deletes"] == 1).await;
    lab.kill().await;
    assert_eq!(lab.contents().len(), COUNT);
    lab.run();
    lab.wait("DNSZone", "zone", "it is found again", |zone| zone["status"]["plan"]["deletes"] == 1).await;
    // Suspended and resumed, and judged at once from then on.
    lab.apply(&lab.dns_zone().with("guard", json!({"settle": "60s"})).with("suspend", true)).await;
    lab.wait_condition("DNSZone", "zone", "Ready", "True", "Suspended").await;
    assert_eq!(lab.contents().len(), COUNT);
    lab.apply(&lab.dns_zone().with("guard", json!({"settle": "0s"}))).await;
    lab.wait_gone("RecordSet", "n000").await;
    assert_eq!(lab.contents().len(), COUNT - 1);
}

#[tokio::test]
async fn the_mass_delete_of_one_namespace_holds_no_other() {
    let lab = Lab::ready_to_run("tenants").await;
    lab.apply(&lab.dns_zone().with("allowedRecords", json!([{"namespaces": {"from": "All"}}]))).await;
    lab.run();
    let (many, few) = (lab.tenant(json!({})).await, lab.tenant(json!({})).await);
    let wish =
        |number: usize, namespace: &str| lab.a(&format!("n{number:03}"), "192.0.2.1").in_namespace(namespace);
    let mut wishes: Vec<_> = (0..20).map(|number| wish(number, many.name())).collect();
    wishes.extend((20..22).map(|number| wish(number, few.name())));
    stream::iter(&wishes).for_each_concurrent(8, |wish| async { drop(lab.ready(wish).await) }).await;
    for number in 0..20 {
        lab.delete("RecordSet", &format!("{}/n{number:03}", many.name())).await;
    }
    lab.delete("RecordSet", &format!("{}/n020", few.name())).await;
    lab.wait("DNSZone", "zone", "20 are held", |zone| zone["status"]["plan"]["held"] == 20).await;
    lab.wait_gone("RecordSet", &format!("{}/n020", few.name())).await;
    // And while they are held, too.
    lab.delete("RecordSet", &format!("{}/n021", few.name())).await;
    lab.wait_gone("RecordSet", &format!("{}/n021", few.name())).await;
    assert_eq!(lab.contents().len(), 20);
}
