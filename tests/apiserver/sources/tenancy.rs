//! Who may publish what from where, and who wins a host that two ask for.

use serde_json::{Value, json};

use super::{balance, ingress, lab_with, service, told};
use crate::support::Lab;

#[tokio::test]
async fn without_a_grant_there_is_an_event_and_no_record() {
    let lab = Lab::ready_to_run("no-grant").await;
    lab.apply(&lab.dns_zone().with("sources", json!({}))).await;
    lab.run();
    let tenant = lab.tenant(json!({})).await;
    let stranger = ingress(&lab, "web", &["www"]).in_namespace(tenant.name());
    lab.apply(&stranger).await;
    balance(&lab, "Ingress", &format!("{}/web", tenant.name()), &["192.0.2.1"]).await;
    let note = told(&lab, "Ingress", &format!("{}/web", tenant.name()), "NotAllowed").await;
    assert!(note.contains("allowedRecords"), "{note}");
    // The zone's own namespace needs none.
    lab.apply(&ingress(&lab, "own", &["own"])).await;
    balance(&lab, "Ingress", "own", &["192.0.2.2"]).await;
    lab.wait_contents(&["own A 192.0.2.2"]).await;
}

#[tokio::test]
async fn a_grant_says_which_namespace_may_publish_which_names() {
    let lab = Lab::ready_to_run("granted").await;
    let team = lab.tenant(json!({"team": "a"})).await;
    let grant = json!([{
        "namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}},
        "names": [format!("*.a.{}", lab.domain)],
    }]);
    lab.apply(&lab.dns_zone().with("sources", json!({})).with("allowedRecords", grant)).await;
    lab.run();
    publish(&lab, team.name(), "inside", "www.a", "192.0.2.1").await;
    publish(&lab, team.name(), "outside", "www", "192.0.2.2").await;
    lab.wait_contents(&["www.a A 192.0.2.1"]).await;
    let note = told(&lab, "Ingress", &format!("{}/outside", team.name()), "NotAllowed").await;
    assert!(note.contains("names"), "{note}");
    // The label goes: what is there stays, and says why nobody looks after it.
    lab.patch("Namespace", team.name(), json!({"metadata": {"labels": {"team": null}}})).await;
    told(&lab, "Ingress", &format!("{}/inside", team.name()), "NotAllowed").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www.a A 192.0.2.1"]);
}

#[tokio::test]
async fn two_objects_of_one_namespace_share_a_host_and_case_59() {
    let lab = lab_with("same-namespace", &["Ingress"]).await;
    let home = lab.home.name().to_owned();
    publish(&lab, &home, "one", "www", "192.0.2.1").await;
    publish(&lab, &home, "two", "www", "192.0.2.2").await;
    lab.wait_contents(&["www A 192.0.2.1", "www A 192.0.2.2"]).await;
    // They agree: when one goes, the record stays.
    balance(&lab, "Ingress", "two", &["192.0.2.1"]).await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    let mark = lab.mark();
    lab.delete("Ingress", "one").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    assert!(!lab.changes_since(mark).iter().any(|change| change.starts_with('-')), "never gone meanwhile");
}

#[tokio::test]
async fn another_namespace_loses_to_the_first_holder_and_learns_who_that_is() {
    let lab = lab_with("first-holder", &["Ingress"]).await;
    let (first, second) = (lab.tenant(json!({})).await, lab.tenant(json!({})).await);
    publish(&lab, first.name(), "web", "www", "192.0.2.1").await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    publish(&lab, second.name(), "web", "www", "192.0.2.2").await;
    let note = told(&lab, "Ingress", &format!("{}/web", second.name()), "Conflict").await;
    assert!(note.contains(&format!("ingress {}/web", first.name())), "{note}");
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    // When the holder goes, the other one has it.
    lab.delete("Ingress", &format!("{}/web", first.name())).await;
    lab.wait_contents(&["www A 192.0.2.2"]).await;
}

#[tokio::test]
async fn where_the_grant_shares_namespaces_form_one_set() {
    let lab = Lab::ready_to_run("shared-host").await;
    let grant = json!([{"namespaces": {"from": "All"}, "share": true}]);
    lab.apply(&lab.dns_zone().with("sources", json!({})).with("allowedRecords", grant)).await;
    lab.run();
    let (first, second) = (lab.tenant(json!({})).await, lab.tenant(json!({})).await);
    publish(&lab, first.name(), "web", "www", "192.0.2.1").await;
    publish(&lab, second.name(), "web", "www", "192.0.2.2").await;
    lab.wait_contents(&["www A 192.0.2.1", "www A 192.0.2.2"]).await;
    lab.delete("Ingress", &format!("{}/web", first.name())).await;
    lab.wait_contents(&["www A 192.0.2.2"]).await;
}

#[tokio::test]
async fn an_object_without_an_address_stops_no_other() {
    let lab = Lab::ready_to_run("unknown-neighbour").await;
    let grant = json!([{"namespaces": {"from": "All"}, "share": true}]);
    lab.apply(&lab.dns_zone().with("sources", json!({})).with("allowedRecords", grant)).await;
    lab.run();
    let (first, second) = (lab.tenant(json!({})).await, lab.tenant(json!({})).await);
    publish(&lab, first.name(), "a", "www", "192.0.2.1").await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    // One of its own namespace, and one of another that shares the name.
    for namespace in [first.name(), second.name()] {
        lab.apply(&ingress(&lab, "b", &["www"]).in_namespace(namespace)).await;
        told(&lab, "Ingress", &format!("{namespace}/b"), "TargetsUnknown").await;
    }
    let a = format!("{}/a", first.name());
    balance(&lab, "Ingress", &a, &["192.0.2.2"]).await;
    lab.wait_contents(&["www A 192.0.2.2"]).await;
    // What they have stays when it is not known any more, and a goes on.
    for (namespace, address) in [(first.name(), "192.0.2.8"), (second.name(), "192.0.2.9")] {
        balance(&lab, "Ingress", &format!("{namespace}/b"), &[address]).await;
    }
    lab.wait_contents(&["www A 192.0.2.2", "www A 192.0.2.8", "www A 192.0.2.9"]).await;
    for namespace in [first.name(), second.name()] {
        balance(&lab, "Ingress", &format!("{namespace}/b"), &[]).await;
    }
    balance(&lab, "Ingress", &a, &["192.0.2.3"]).await;
    lab.wait_contents(&["www A 192.0.2.3", "www A 192.0.2.8", "www A 192.0.2.9"]).await;
    let events = lab.events("Ingress", &a).await;
    assert!(events.iter().all(|event| event.reason == "Programmed"), "{events:#?}");
    // It is not stopped after a restart either.
    lab.kill().await;
    lab.run();
    balance(&lab, "Ingress", &a, &["192.0.2.4"]).await;
    lab.wait_contents(&["www A 192.0.2.4", "www A 192.0.2.8", "www A 192.0.2.9"]).await;
}

#[tokio::test]
async fn what_is_already_there_is_adopted_as_far_as_the_grant_goes() {
    let lab = lab_with("adopting-sources", &["Ingress"]).await;
    lab.seed("same", "A", "192.0.2.1");
    lab.seed("other", "CNAME", "elsewhere.example.net");
    let tenant = lab.tenant(json!({})).await;
    publish(&lab, tenant.name(), "same", "same", "192.0.2.1").await;
    publish(&lab, tenant.name(), "other", "other", "192.0.2.2").await;
    told(&lab, "Ingress", &format!("{}/same", tenant.name()), "Programmed").await;
    told(&lab, "Ingress", &format!("{}/other", tenant.name()), "AdoptionRefused").await;
    assert_eq!(lab.contents(), ["other CNAME elsewhere.example.net", "same A 192.0.2.1"]);
}

#[tokio::test]
async fn case_61_in_a_namespace_that_is_being_deleted_nothing_is_made() {
    let lab = lab_with("terminating", &["Service"]).await;
    let tenant = lab.tenant(json!({})).await;
    let mut leaving = service("leaving", annotated(&lab, "leaving"));
    leaving.0["metadata"]["finalizers"] = json!(["example.net/keeps"]);
    lab.apply(&leaving).await;
    let theirs = format!("{}/theirs", tenant.name());
    lab.apply(&service("theirs", annotated(&lab, "theirs")).in_namespace(tenant.name())).await;
    lab.delete("Service", "leaving").await;
    // Nobody empties namespaces here: it stays as it is.
    lab.delete("Namespace", tenant.name()).await;
    lab.apply(&service("own", annotated(&lab, "own"))).await;
    for name in ["leaving", &theirs, "own"] {
        balance(&lab, "Service", name, &["192.0.2.1"]).await;
    }
    lab.wait_contents(&["own A 192.0.2.1"]).await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["own A 192.0.2.1"]);
    lab.patch("Service", "leaving", json!({"metadata": {"finalizers": null}})).await;
}

fn annotated(lab: &Lab<'_>, host: &str) -> Value {
    json!({"zonekeeper.dev/hostname": lab.at(host)})
}

/// An Ingress of a namespace, with a host and an address.
async fn publish(lab: &Lab<'_>, namespace: &str, name: &str, host: &str, address: &str) {
    lab.apply(&ingress(lab, name, &[host]).in_namespace(namespace)).await;
    balance(lab, "Ingress", &format!("{namespace}/{name}"), &[address]).await;
}
