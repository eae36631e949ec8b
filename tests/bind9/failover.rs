//! Two replicas: who has lost the lease sends nothing more.

use control_plane::{User, eventually};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use zonekeeper_tests::dns::{Fault, Kind};

use crate::{
    site::Site,
    support::{
        lab::DEADLINE,
        operator::{Operator, log_of},
    },
};

fn replica(site: &Site<'_>, number: usize) -> Operator {
    let kubeconfig = site.plane().kubeconfig(&User::zonekeeper()).expect("a kubeconfig");
    let arguments = ["--namespace", site.home.name(), "--controller-name", &site.controller()];
    let election = ["--leader-elect", "--lease-duration", "3s"];
    let arguments: Vec<String> = arguments.iter().chain(&election).map(ToString::to_string).collect();
    let log = log_of(&format!("{}-replica-{number}", site.home.name()));
    Operator::start(&kubeconfig, &arguments, "zonekeeper=debug,info", &log)
}

async fn wait_leads(site: &Site<'_>, operator: &Operator) {
    let leases: Api<Lease> = Api::namespaced(site.home.client(), site.home.name());
    let name = format!("zonekeeper-{}", site.controller().replace('/', "-"));
    let identity = format!("zonekeeper-{}", operator.id());
    eventually(&format!("{identity} leads"), DEADLINE, async || {
        let lease = leases.get_opt(&name).await.expect("the API server answers");
        let holder = lease.and_then(|lease| lease.spec?.holder_identity);
        if holder.as_ref() == Some(&identity) { Ok(()) } else { Err(holder) }
    })
    .await;
}

/// Case 64: the first leader stops in the middle of a message; the second goes on; the first wakes up and is silent.
#[tokio::test]
async fn a_leader_that_was_stopped_sends_nothing_more() {
    let site = Site::ready_to_run("failover").await;
    let mut first = replica(&site, 1);
    wait_leads(&site, &first).await;
    let second = replica(&site, 2);
    site.ready(&site.a("www", "192.0.2.1")).await;
    // Its next message is on its way and will never be answered.
    site.relay.fault(0, Fault::LostRequest);
    site.apply(&site.a("www", "192.0.2.2")).await;
    eventually("a message", DEADLINE, async || if site.relay.is_reached() { Ok(()) } else { Err(()) }).await;
    first.signal("STOP");
    wait_leads(&site, &second).await;
    site.wait_ready("RecordSet", "www").await;
    site.ready(&site.a("www", "192.0.2.3")).await;
    let (serial, seen) = (site.serial(), site.relay.requests());
    first.signal("CONT");
    assert_eq!(first.ended().await.code(), Some(1), "a lost lease is an error");
    assert!(!site.relay.since(seen).contains(&Kind::Update));
    assert_eq!((site.served("www", "A"), site.serial()), (vec!["192.0.2.3".to_owned()], serial));
}
