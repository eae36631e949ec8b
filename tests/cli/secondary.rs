//! Secondary zones, from a folder: Cloudflare follows other primary servers, and no record is written there.

use cloudflare_sim::{EntryKind, Fault, Knobs, Right, TokenGrant, When, knobs::SecondaryZones};
use dns_servers::Key;
use serde_json::{Value, json};

use crate::support::{
    Lab, Manifest, builtin,
    lab::{changes, rejections},
    records, secret, zone,
};

const PRIMARY: &str = "192.0.2.53";

/// A folder whose provider may create zones, in an account that may have secondary ones.
async fn lab() -> Lab {
    let lab = Lab::start().await;
    lab.sim.knobs(Knobs { secondary_zones: SecondaryZones::Accept, ..Knobs::default() });
    let provider = lab.provider().with("cloudflare.accountID", json!(lab.sim.account()));
    lab.folder.put("provider.yaml", &[provider]);
    lab
}

async fn without_zone() -> Lab {
    let lab = lab().await;
    lab.sim.remove_zone(&lab.zone);
    lab
}

/// A lab whose zone is a secondary already.
async fn with_secondary() -> Lab {
    let lab = lab().await;
    lab.sim.set_kind(&lab.zone, "secondary");
    lab
}

fn secondary(primaries: Value) -> Manifest {
    zone("example.com")
        .with("lifecycle", json!({"create": true}))
        .with("cloudflare", json!({"type": "secondary", "primaries": primaries}))
}

fn following(address: &str) -> Manifest {
    secondary(json!([{"address": address}]))
}

fn with_key(zone: Manifest) -> Manifest {
    zone.with("cloudflare.transferTsigSecretRef", json!({"name": "transfer"}))
}

fn key(key: &Key) -> Manifest {
    let data = json!({"name": key.name, "algorithm": key.algorithm, "secret": key.secret});
    Manifest(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "transfer"}, "stringData": data}),
    )
}

fn www() -> Manifest {
    records("www.example.com", "A", &["192.0.2.1"])
}

/// The only zone of the simulator.
fn only_zone(lab: &Lab) -> String {
    let zones = lab.sim.zones();
    assert_eq!(zones.len(), 1, "{zones:?}");
    zones[0].1.clone()
}

/// Method and path of each request other than a read, without the ids.
fn writes(lab: &Lab, since: u64) -> Vec<String> {
    let entries = lab.sim.journal_since(since).into_iter();
    let writes = entries.filter(|entry| entry.kind == EntryKind::Request && entry.method != "GET");
    let is_word = |part: &&str| part.len() != 32 && !["client", "v4", ""].contains(part);
    let shown = |path: &str| path.split('/').filter(is_word).collect::<Vec<_>>().join("/");
    writes.map(|entry| format!("{} {}", entry.method, shown(&entry.path))).collect()
}

/// The addresses of the peers that the zone follows.
fn followed(lab: &Lab) -> Vec<String> {
    let incoming = lab.sim.incoming(&only_zone(lab)).expect("the zone follows a server");
    let peers = lab.sim.peers();
    let ids = incoming["peers"].as_array().expect("a list").iter();
    let peer = |id: &Value| peers.iter().find(|peer| peer["id"] == *id).expect("it is there").clone();
    ids.map(peer)
        .map(|peer| format!("{} {}", peer["ip"].as_str().unwrap_or_default(), peer["port"]))
        .collect()
}

#[tokio::test]
async fn a_secondary_zone_is_created_follows_its_primaries_and_then_nothing_is_to_do() {
    let lab = without_zone().await;
    lab.declare(secondary(json!([{"address": "2001:DB8::53", "port": 5353}, {"address": PRIMARY}])));
    let plan = lab.plan().await.exits(2);
    plan.says("+ zone")
        .says(r#"~ zone type: not known -> "secondary""#)
        .says(r#"~ zone primaries: not known -> ["192.0.2.53:53","[2001:db8::53]:5353"]"#);
    assert_eq!(lab.sim.zones(), []);
    lab.apply().await.exits(0).says("+ zone").says("zone primaries: []");
    assert_eq!(followed(&lab), ["192.0.2.53 53", "2001:db8::53 5353"]);
    let names: Vec<Value> = lab.sim.peers().iter().map(|peer| peer["name"].clone()).collect();
    assert_eq!(names, ["zonekeeper example.com 192.0.2.53:53", "zonekeeper example.com [2001:db8::53]:5353"]);
    let incoming = lab.sim.incoming(&only_zone(&lab)).expect("it is there");
    assert_eq!(
        (&incoming["name"], &incoming["auto_refresh_seconds"]),
        (&json!("example.com."), &json!(86_400))
    );
    assert!(incoming["checked_time"].is_string(), "a transfer was asked for: {incoming}");
    lab.plan().await.exits(0).says("nothing to do");
    let before = lab.sim.last_sequence();
    lab.apply().await.exits(0);
    assert_eq!(
        writes(&lab, before),
        ["PUT zones/activation_check"],
        "Cloudflare looks at the delegation, no more"
    );
}

#[tokio::test]
async fn a_crash_after_or_before_any_write_creates_nothing_twice() {
    let key_of_primary = Key::new("transfer");
    for when in [When::Before, When::After] {
        for n in 1.. {
            let lab = without_zone().await;
            lab.declare(with_key(following(PRIMARY)));
            lab.folder.put("transfer.yaml", &[key(&key_of_primary)]);
            let before = lab.sim.last_sequence();
            lab.sim.faults(vec![Fault::cut_from_write(n, when)]);
            lab.apply().await;
            lab.sim.faults(Vec::new());
            let sent = writes(&lab, before).len() as u64;
            lab.apply().await.exits(0);
            lab.plan().await.exits(0).says("nothing to do");
            assert_eq!(followed(&lab), ["192.0.2.53 53"], "{when:?} {n}");
            let (peers, keys) = (lab.sim.peers(), lab.sim.tsigs());
            assert_eq!((peers.len(), keys.len()), (1, 1), "{when:?} {n}: {peers:?} {keys:?}");
            assert_eq!(peers[0]["tsig_id"], keys[0]["id"], "{when:?} {n}");
            if sent < n {
                // Zone, key, peer twice, primaries, transfer.
                assert!(n > 6, "{when:?}: {n} writes");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_record_is_refused_in_a_secondary_zone_and_nothing_is_written() {
    let lab = lab().await;
    lab.remember_in_txt(json!({}));
    lab.applied(&[www(), records("old.example.com", "A", &["192.0.2.9"])]).await;
    // As if the primary were ours, too: its markers come with the transfer.
    lab.sim.set_kind(&lab.zone, "secondary");
    let contents = lab.contents();
    lab.want(&[www(), records("new.example.com", "A", &["192.0.2.2"])]);
    for declared in [zone("example.com"), following(PRIMARY)] {
        let before = lab.sim.last_sequence();
        lab.declare(declared);
        assert_eq!(
            rejections(&lab.plan_json().await),
            [
                "recordset/default/new-example-com-a: NotAllowed",
                "recordset/default/www-example-com-a: NotAllowed"
            ]
        );
        let run = lab.apply().await.exits(1);
        run.says("DNSZone default/example-com is a secondary: its records are copies; declare the record at its primary");
        assert_eq!(lab.effects_since(before), []);
        assert_eq!(lab.contents(), contents);
    }
    lab.folder.remove("records.yaml");
    lab.plan().await.exits(0).says("nothing to do");
    let hash = lab.plan_json().await["hash"].clone();
    lab.call("apply").args(&["--plan-hash", hash.as_str().unwrap_or_default()]).run().await.exits(0);
    assert_eq!(lab.contents(), contents, "no record of a secondary zone is deleted");
}

#[tokio::test]
async fn a_zone_that_is_to_become_a_secondary_loses_no_record() {
    let lab = lab().await;
    lab.applied(&[www()]).await;
    lab.sim.knobs(Knobs::default());
    lab.declare(following(PRIMARY));
    lab.folder.remove("records.yaml");
    let before = lab.sim.last_sequence();
    lab.apply().await.exits(1).says("Secondary zone signup not allowed (1104)").says("upgrade the plan");
    assert_eq!(writes(&lab, before), ["PATCH zones"], "without the type there are no primaries");
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn a_zone_that_is_a_secondary_no_more_takes_records_again() {
    let lab = with_secondary().await;
    lab.declare(zone("example.com").with("cloudflare", json!({"type": "full"})));
    lab.want(&[www()]);
    lab.apply().await.exits(1).says(r#"~ zone type: "secondary" -> "full""#).says("NotAllowed");
    lab.apply().await.exits(0).says("+ www A 192.0.2.1");
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn the_primary_of_the_same_folder_takes_the_records() {
    let lab = with_secondary().await;
    let named = |zone: Manifest, name: &str| zone.with("providerRef", json!({"name": name}));
    let copy = named(following(PRIMARY), "cloudflare").with("selection", json!("Explicit"));
    lab.folder.put("builtin.yaml", &[builtin()]);
    lab.folder.put("zone.yaml", &[copy, named(zone("example.com").named("primary"), "builtin")]);
    lab.want(&[www()]);
    let plan = lab.plan_json().await;
    assert_eq!(rejections(&plan), [""; 0]);
    let of_records = json!({"zones": plan["zones"].as_array().expect("zones").iter().map(|zone| {
        let all = zone["changes"].as_array().expect("changes").iter();
        json!({"changes": all.filter(|it| it.get("field").is_none()).collect::<Vec<_>>()})
    }).collect::<Vec<_>>()});
    assert_eq!(changes(&of_records), ["Create www.example.com A"]);
}

#[tokio::test]
async fn a_peer_of_another_is_reused_and_never_changed() {
    let lab = with_secondary().await;
    let theirs = lab.sim.set_peer("theirs", PRIMARY, 53);
    lab.sim.set_peer("elsewhere", PRIMARY, 5353);
    let peers = lab.sim.peers();
    lab.declare(following(PRIMARY));
    let before = lab.sim.last_sequence();
    lab.apply().await.exits(0);
    assert_eq!(
        writes(&lab, before),
        ["POST zones/secondary_dns/incoming", "POST zones/secondary_dns/force_axfr"]
    );
    assert_eq!(lab.sim.incoming(&lab.zone).expect("it is there")["peers"], json!([theirs]));
    assert_eq!(lab.sim.peers(), peers);
    // Edited by its owner, it is not the primary any more, and not ours to restore.
    lab.sim.set_peer("theirs", "192.0.2.99", 53);
    lab.plan().await.exits(2).says(r#"~ zone primaries: ["192.0.2.99:53"] -> ["192.0.2.53:53"]"#);
    lab.apply().await.exits(0);
    assert_eq!(followed(&lab), ["192.0.2.53 53"]);
    let kept = lab.sim.peers().iter().filter(|peer| peer["ip"] == "192.0.2.99").count();
    assert_eq!((kept, lab.sim.peers().len()), (1, 3));
}

#[tokio::test]
async fn primaries_change_and_a_peer_of_ours_is_restored() {
    let lab = with_secondary().await;
    lab.declare(following(PRIMARY));
    lab.apply().await.exits(0);
    lab.sim.set_peer("zonekeeper example.com 192.0.2.53:53", "192.0.2.99", 53);
    let before = lab.sim.last_sequence();
    lab.apply().await.exits(0).says(r#"~ zone primaries: ["192.0.2.99:53"] -> ["192.0.2.53:53"]"#);
    assert_eq!(writes(&lab, before)[0], "PUT accounts/secondary_dns/peers");
    assert_eq!((followed(&lab), lab.sim.peers().len()), (vec!["192.0.2.53 53".to_owned()], 1));
    lab.declare(secondary(json!([{"address": "192.0.2.54"}, {"address": PRIMARY}])));
    lab.apply().await.exits(0);
    assert_eq!(followed(&lab), ["192.0.2.53 53", "192.0.2.54 53"]);
    lab.declare(following("192.0.2.54"));
    lab.apply().await.exits(0);
    assert_eq!(followed(&lab), ["192.0.2.54 53"]);
    // Other zones may use it.
    assert_eq!(lab.sim.peers().len(), 2);
    lab.plan().await.exits(0).says("nothing to do");
}

#[tokio::test]
async fn transfers_are_signed_and_a_new_secret_is_taken_over() {
    let lab = with_secondary().await;
    let first = Key::new("transfer");
    lab.declare(with_key(following(PRIMARY)));
    lab.plan().await.exits(1).says("spec.cloudflare.transferTsigSecretRef").says("no Secret transfer");
    lab.folder.put("transfer.yaml", &[key(&first)]);
    lab.plan().await.exits(2).says(r#"~ zone transferTsig: null -> "transfer""#);
    lab.apply().await.exits(0).never_says(&first.secret);
    let keys = lab.sim.tsigs();
    assert_eq!((&keys[0]["name"], &keys[0]["algo"]), (&json!("transfer."), &json!("hmac-sha256.")));
    assert_eq!((&keys[0]["secret"], &lab.sim.peers()[0]["tsig_id"]), (&json!(first.secret), &keys[0]["id"]));
    lab.plan().await.exits(0).says("nothing to do");
    let second = json!(format!("{}AAAA", first.secret.trim_end_matches('=')));
    let mut rotated = key(&first);
    rotated.0["stringData"]["secret"] = second.clone();
    lab.folder.put("transfer.yaml", &[rotated]);
    lab.plan().await.exits(2).says(r#"~ zone transferTsig: "transfer (another secret)" -> "transfer""#);
    lab.apply().await.exits(0);
    let (keys, peers) = (lab.sim.tsigs(), lab.sim.peers());
    let used = keys.iter().find(|key| key["id"] == peers[0]["tsig_id"]).expect("it is there");
    assert_eq!((&used["secret"], keys.len(), peers.len()), (&second, 2, 1));
    lab.plan().await.exits(0).says("nothing to do");
}

#[tokio::test]
async fn a_missing_permission_of_the_account_is_named() {
    let lab = with_secondary().await;
    let grant = TokenGrant::of([
        Right::ZoneRead,
        Right::ZoneWrite,
        Right::DnsRead,
        Right::DnsWrite,
        Right::AccountRead,
    ]);
    lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", &lab.sim.token(grant))]);
    lab.declare(following(PRIMARY));
    lab.apply().await.exits(1).says("Account Settings Write").says("CredentialsInvalid");
    assert_eq!(lab.sim.peers(), [] as [Value; 0]);
}

#[tokio::test]
async fn a_secondary_needs_primaries_and_a_provider_that_can_have_one() {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("cloudflare", json!({"type": "secondary"})));
    lab.plan().await.exits(1).says("a zone of type secondary needs primaries");
    lab.folder.put("provider.yaml", &[builtin()]);
    lab.declare(
        zone("example.com")
            .with("cloudflare", json!({"type": "secondary", "primaries": [{"address": PRIMARY}]})),
    );
    lab.want(&[www()]);
    let plan = lab.plan_json().await;
    assert_eq!(rejections(&plan), ["dnszone/default/example-com: InvalidValue"; 2]);
    assert_eq!(changes(&plan), ["Create www.example.com A"], "records go on as before");
}
