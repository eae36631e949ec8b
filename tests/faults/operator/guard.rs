//! What the guard remembers outlives the process.

use cloudflare_sim::{Fault, When};
use control_plane::eventually;
use futures::{StreamExt, stream};
use serde_json::Value;

use crate::support::{Lab, condition, lab::DEADLINE};

const COUNT: usize = 50;
const APPROVE: &str = "zonekeeper.dev/approve-plan";

/// A zone with 50 RecordSets, all Ready.
async fn full(name: &str) -> Lab<'static> {
    let lab = Lab::new(name).await;
    let manifests: Vec<_> = (0..COUNT).map(|number| lab.a(&name_of(number), "192.0.2.1")).collect();
    stream::iter(&manifests)
        .for_each_concurrent(8, |manifest| async { drop(lab.apply(manifest).await) })
        .await;
    lab.wait("DNSZone", "zone", "all are there", |object| object["status"]["records"]["owned"] == COUNT)
        .await;
    lab.wait_ready("DNSZone", "zone").await;
    lab
}

fn name_of(number: usize) -> String {
    format!("n{number:02}")
}

async fn delete(lab: &Lab<'_>, numbers: std::ops::Range<usize>) {
    stream::iter(numbers)
        .for_each_concurrent(8, |number| async move { lab.delete("RecordSet", &name_of(number)).await })
        .await;
}

async fn held(lab: &Lab<'_>, count: usize) -> Value {
    lab.wait("DNSZone", "zone", &format!("{count} are held"), |object| {
        condition(object, "Held").is("True") && object["status"]["plan"]["held"] == count
    })
    .await
}

fn hash(zone: &Value) -> String {
    zone["status"]["plan"]["hash"].as_str().expect("a hash").to_owned()
}

/// Deletes 20 %, which pass, and after a SIGKILL another 20 %, which are held.
async fn twenty_and_twenty(lab: &Lab<'_>) -> Value {
    delete(lab, 0..10).await;
    eventually("the first are gone", DEADLINE, async || match lab.contents().len() {
        40 => Ok(()),
        other => Err(other),
    })
    .await;
    lab.kill().await;
    delete(lab, 10..20).await;
    lab.run();
    let zone = held(lab, 10).await;
    assert_eq!(lab.contents().len(), 40);
    zone
}

#[tokio::test]
async fn the_window_outlives_a_kill() {
    let lab = full("window").await;
    let zone = twenty_and_twenty(&lab).await;
    assert_eq!(zone["status"]["guard"]["ownedAtStart"], COUNT);
    // Another kill changes nothing.
    lab.kill().await;
    lab.run();
    lab.scan().await;
    held(&lab, 10).await;
    assert_eq!(lab.contents().len(), 40);
    lab.annotate("DNSZone", "zone", APPROVE, &hash(&zone)).await;
    lab.wait_ready("DNSZone", "zone").await;
    assert_eq!(lab.contents().len(), 30);
}

#[tokio::test]
async fn an_approval_is_not_lost_by_a_kill_and_works_once() {
    for (name, when) in [("approved-before", When::Before), ("approved-after", When::After)] {
        let lab = full(name).await;
        let zone = twenty_and_twenty(&lab).await;
        let approved = hash(&zone);
        // Killed when what was approved is on its way, or has happened without the operator's knowledge.
        lab.sim.faults(vec![Fault::hold_from_write(1, when)]);
        lab.annotate("DNSZone", "zone", APPROVE, &approved).await;
        eventually(
            "the deletes on their way",
            DEADLINE,
            async || if lab.sim.held() > 0 { Ok(()) } else { Err(()) },
        )
        .await;
        lab.kill().await;
        eventually("it is gone", DEADLINE, async || if lab.sim.held() == 0 { Ok(()) } else { Err(()) }).await;
        lab.sim.faults(Vec::new());
        assert_eq!(lab.contents().len(), if when == When::Before { 40 } else { 30 });
        lab.run();
        // What a person has approved is done.
        for number in 10..20 {
            lab.wait_gone("RecordSet", &name_of(number)).await;
        }
        lab.wait_ready("DNSZone", "zone").await;
        assert_eq!(lab.contents().len(), 30);
        // The same changes once more are not covered by it.
        for number in 10..20 {
            lab.ready(&lab.a(&name_of(number), "192.0.2.1")).await;
        }
        // What came within the window does not count; that is forgotten at a restart, the window is not.
        lab.kill().await;
        lab.run();
        lab.scan().await;
        delete(&lab, 10..20).await;
        let zone = held(&lab, 10).await;
        assert_eq!(hash(&zone), approved, "it is the same plan");
        lab.scan().await;
        lab.kill().await;
        lab.run();
        lab.scan().await;
        held(&lab, 10).await;
        assert_eq!(lab.contents().len(), 40);
    }
}
