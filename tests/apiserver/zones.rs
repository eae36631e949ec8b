//! DNSZones: found at their provider, chosen by name, and only one for each.

use cloudflare_sim::{Config, Plan, Sim, TokenGrant};
use control_plane::eventually;
use serde_json::{Value, json};

use crate::support::{Lab, Manifest, condition, lab::DEADLINE, looks::Told};

#[tokio::test]
async fn case_07_a_record_that_names_a_zone_of_another_domain_is_refused_without_a_call() {
    let lab = Lab::new("other-zone").await;
    lab.wait_ready("DNSZone", "zone").await;
    let requests = lab.sim.requests();
    let stray =
        lab.a("www", "192.0.2.1").with("name", "www.example.net").with("zoneRefs", json!([{"name": "zone"}]));
    let message = lab.not_ready(&stray, "NoMatchingZone").await;
    assert!(message.contains("www.example.net") && message.contains(&lab.domain), "{message}");
    let missing = lab.a("two", "192.0.2.1").with("zoneRefs", json!([{"name": "missing"}]));
    let message = lab.not_ready(&missing, "RefNotFound").await;
    assert!(message.contains("missing"), "{message}");
    assert_eq!(lab.sim.requests(), requests);
}

#[tokio::test]
async fn case_08_a_zone_that_cloudflare_does_not_have_recovers_when_it_does() {
    let lab = Lab::new("unknown-zone").await;
    let domain = format!("later.{}", lab.domain);
    let message = lab.not_ready(&lab.zone_of(&domain).named("later"), "ZoneNotFound").await;
    assert!(message.contains(&domain), "{message}");
    // Only zones that exist are candidates: the shorter one takes it.
    lab.ready(&lab.a("www.later", "192.0.2.1")).await;
    // Case 13: who names it waits, and says why.
    let named = lab.a("two.later", "192.0.2.2").named("two").with("zoneRefs", json!([{"name": "later"}]));
    let message = lab.not_ready(&named, "ZoneNotFound").await;
    assert!(message.contains("later"), "{message}");
    let id = lab.sim.zone(&domain, Plan::Free);
    lab.wait_ready("DNSZone", "later").await;
    lab.wait_ready("RecordSet", "two").await;
    // What was there is in the longer one too, and stays where it is: it never moves there by itself.
    lab.wait_reason("RecordSet", "www-later", "Held").await;
    assert_eq!(lab.sim.records(&id).len(), 2);
    lab.scan().await;
    assert_eq!(lab.contents(), ["www.later A 192.0.2.1"]);
}

#[tokio::test]
async fn case_09_status_has_the_zones_id_and_name_servers() {
    let lab = Lab::new("zone-id").await;
    let zone = lab.wait_ready("DNSZone", "zone").await;
    assert_eq!(zone["status"]["zoneID"], lab.zone);
    assert_eq!(zone["status"]["provider"], lab.home.name());
    assert!(!zone["status"]["nameServers"].as_array().expect("name servers").is_empty());
    assert_eq!(
        zone["status"]["records"],
        json!({"desired": 0, "live": 0, "owned": 0, "foreign": 0, "orphaned": 0})
    );
    // Pinned by id; and by one that is another zone's.
    let pinned = lab.zone_of(&lab.domain).named("pinned").with("zoneID", "00000000000000000000000000000000");
    lab.apply(&pinned).await;
    lab.wait("DNSZone", "pinned", "not Ready", |object| condition(object, "Ready").is("False")).await;
}

#[tokio::test]
async fn case_10_the_longest_domain_wins_on_label_boundaries() {
    let lab = Lab::new("longest").await;
    let domain = format!("tst.{}", lab.domain);
    let id = lab.sim.zone(&domain, Plan::Free);
    lab.ready(&lab.zone_of(&domain).named("tst")).await;
    lab.ready(&lab.a("a.tst", "192.0.2.1")).await;
    lab.ready(&lab.a("atst", "192.0.2.2")).await;
    lab.ready(&lab.a("tst", "192.0.2.3").named("apex")).await;
    assert_eq!(lab.contents(), ["atst A 192.0.2.2"]);
    assert_eq!(lab.sim.records(&id).len(), 2);
}

#[tokio::test]
async fn case_12_without_a_matching_zone_there_is_no_call() {
    let lab = Lab::new("no-zone").await;
    lab.wait_ready("DNSZone", "zone").await;
    let requests = lab.sim.requests();
    let stray = lab.a("www", "192.0.2.1").with("name", format!("www.{}.example.org", lab.home.name()));
    let message = lab.not_ready(&stray, "NoMatchingZone").await;
    assert!(message.contains("www.") && message.contains("create one"), "{message}");
    let relative = lab.a("www", "192.0.2.1").named("relative").without("name").with("relativeName", "www");
    lab.not_ready(&relative, "NoMatchingZone").await;
    assert_eq!(lab.sim.requests(), requests);
    // The zone that comes heals it.
    lab.sim.zone(&format!("{}.example.org", lab.home.name()), Plan::Free);
    lab.ready(&lab.zone_of(&format!("{}.example.org", lab.home.name())).named("org")).await;
    lab.wait_ready("RecordSet", "www").await;
}

#[tokio::test]
async fn of_two_dns_zones_for_one_zone_the_older_works_and_the_younger_takes_over() {
    let lab = Lab::new("duplicate").await;
    lab.wait_ready("DNSZone", "zone").await;
    let message = lab.not_ready(&lab.dns_zone().named("second"), "DuplicateZone").await;
    assert!(message.contains(&format!("{}/zone", lab.home.name())), "{message}");
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let object = lab.get("RecordSet", "www").await.expect("it is there");
    assert_eq!(object["status"]["zones"][0]["name"], "zone");
    let pinned = lab.dns_zone().named("pinned").with("zoneID", lab.zone.clone());
    lab.not_ready(&pinned, "DuplicateZone").await;
    lab.delete("DNSZone", "pinned").await;
    lab.wait_gone("DNSZone", "pinned").await;
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/release", "true").await;
    lab.delete("DNSZone", "zone").await;
    lab.wait_gone("DNSZone", "zone").await;
    lab.wait_ready("DNSZone", "second").await;
    let object = lab.wait("RecordSet", "www", "in the other zone", |object| {
        object["status"]["zones"][0]["name"] == "second" && condition(object, "Ready").is("True")
    });
    object.await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
}

/// A second provider of the lab, with its own simulator that has the same domain.
async fn second_provider(lab: &Lab<'_>) -> (Sim, String, Manifest) {
    let sim = Sim::start(Config::unlimited()).await.expect("the simulator starts");
    let id = sim.zone(&lab.domain, Plan::Free);
    lab.put_secret("second", &[("apiToken", &sim.token(TokenGrant::full()))]).await;
    let name = format!("{}-second", lab.home.name());
    let provider = lab.provider().named(&name).with("cloudflare.baseURL", sim.base_url());
    lab.ready(&provider.with("cloudflare.apiTokenSecretRef.name", "second")).await;
    let zone = lab.dns_zone().named("second").with("providerRef", json!({"name": name}));
    (sim, id, zone)
}

#[tokio::test]
async fn two_zones_of_one_domain_are_ambiguous_until_somebody_says_which() {
    let lab = Lab::new("ambiguous").await;
    lab.wait_ready("DNSZone", "zone").await;
    let (sim, id, zone) = second_provider(&lab).await;
    lab.ready(&zone).await;
    let message = lab.not_ready(&lab.a("www", "192.0.2.1"), "AmbiguousZone").await;
    assert!(
        message.contains("/zone") && message.contains("/second") && message.contains("zoneRefs"),
        "{message}"
    );
    assert_eq!((lab.contents().len(), sim.records(&id).len()), (0, 0));
    lab.ready(&lab.a("one", "192.0.2.1").with("zoneRefs", json!([{"name": "second"}]))).await;
    assert_eq!((lab.contents().len(), sim.records(&id).len()), (0, 1));
    // Split horizon: the Explicit zone never competes.
    lab.ready(&zone.with("selection", "Explicit")).await;
    lab.wait_ready("RecordSet", "www").await;
    assert_eq!((lab.contents(), sim.records(&id).len()), (vec!["www A 192.0.2.1".to_owned()], 1));
    // In both, with both ids in status.
    let both = json!([{"name": "zone"}, {"name": "second"}]);
    let object = lab.ready(&lab.a("both", "192.0.2.2").with("zoneRefs", both)).await;
    assert_eq!(object["status"]["zones"].as_array().map(Vec::len), Some(2));
    assert_eq!((lab.contents().len(), sim.records(&id).len()), (2, 2));
}

#[tokio::test]
async fn one_zones_refusal_stops_no_other_zone_but_the_object_is_not_ready() {
    let lab = Lab::new("one-refuses").await;
    let (sim, id, zone) = second_provider(&lab).await;
    lab.ready(&zone.with("selection", "Explicit").with("names", json!({"include": ["*.intern"]}))).await;
    let both = json!([{"name": "zone"}, {"name": "second"}]);
    lab.not_ready(&lab.a("www", "192.0.2.1").with("zoneRefs", both), "NotAllowed").await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    assert!(sim.records(&id).is_empty());
}

#[tokio::test]
async fn a_record_moves_to_a_newer_longer_zone_by_approval_only() {
    let lab = Lab::new("longer").await;
    lab.ready(&lab.a("www.sub", "192.0.2.1")).await;
    let domain = format!("sub.{}", lab.domain);
    let id = lab.sim.zone(&domain, Plan::Free);
    lab.ready(&lab.zone_of(&domain).named("sub")).await;
    lab.wait_reason("DNSZone", "zone", "Held").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www.sub A 192.0.2.1"]);
    let zone = lab.get("DNSZone", "zone").await.expect("it is there");
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash").to_owned();
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", &hash).await;
    lab.wait_contents(&[]).await;
    assert_eq!(lab.sim.records(&id).len(), 1);
    lab.wait_ready("RecordSet", "www-sub").await;
}

#[tokio::test]
async fn case_67_an_interval_of_zero_is_refused() {
    let lab = Lab::bare("interval").await;
    for bad in ["0s", "0m", "-1s", "soon", ""] {
        lab.refused(&lab.dns_zone().with("interval", bad)).await;
    }
    lab.apply(&lab.dns_zone().with("interval", "1m30s")).await;
    // What must not change, does not.
    lab.refused(&lab.dns_zone().with("domain", "example.net")).await;
    lab.refused(&lab.dns_zone().with("providerRef", json!({"name": "another"}))).await;
}

#[tokio::test]
async fn names_say_what_is_ours_to_write() {
    let lab = Lab::ready_to_run("names").await;
    let names =
        json!({"include": [format!("*.apps.{}", lab.domain), lab.at("www")], "exclude": ["*.secret.*"]});
    lab.apply(&lab.dns_zone().with("names", names)).await;
    lab.run();
    lab.ready(&lab.a("one.apps", "192.0.2.1")).await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.not_ready(&lab.a("other", "192.0.2.1"), "NotAllowed").await;
    lab.not_ready(&lab.a("a.secret.apps", "192.0.2.1"), "NotAllowed").await;
    assert_eq!(lab.contents(), ["one.apps A 192.0.2.1", "www A 192.0.2.1"]);
}

#[tokio::test]
async fn a_zone_takes_record_sets_by_label_and_completes_relative_names() {
    let lab = Lab::ready_to_run("by-label").await;
    let domain = format!("second.{}", lab.domain);
    let id = lab.sim.zone(&domain, Plan::Free);
    let taken = json!([{"selector": {"matchLabels": {"dns": "public"}}}]);
    lab.apply(&lab.dns_zone().with("recordsFrom", taken.clone())).await;
    lab.apply(&lab.zone_of(&domain).named("second").with("recordsFrom", taken).with("selection", "Explicit"))
        .await;
    lab.run();
    let relative = |name: &str, relative: &str| {
        lab.a(name, "192.0.2.1").without("name").with("relativeName", relative).labelled("dns", "public")
    };
    let object = lab.ready(&relative("www", "www")).await;
    assert_eq!(object["status"]["zones"].as_array().map(Vec::len), Some(2));
    lab.ready(&relative("apex", "@")).await;
    assert_eq!(lab.contents(), ["@ A 192.0.2.1", "www A 192.0.2.1"]);
    let names: Vec<Value> = lab.sim.records(&id).iter().map(|record| record["name"].clone()).collect();
    assert_eq!(names, [json!(domain), json!(format!("www.{domain}"))]);
    // A label that goes is an edit of the object: it was read and wants nothing there. No zone takes it now, and that
    // is no evidence, so it stays.
    let unlabelled = lab.a("www", "192.0.2.1").without("name").with("relativeName", "www");
    lab.not_ready(&unlabelled, "NoMatchingZone").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["@ A 192.0.2.1", "www A 192.0.2.1"]);
}

#[tokio::test]
async fn a_zone_that_takes_less_than_it_did_deletes_nothing_but_a_label_that_goes_does() {
    let lab = Lab::ready_to_run("narrowed").await;
    let domain = format!("second.{}", lab.domain);
    let id = lab.sim.zone(&domain, Plan::Free);
    let taking = |label: &str| json!([{"selector": {"matchLabels": {label: "yes"}}}]);
    lab.apply(&lab.dns_zone().with("recordsFrom", taking("first"))).await;
    let second = |label: &str| {
        let zone = lab.zone_of(&domain).named("second").with("recordsFrom", taking(label));
        zone.with("selection", "Explicit")
    };
    lab.apply(&second("second")).await;
    lab.run();
    let relative = |name: &str| lab.a(name, "192.0.2.1").without("name").with("relativeName", name);
    let both = |name: &str| relative(name).labelled("first", "yes").labelled("second", "yes");
    lab.ready(&both("one")).await;
    lab.ready(&both("two")).await;
    assert_eq!((lab.contents().len(), lab.sim.records(&id).len()), (2, 2));
    // The object itself says that it wants this no more.
    lab.apply(&relative("one").labelled("first", "yes").labelled("second", "no")).await;
    lab.wait("RecordSet", "one", "in one zone", |object| {
        object["status"]["zones"].as_array().is_some_and(|zones| zones.len() == 1)
    })
    .await;
    lab.scan_of("second").await;
    assert_eq!((lab.contents().len(), lab.sim.records(&id).len()), (2, 1));
    // Here the zone does: what it does not take any more is an orphan, for a person to decide.
    lab.apply(&second("nobody")).await;
    lab.wait_reason("DNSZone", "second", "Held").await;
    lab.scan_of("second").await;
    assert_eq!(lab.sim.records(&id).len(), 1);
    // Not even an edit of something else changes that.
    lab.apply(&both("two").with("values", json!(["192.0.2.2"]))).await;
    lab.wait_contents(&["one A 192.0.2.1", "two A 192.0.2.2"]).await;
    lab.scan_of("second").await;
    assert_eq!(lab.sim.records(&id).len(), 1);
}

#[tokio::test]
async fn a_zone_that_is_removed_at_cloudflare_is_looked_for_and_holds_up_no_deletion() {
    let lab = Lab::ready_to_run("removed").await;
    lab.apply(&lab.dns_zone().with("interval", "1s")).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("gone", "192.0.2.1")).await;
    lab.sim.remove_zone(&lab.zone);
    let message = lab.wait_reason("DNSZone", "zone", "ZoneNotFound").await;
    assert!(message.contains("add it at Cloudflare"), "{message}");
    lab.wait_reason("RecordSet", "www", "ZoneNotFound").await;
    lab.wait_ready("DNSProvider", lab.home.name()).await;
    lab.delete("RecordSet", "gone").await;
    lab.wait_gone("RecordSet", "gone").await;
    // It comes back as another one.
    let again = lab.sim.zone(&lab.domain, cloudflare_sim::Plan::Pro);
    assert_ne!(again, lab.zone);
    lab.wait_ready("DNSZone", "zone").await;
    lab.wait_ready("RecordSet", "www").await;
    let www = lab.sim.records(&again);
    assert_eq!((www.len(), &www[0]["content"]), (1, &"192.0.2.1".into()));
    let zone = lab.get("DNSZone", "zone").await.expect("it is there");
    assert_eq!(zone["status"]["zoneID"], again.as_str());
}

#[tokio::test]
async fn a_second_provider_does_not_stop_zones_that_had_the_only_one() {
    let own = crate::support::plane::own(control_plane::Options::default()).await;
    let lab = Lab::bare_on(&own, "second-provider").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.apply(&lab.dns_zone().without("providerRef")).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.apply(&lab.provider().named("another")).await;
    lab.wait_ready("DNSProvider", "another").await;
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    lab.wait_ready("DNSZone", "zone").await;
    lab.kill().await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.3")).await;
    // A zone that is new must say which one it means.
    let other = format!("other.{}", lab.domain);
    lab.sim.zone(&other, cloudflare_sim::Plan::Pro);
    let message =
        lab.not_ready(&lab.zone_of(&other).named("new").without("providerRef"), "RefNotFound").await;
    assert!(message.contains("providerRef"), "{message}");
}

#[tokio::test]
async fn a_suspended_zone_stays_suspended_while_its_provider_is_down() {
    let lab = Lab::new("suspended-down").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.apply(&lab.dns_zone().with("suspend", true)).await;
    lab.wait_condition("RecordSet", "www", "Ready", "True", "Suspended").await;
    lab.kill().await;
    lab.sim.faults(vec![cloudflare_sim::Fault::every(cloudflare_sim::Action::Html(502))]);
    lab.run();
    lab.wait_reason("DNSProvider", lab.home.name(), "ProviderUnavailable").await;
    lab.ready(&lab.a("new", "192.0.2.1")).await;
    for (kind, name) in [("DNSZone", "zone"), ("RecordSet", "www"), ("RecordSet", "new")] {
        lab.wait_condition(kind, name, "Ready", "True", "Suspended").await;
    }
}

#[tokio::test]
async fn an_outage_is_one_warning_of_its_zone_and_one_write_per_record_set() {
    let lab = Lab::ready_to_run("outage").await;
    lab.apply(&lab.dns_zone().with("interval", "1s")).await;
    lab.run();
    let names: Vec<String> = (0..5).map(|i| format!("host-{i}")).collect();
    for name in &names {
        lab.ready(&lab.a(name, "192.0.2.1")).await;
    }
    let mut versions = Vec::new();
    for round in 0..6_u64 {
        // Each try fails in another way.
        let action = match round % 3 {
            0 => cloudflare_sim::Action::Html(502),
            1 => cloudflare_sim::Action::Json(500),
            _ => cloudflare_sim::Action::Cut,
        };
        lab.sim.faults(vec![cloudflare_sim::Fault::every(action)]);
        lab.wait_reason("DNSZone", "zone", "ProviderUnavailable").await;
        let before = lab.sim.requests();
        eventually("further tries", DEADLINE, async || {
            if lab.sim.requests() > before + 2 { Ok(()) } else { Err(lab.sim.requests()) }
        })
        .await;
        let mut now = Vec::new();
        for name in &names {
            lab.wait_reason("RecordSet", name, "ProviderUnavailable").await;
            now.push(
                lab.get("RecordSet", name).await.expect("it is there")["metadata"]["resourceVersion"].clone(),
            );
        }
        versions.push(now);
    }
    assert!(versions.iter().all(|now| *now == versions[0]), "{versions:#?}");
    lab.sim.faults(Vec::new());
    lab.wait_ready("DNSZone", "zone").await;
    let is_outage = |told: &&Told| told.reason == "ProviderUnavailable";
    let told = lab.events("DNSZone", "zone").await;
    let told: Vec<&Told> = told.iter().filter(is_outage).collect();
    assert!(matches!(&told[..], [one] if one.kind == "Warning" && one.count == 1), "{told:#?}");
    for name in &names {
        lab.wait_ready("RecordSet", name).await;
        assert_eq!(lab.events("RecordSet", name).await.iter().filter(is_outage).count(), 0);
    }
}
