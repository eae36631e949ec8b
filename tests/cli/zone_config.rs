//! The zone itself, from a folder: created, configured, signed, by plan and hash like its records.

use cloudflare_sim::{Action, EntryKind, Fault, Right, TokenGrant, When};
use serde_json::{Value, json};

use crate::support::{Lab, Manifest, records, zone};

/// A folder with a zone that Cloudflare does not have.
async fn without_zone() -> Lab {
    let lab = Lab::start().await;
    lab.sim.remove_zone(&lab.zone);
    let provider = lab.provider().with("cloudflare.accountID", json!(lab.sim.account()));
    lab.folder.put("provider.yaml", &[provider]);
    lab
}

fn created() -> Manifest {
    zone("example.com").with("lifecycle", json!({"create": true}))
}

fn configured(cloudflare: Value) -> Manifest {
    zone("example.com").with("cloudflare", cloudflare)
}

fn www() -> Manifest {
    records("www.example.com", "A", &["192.0.2.1"])
}

/// The changes of the zone itself as `operation field before after held`.
fn fields(plan: &Value) -> Vec<String> {
    let changes = plan["zones"][0]["changes"].as_array().expect("changes");
    let fields = changes.iter().filter(|change| change.get("field").is_some());
    fields
        .map(|it| {
            format!(
                "{} {} {} -> {} {}",
                it["operation"].as_str().unwrap_or_default(),
                it["field"].as_str().unwrap_or_default(),
                it["before"],
                it["after"],
                it["held"]
            )
        })
        .collect()
}

/// How many requests other than reads were sent since.
fn writes(lab: &Lab, since: u64) -> usize {
    let entries = lab.sim.journal_since(since).into_iter();
    entries.filter(|entry| entry.kind == EntryKind::Request && entry.method != "GET").count()
}

#[tokio::test]
async fn a_missing_zone_is_not_found_unless_it_may_be_created() {
    let lab = without_zone().await;
    lab.want(&[www()]);
    lab.plan().await.exits(1).says("ZoneNotFound").says("lifecycle.create");
    lab.declare(created());
    let plan = lab.plan().await.exits(2);
    plan.says("+ zone").says("+ www A 192.0.2.1").says("2 to create");
    assert_eq!(lab.sim.zones(), [], "a plan creates nothing");
}

#[tokio::test]
async fn a_zone_is_created_with_its_records_and_then_nothing_is_to_do() {
    let lab = without_zone().await;
    lab.declare(created());
    lab.want(&[www()]);
    lab.apply().await.exits(0).says("+ zone").says("+ www A");
    let zones = lab.sim.zones();
    assert_eq!(zones.len(), 1);
    assert_eq!(lab.contents_of(&zones[0].1), ["www.example.com A 192.0.2.1"]);
    lab.plan().await.exits(0).says("nothing to do");
    lab.apply().await.exits(0);
    assert_eq!(lab.sim.zones().len(), 1);
}

#[tokio::test]
async fn a_zone_that_is_there_is_not_created_again() {
    let lab = Lab::start().await;
    lab.declare(created());
    lab.applied(&[www()]).await;
    assert_eq!(lab.sim.zones().len(), 1);
    lab.plan().await.exits(0).says("nothing to do");
}

#[tokio::test]
async fn the_hash_of_a_plan_covers_the_zone_itself() {
    let lab = without_zone().await;
    lab.declare(created());
    lab.want(&[www()]);
    let hash = lab.plan_json().await["hash"].as_str().unwrap().to_owned();
    lab.declare(created().with("cloudflare", json!({"paused": true})));
    lab.call("apply").args(&["--plan-hash", &hash]).run().await.exits(1).says("the plan has changed");
    assert_eq!(lab.sim.zones(), []);
    let run = lab.approve().await.exits(0);
    run.says("+ zone");
    assert_eq!(lab.sim.zones().len(), 1);
}

#[tokio::test]
async fn only_listed_settings_are_written_and_equal_ones_are_not() {
    let lab = Lab::start().await;
    lab.declare(configured(json!({
        "settings": {"ssl": "strict", "always_use_https": true, "min_tls_version": 1.0},
        "dnsSettings": {"nsTTL": 86400, "multiProvider": true, "soa": {"refresh": 7200}},
        "hold": {"enabled": true, "includeSubdomains": true},
        "paused": false,
    })));
    let plan = lab.plan_json().await;
    assert_eq!(
        fields(&plan),
        [
            "Update dnsSettings.multi_provider false -> true false",
            "Update dnsSettings.soa.refresh 10000 -> 7200 false",
            "Update hold.enabled false -> true false",
            "Update hold.includeSubdomains false -> true false",
            "Update settings.always_use_https \"off\" -> \"on\" false",
            "Update settings.ssl \"full\" -> \"strict\" false",
        ]
    );
    let before = lab.sim.last_sequence();
    lab.apply().await.exits(0).says("~ zone settings.ssl: \"full\" -> \"strict\"");
    assert_eq!(writes(&lab, before), 4, "one request per endpoint and setting");
    lab.plan().await.exits(0).says("nothing to do");
}

#[tokio::test]
async fn a_setting_that_is_changed_in_the_dashboard_is_restored() {
    let lab = Lab::start().await;
    lab.declare(configured(json!({"settings": {"ssl": "strict"}})));
    lab.apply().await.exits(0);
    lab.sim.set(&lab.zone, "ssl", json!("off"));
    lab.plan().await.exits(2).says("~ zone settings.ssl: \"off\" -> \"strict\"");
    lab.apply().await.exits(0);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_zone_is_signed_and_the_markdown_says_so() {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("dnssec", json!({"mode": "On"})));
    let markdown = lab.call("plan").args(&["-o", "markdown"]).run().await.exits(2);
    markdown.says("| ~ | dnssec | zone | `Off` | `On` |");
    lab.apply().await.exits(0).says("~ zone dnssec: Off -> On");
    // Until the parent has the DS record, Cloudflare says pending: that is signed.
    lab.plan().await.exits(0).says("nothing to do");
}

#[tokio::test]
async fn observe_and_create_only_leave_the_zone_as_it_is() {
    let lab = without_zone().await;
    lab.declare(created().with("policy", json!("Observe")));
    lab.apply().await.exits(0).says("+ zone   observed only");
    assert_eq!(lab.sim.zones(), []);
    let lab = Lab::start().await;
    lab.declare(configured(json!({"paused": true})).with("policy", json!("CreateOnly")));
    lab.apply().await.exits(0);
    lab.plan().await.exits(0).says("nothing to do");
}

#[tokio::test]
async fn a_missing_permission_is_named_and_records_go_on() {
    let lab = Lab::start().await;
    let grant = TokenGrant::of([Right::ZoneRead, Right::DnsRead, Right::DnsWrite]);
    let token = lab.sim.token(grant);
    lab.folder.put("token.yaml", &[crate::support::secret("cloudflare", "apiToken", &token)]);
    lab.declare(configured(json!({"settings": {"ssl": "strict"}})));
    lab.want(&[www()]);
    lab.apply().await.exits(1).says("Zone Settings").says("CredentialsInvalid");
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn what_a_plan_does_not_include_is_said_in_cloudflare_s_words() {
    let lab = without_zone().await;
    lab.declare(created().with("cloudflare", json!({"type": "partial"})));
    lab.apply().await.exits(1).says("Partial zone signup not allowed (1104)").says("upgrade the plan");
    assert_eq!(lab.sim.zones(), []);
}

#[tokio::test]
async fn a_creation_whose_answer_is_lost_is_found_and_not_repeated() {
    let lab = without_zone().await;
    lab.declare(created());
    lab.want(&[www()]);
    lab.sim.faults(vec![Fault::cut_after_write(1)]);
    lab.apply().await.exits(0);
    assert_eq!(lab.sim.zones().len(), 1);
    let journal = lab.sim.journal();
    let creations = journal.iter().filter(|entry| entry.method == "POST" && entry.path.ends_with("/zones"));
    assert_eq!(creations.count(), 1);
}

#[tokio::test]
async fn records_that_come_back_with_a_zone_are_not_ours() {
    let lab = Lab::start().await;
    lab.seed("A", "old.example.com", "192.0.2.99");
    let provider = lab.provider().with("cloudflare.accountID", json!(lab.sim.account()));
    lab.folder.put("provider.yaml", &[provider]);
    lab.sim.delete_zone(&lab.zone);
    lab.declare(created());
    lab.want(&[www()]);
    lab.apply().await.exits(0);
    let id = &lab.sim.zones()[0].1;
    assert_eq!(lab.contents_of(id), ["old.example.com A 192.0.2.99", "www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn a_provider_that_can_not_do_it_says_so_on_the_zone() {
    let lab = Lab::start().await;
    lab.folder.put("provider.yaml", &[crate::support::builtin()]);
    lab.declare(
        zone("example.com").with("dnssec", json!({"mode": "On"})).with("cloudflare", json!({"paused": true})),
    );
    let run = lab.plan().await.exits(1);
    run.says("rejected: dnszone default/example-com: InvalidValue: spec.dnssec.mode")
        .says("spec.cloudflare.paused");
}

#[tokio::test]
async fn the_account_of_new_zones_is_asked_for() {
    let lab = without_zone().await;
    lab.folder.put("provider.yaml", &[lab.provider()]);
    lab.declare(created());
    lab.apply().await.exits(1).says("spec.cloudflare.accountID");
}

/// All that can be managed of a zone, so that it takes every kind of write.
fn managed() -> Manifest {
    created().with("dnssec", json!({"mode": "On"})).with(
        "cloudflare",
        json!({
            "paused": true,
            "settings": {"ssl": "strict", "always_use_https": true},
            "dnsSettings": {"multiProvider": true},
            "hold": {"enabled": true},
        }),
    )
}

#[tokio::test]
async fn every_step_may_be_cut_off_before_and_after_and_the_end_is_the_same() {
    let whole = without_zone().await;
    whole.declare(managed());
    whole.want(&[www()]);
    let before = whole.sim.writes();
    whole.apply().await.exits(0);
    let steps = whole.sim.writes() - before;
    assert!(steps >= 7, "{steps} writes: zone, record, DNSSEC, hold, pause, two settings, DNS settings");
    for step in 1..=steps {
        for when in [When::Before, When::After] {
            let label = format!("cut {when:?} write {step} of {steps}");
            println!("{label}");
            let lab = without_zone().await;
            lab.declare(managed());
            lab.want(&[www()]);
            lab.sim.faults(vec![Fault::cut_from_write(step as u64, when)]);
            lab.apply().await.exits(1);
            lab.sim.faults(Vec::new());
            lab.apply().await.exits(0);
            let zones = lab.sim.zones();
            assert_eq!(zones.len(), 1, "{label}: created once");
            assert_eq!(lab.contents_of(&zones[0].1), ["www.example.com A 192.0.2.1"], "{label}");
            lab.plan().await.exits(0).says("nothing to do");
        }
    }
}

/// What a person reads about a refusal: a word of the advice for each code of the reference.
#[tokio::test]
async fn every_code_says_what_to_do() {
    let codes: &[(u16, u32, &str, &str)] = &[
        (400, 1002, "ProviderRejected", "check spec.domain"),
        (400, 1049, "ProviderRejected", "register the domain first"),
        (400, 1099, "ProviderRejected", "no subdomain"),
        (400, 1050, "RateLimited", "it is tried again"),
        (400, 1110, "RateLimited", "it is tried again"),
        (400, 1104, "ProviderRejected", "upgrade the plan"),
        (400, 1070, "ProviderRejected", "upgrade the plan"),
        (400, 1098, "RateLimited", "too many attempts"),
        (400, 1105, "RateLimited", "too many attempts"),
        (400, 1096, "ProviderRejected", "ask its support"),
        (400, 1097, "ProviderRejected", "ask its support"),
        (403, 1067, "ProviderRejected", "accountID"),
        (403, 1068, "ProviderRejected", "accountID"),
        (403, 1106, "ProviderRejected", "accountID"),
        (400, 1018, "RateLimited", "state does not allow it yet"),
        (400, 1057, "RateLimited", "state does not allow it yet"),
        (400, 1071, "ProviderRejected", "name servers"),
        (400, 1085, "ProviderRejected", "spec.cloudflare"),
        (400, 1088, "ProviderRejected", "subscription"),
        (403, 10000, "CredentialsInvalid", "Zone Write"),
        (403, 9109, "CredentialsInvalid", "Zone Write"),
    ];
    for (status, code, reason, advice) in codes {
        let lab = without_zone().await;
        lab.declare(created());
        lab.sim.faults(vec![Fault::nth_write(1, Action::Refusal { status: *status, code: *code })]);
        let run = lab.apply().await.exits(1);
        run.says(&format!("({code})")).says(advice).says(reason);
        assert_eq!(lab.sim.zones(), [], "code {code}");
    }
}
