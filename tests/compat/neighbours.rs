//! Both programs in one zone: each works on what it owns and never on what the other does.

use std::collections::BTreeSet;

use cloudflare_sim::{EntryKind, TokenGrant};
use control_plane::{DEADLINE, User, eventually};
use zonekeeper_tests::cluster::plane;

use crate::{
    catalogue::{self, PREFIX},
    objects::{ingress, service},
    pair::Pair,
    peer::ExternalDns,
    place::Place,
};

#[tokio::test]
async fn one_zone_for_both() {
    let plane = plane::with_published_definitions().await;
    let pair = Pair::on(plane, "neighbours", &["Service"]).await;
    let mut place = Place::of(&pair.lab);
    place.token = place.sim.token(TokenGrant::full());
    let kubeconfig = plane.kubeconfig(&User::admin()).unwrap();
    let external_dns = ExternalDns::new("neighbours", &place, kubeconfig, "external-dns", &["ingress"]);
    let client = plane.client();
    let data = async |expected: &[&str]| {
        let expected: Vec<String> =
            expected.iter().map(|line| line.replacen(' ', ".example.com A 1 direct ", 1)).collect();
        eventually("the zone's records", DEADLINE, async || match place.data() {
            found if found == expected => Ok(()),
            found => Err(found),
        })
        .await;
    };
    pair.lab.run();
    let _running = external_dns.run();
    catalogue::put(&client, &ingress(&pair.lab, "theirs", "192.0.2.1")).await;
    catalogue::put(&client, &service(&pair.lab, "ours", PREFIX, "192.0.2.2")).await;
    data(&["ours 192.0.2.2", "theirs 192.0.2.1"]).await;
    // Who comes second to a name does not get it, once it has seen the first.
    pair.lab.scan().await;
    catalogue::put(&client, &service(&pair.lab, "theirs", PREFIX, "192.0.2.3")).await;
    catalogue::put(&client, &ingress(&pair.lab, "ours", "192.0.2.3")).await;
    // What changes and what goes is the owner's business.
    catalogue::put(&client, &ingress(&pair.lab, "theirs", "192.0.2.4")).await;
    catalogue::put(&client, &service(&pair.lab, "ours", PREFIX, "192.0.2.5")).await;
    data(&["ours 192.0.2.5", "theirs 192.0.2.4"]).await;
    pair.lab.scan().await;
    for name in ["mine", "yours"] {
        catalogue::put(&client, &ingress(&pair.lab, &format!("{name}-ingress"), "192.0.2.6")).await;
        catalogue::put(&client, &service(&pair.lab, &format!("{name}-service"), PREFIX, "192.0.2.7")).await;
    }
    let both = ["mine-ingress 192.0.2.6", "mine-service 192.0.2.7", "ours 192.0.2.5", "theirs 192.0.2.4"];
    data(&[&both[..], &["yours-ingress 192.0.2.6", "yours-service 192.0.2.7"]].concat()).await;
    pair.lab.delete("Ingress", "yours-ingress").await;
    pair.lab.delete("Service", "yours-service").await;
    data(&both).await;

    let mut writers: BTreeSet<(String, String)> = BTreeSet::new();
    for entry in place.sim.journal().into_iter().filter(|entry| entry.kind == EntryKind::Request) {
        for record in entry.effects.iter().flat_map(|effect| [&effect.before, &effect.after]).flatten() {
            let name = record["name"].as_str().unwrap_or_default().to_owned();
            writers.insert((name, entry.token_hash.clone().unwrap_or_default()));
        }
    }
    let names: BTreeSet<&String> = writers.iter().map(|(name, _)| name).collect();
    assert_eq!((names.len(), writers.len()), (12, 12), "every name has one writer: {writers:#?}");
}
