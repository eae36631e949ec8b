//! Nothing is written twice, and a loss is counted as one.

use cloudflare_sim::knobs::{Knobs, LateProxy};
use serde_json::json;

use crate::support::{Lab, Manifest, records, zone};

#[tokio::test]
async fn holders_of_one_identical_value_are_served_by_one_write() {
    let part = |name: &str| records("x.example.com", "A", &["192.0.2.1"]).named(name);
    for lab in [Lab::start().await, Lab::with_txt(json!({})).await] {
        lab.applied(&[part("b")]).await;
        lab.applied(&[part("a"), part("b")]).await;
        let writes = lab.sim.writes();
        for order in [[part("a"), part("b")], [part("b"), part("a")]] {
            lab.applied(&order).await;
            lab.plan().await.exits(0);
        }
        assert_eq!(lab.sim.writes(), writes);
        assert_eq!(lab.values("x.example.com", "A"), ["192.0.2.1"]);
    }
}

#[tokio::test]
async fn a_change_that_the_provider_forgets_is_a_failure_and_not_repeated() {
    let lab = Lab::start().await;
    let www = records("www.example.com", "A", &["192.0.2.1"]);
    lab.applied(std::slice::from_ref(&www)).await;
    lab.sim.knobs(Knobs { late_proxy: LateProxy::Forgotten, ..Knobs::default() });
    let writes = lab.sim.writes();
    lab.want(&[www.with("cloudflare.proxied", true)]);
    lab.apply().await.exits(1).says("ProviderRejected").says("does not keep the change");
    assert!(lab.sim.writes() - writes <= 2, "{} writes", lab.sim.writes() - writes);
}

#[tokio::test]
async fn all_of_ours_beside_foreign_values_is_a_delete_for_the_guard() {
    let lab = Lab::start().await;
    let hosts: Vec<Manifest> =
        (0..5).map(|n| records(&format!("n{n}.example.com"), "A", &["192.0.2.1"])).collect();
    for n in 0..5 {
        lab.seed("A", &format!("n{n}"), "192.0.2.99");
    }
    lab.applied(&hosts).await;
    let before = lab.contents();
    lab.folder.remove("records.yaml");
    lab.apply().await.exits(2).says("5 of 5 owned sets would be deleted");
    assert_eq!(lab.contents(), before);
    lab.declare(zone("example.com").with("policy", "UpsertOnly"));
    lab.approve().await;
    assert_eq!(lab.contents(), before, "and for the policy");
}
