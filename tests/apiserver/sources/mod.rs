//! Ingresses, Services, routes and others become records, and no accident of theirs becomes an outage.

mod accidents;
mod cloudflare_operator;
mod gateway;
mod kinds;
mod published;
mod status;
mod templates;
mod tenancy;

use control_plane::{DEADLINE, eventually};
use serde_json::{Value, json};

use crate::support::{
    Lab, Manifest,
    sources::{GATEWAY_API, accept, balance, gateway, give_addresses, http_route, ingress, route, service},
};

/// A lab whose zone takes source objects of these kinds from everywhere.
async fn lab_with(name: &str, kinds: &[&str]) -> Lab<'static> {
    let lab = Lab::ready_to_run(name).await;
    lab.apply(&reading(&lab, kinds)).await;
    lab.run();
    lab.wait_ready("DNSZone", "zone").await;
    lab
}

/// The zone, reading these kinds in its namespace and others.
fn reading(lab: &Lab<'_>, kinds: &[&str]) -> Manifest {
    read_as(lab, json!({"kinds": kinds}))
}

fn read_as(lab: &Lab<'_>, sources: Value) -> Manifest {
    let grant = json!([{"namespaces": {"from": "All"}, "adoption": "Identical"}]);
    lab.dns_zone().with("sources", sources).with("allowedRecords", grant)
}

/// Waits for an Event of this reason, and returns what it says.
async fn told(lab: &Lab<'_>, kind: &str, name: &str, reason: &str) -> String {
    eventually(&format!("{kind} {name}: {reason}"), DEADLINE, async || {
        let events = lab.events(kind, name).await;
        match events.iter().find(|event| event.reason == reason) {
            Some(event) => Ok(event.note.clone()),
            None => Err(events),
        }
    })
    .await
}

/// Has the zone read twice, before and after a restart of the operator: it must look like this both times.
async fn stays(lab: &Lab<'_>, expected: &[&str]) {
    lab.scan().await;
    assert_eq!(lab.contents(), expected);
    lab.kill().await;
    lab.run();
    lab.scan().await;
    assert_eq!(lab.contents(), expected, "after a restart");
}
