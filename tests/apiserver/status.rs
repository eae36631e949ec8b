//! What people and machines read: conditions, columns, Events, managed fields, metrics.

use control_plane::{User, eventually, program};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{Lab, condition, lab::DEADLINE};

/// Runs kubectl as the administrator in the lab's namespace, and returns what it prints.
async fn kubectl(lab: &Lab<'_>, arguments: &[&str]) -> String {
    let kubeconfig = lab.plane().kubeconfig(&User::admin()).expect("a kubeconfig");
    let output = Command::new(program("kubectl").expect("kubectl"))
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--namespace", lab.home.name()])
        .args(arguments)
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .await
        .expect("kubectl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[tokio::test]
async fn statuses_speak_kstatus() {
    let lab = Lab::ready_to_run("kstatus").await;
    let fresh = lab.apply(&lab.a("www", "192.0.2.1")).await;
    assert_eq!(fresh["status"]["observedGeneration"], -1, "nobody has looked at it yet");
    lab.run();
    for (kind, name) in [("DNSProvider", lab.home.name()), ("DNSZone", "zone"), ("RecordSet", "www")] {
        let object = lab.wait_ready(kind, name).await;
        assert_eq!(condition(&object, "Reconciling").status, "False", "{kind}");
        assert_eq!(condition(&object, "Stalled").status, "False", "{kind}");
        for shown in object["status"]["conditions"].as_array().expect("conditions") {
            assert_eq!(shown["observedGeneration"], object["metadata"]["generation"], "{kind} {shown}");
            assert!(!shown["message"].as_str().unwrap_or_default().is_empty(), "{kind} {shown}");
        }
    }
    let types = |object: &Value| -> Vec<String> {
        let shown = object["status"]["conditions"].as_array().expect("conditions").iter();
        let mut types: Vec<String> =
            shown.map(|shown| shown["type"].as_str().unwrap_or_default().into()).collect();
        types.sort();
        types
    };
    let record = lab.get("RecordSet", "www").await.expect("it is there");
    let of_record = ["Accepted", "DriftDetected", "Programmed", "Ready", "Reconciling", "Stalled"];
    assert_eq!(types(&record), of_record);
    let zone = lab.get("DNSZone", "zone").await.expect("it is there");
    let of_zone = ["Accepted", "DriftDetected", "Held", "Programmed", "Ready", "Reconciling", "Stalled"];
    assert_eq!(types(&zone), of_zone);
    let provider = lab.get("DNSProvider", lab.home.name()).await.expect("it is there");
    assert_eq!(types(&provider), ["CredentialsValid", "Ready", "Reconciling", "Stalled"]);
    // Only a person can help.
    lab.not_ready(&lab.records("mx", "MX", &["mail"]), "InvalidValue").await;
    let bad = lab.get("RecordSet", "mx").await.expect("it is there");
    assert_eq!(condition(&bad, "Stalled").status, "True");
    assert_eq!(condition(&bad, "Reconciling").status, "False");
    // A condition's time moves only with its status.
    let before = condition_time(&record);
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    let record = lab.get("RecordSet", "www").await.expect("it is there");
    assert_eq!(condition_time(&record), before);
}

fn condition_time(object: &Value) -> Value {
    let shown = object["status"]["conditions"].as_array().expect("conditions");
    let accepted = shown.iter().find(|shown| shown["type"] == "Accepted").expect("Accepted");
    accepted["lastTransitionTime"].clone()
}

#[tokio::test]
async fn columns_show_what_people_look_for() {
    let lab = Lab::new("columns").await;
    lab.ready(&lab.records("www", "A", &["192.0.2.1", "192.0.2.2"]).with("ttl", 300)).await;
    lab.wait("DNSZone", "zone", "counted", |object| object["status"]["records"]["owned"] == 1).await;
    let shown = kubectl(&lab, &["get", "rrset", "www"]).await;
    let (head, row) = shown.split_once('\n').expect("two lines");
    let columns: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(columns, ["NAME", "NAME", "TYPE", "VALUES", "TTL", "READY", "REASON", "AGE"]);
    for word in [&*lab.at("www"), " A ", "192.0.2.1", "300", "True", "Programmed"] {
        assert!(row.contains(word), "{word}: {row}");
    }
    let wide = kubectl(&lab, &["get", "rrset", "www", "-o", "wide"]).await;
    for word in ["PROXIED", "ZONE ID", "RECORD ID", "LAST SYNC", "MESSAGE", &*lab.zone] {
        assert!(wide.contains(word), "{word}: {wide}");
    }
    let zones = kubectl(&lab, &["get", "zkz"]).await;
    let head: Vec<&str> = zones.lines().next().expect("a line").split_whitespace().collect();
    assert_eq!(head, ["NAME", "DOMAIN", "PROVIDER", "POLICY", "RECORDS", "HELD", "READY", "REASON", "AGE"]);
    let row: Vec<&str> = zones.lines().nth(1).expect("a line").split_whitespace().collect();
    assert_eq!(row[..8], ["zone", &*lab.domain, lab.home.name(), "Sync", "1", "0", "True", "Programmed"]);
    kubectl(&lab, &["get", "zonekeeper"]).await;
}

#[tokio::test]
async fn k12_kubectl_wait_returns_when_it_is_ready() {
    let lab = Lab::ready_to_run("wait").await;
    lab.apply(&lab.a("www", "192.0.2.1")).await;
    let waited = kubectl(&lab, &["wait", "--for=condition=Ready", "--timeout=30s", "rrset/www", "zkz/zone"]);
    lab.run();
    waited.await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    // What is refused is waited for in another way.
    lab.apply(&lab.records("mx", "MX", &["mail"])).await;
    kubectl(&lab, &["wait", "--for=condition=Stalled", "--timeout=30s", "rrset/mx"]).await;
}

#[tokio::test]
async fn events_carry_the_reason_and_are_told_once() {
    let lab = Lab::new("events").await;
    // Before that, the marker key is being made.
    lab.wait_ready("DNSZone", "zone").await;
    lab.ready(&lab.a("www", "192.0.2.1").named("first").with("ttl", 300)).await;
    lab.not_ready(&lab.a("www", "192.0.2.2").named("second").with("ttl", 600), "Conflict").await;
    lab.scan().await;
    lab.scan().await;
    let told = eventually("the Events", DEADLINE, async || {
        let (first, second) =
            (lab.events("RecordSet", "first").await, lab.events("RecordSet", "second").await);
        if first.is_empty() || second.is_empty() { Err((first, second)) } else { Ok((first, second)) }
    });
    let (first, second) = told.await;
    let words = |events: &[crate::support::looks::Told]| -> Vec<String> {
        events.iter().map(|event| format!("{} {}", event.kind, event.reason)).collect()
    };
    assert_eq!(words(&first), ["Normal Programmed"]);
    assert_eq!(words(&second), ["Warning Conflict"]);
    assert!(second[0].note.contains(&format!("{}/first", lab.home.name())), "{second:?}");
    // A restart tells nothing again.
    lab.kill().await;
    lab.run();
    lab.scan().await;
    assert_eq!(words(&lab.events("RecordSet", "first").await), ["Normal Programmed"]);
    assert_eq!(words(&lab.events("RecordSet", "second").await), ["Warning Conflict"]);
}

#[tokio::test]
async fn status_has_one_manager_by_server_side_apply() {
    let lab = Lab::new("managers").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    for (kind, name) in [("DNSProvider", lab.home.name()), ("DNSZone", "zone"), ("RecordSet", "www")] {
        let object = lab.wait_ready(kind, name).await;
        let fields = object["metadata"]["managedFields"].as_array().expect("managed fields");
        let of_status: Vec<_> = fields.iter().filter(|entry| entry["subresource"] == "status").collect();
        assert_eq!(of_status.len(), 1, "{kind}: {of_status:#?}");
        assert_eq!(
            (&of_status[0]["manager"], &of_status[0]["operation"]),
            (&json!("zonekeeper"), &json!("Apply"))
        );
    }
}

#[tokio::test]
async fn a_requested_reconcile_is_done_and_noted() {
    let lab = Lab::new("requested").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.sim.edit(&lab.zone, &lab.id_of("www", "A"), json!({"content": "192.0.2.66"}));
    lab.annotate("RecordSet", "www", "reconcile.fluxcd.io/requestedAt", "now").await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    lab.wait("RecordSet", "www", "noted", |object| object["status"]["lastHandledReconcileAt"] == "now").await;
}

#[tokio::test]
async fn case_46_metrics_follow_the_objects() {
    let lab = Lab::new("metrics").await;
    lab.wait_ready("DNSZone", "zone").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let label = format!("zone_namespace=\"{}\",zone=\"zone\"", lab.home.name());
    let shows = async |what: &str, is_it: &dyn Fn(&str) -> bool| {
        eventually(what, DEADLINE, async || {
            let metrics = lab.metrics().await;
            let lines: Vec<&str> = metrics.lines().filter(|line| line.contains(&label)).collect();
            let lines = lines.join("\n");
            if is_it(&lines) { Ok(()) } else { Err(lines) }
        })
        .await;
    };
    let ready = |value: u8| {
        move |lines: &str| {
            lines
                .lines()
                .any(|line| line.starts_with("zonekeeper_zone_ready") && line.ends_with(&format!(" {value}")))
        }
    };
    shows("a zone that is Ready", &ready(1)).await;
    lab.apply(&lab.dns_zone().with("prune", json!({"mode": "All", "ignore": [{"name": "a".repeat(70)}]})))
        .await;
    lab.wait_reason("DNSZone", "zone", "InvalidValue").await;
    shows("a zone that is not", &ready(0)).await;
    lab.delete("RecordSet", "www").await;
    lab.annotate("RecordSet", "www", "zonekeeper.dev/release", "true").await;
    lab.delete("DNSZone", "zone").await;
    lab.wait_gone("DNSZone", "zone").await;
    shows("nothing of a zone that is gone", &|lines| lines.is_empty()).await;
}

#[tokio::test]
async fn a_record_set_in_more_zones_than_its_status_holds_is_ready() {
    let lab = Lab::ready_to_run("many-zones").await;
    let domains: Vec<String> = (0..101).map(|i| format!("z{i}.{}", lab.domain)).collect();
    for domain in &domains {
        lab.sim.zone(domain, cloudflare_sim::Plan::Free);
        let taking = json!([{"selector": {"matchLabels": {"every": "zone"}}}]);
        lab.apply(&lab.zone_of(domain).with("recordsFrom", taking)).await;
    }
    lab.run();
    let everywhere = lab.a("www", "192.0.2.1").without("name").with("relativeName", "www");
    let object = lab.ready(&everywhere.labelled("every", "zone")).await;
    assert_eq!(object["status"]["zones"].as_array().map(Vec::len), Some(100));
    let message = condition(&object, "Ready").message;
    assert!(message.contains("100 of its 101 zones"), "{message}");
    for domain in &domains {
        assert_eq!(lab.sim.records(&lab.sim.zone(domain, cloudflare_sim::Plan::Free)).len(), 1, "{domain}");
    }
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    for domain in &domains {
        assert_eq!(lab.sim.records(&lab.sim.zone(domain, cloudflare_sim::Plan::Free)).len(), 0, "{domain}");
    }
}

#[tokio::test]
async fn a_status_that_is_refused_waits_alone() {
    let lab = Lab::ready_to_run("refused-status").await;
    let name = format!("{}-stubborn", lab.home.name());
    let rules = json!([{
        "apiGroups": ["zonekeeper.dev"], "apiVersions": ["*"], "operations": ["UPDATE"],
        "resources": ["recordsets/status"], "resourceNames": ["stubborn"],
    }]);
    let validations = json!([{"expression": "false", "message": "not this one"}]);
    let constraints = json!({"resourceRules": rules});
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": lab.home.name()}});
    for (kind, spec) in [
        ("ValidatingAdmissionPolicy", json!({"matchConstraints": constraints, "validations": validations})),
        (
            "ValidatingAdmissionPolicyBinding",
            json!({"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": selector}}),
        ),
    ] {
        let api_version = "admissionregistration.k8s.io/v1";
        let object =
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
        crate::support::objects::apply(lab.home.client(), &object).await.expect("the API server takes it");
    }
    lab.apply(&lab.a("stubborn", "192.0.2.1")).await;
    eventually("the policy holds", DEADLINE, async || {
        let status = json!({"status": {"observedGeneration": 7}});
        let api = crate::support::objects::api(lab.home.client(), "RecordSet", lab.home.name());
        let patch = kube::api::Patch::Merge(&status);
        match api.patch_status("stubborn", &kube::api::PatchParams::default(), &patch).await {
            Ok(_) => Err("not yet"),
            Err(_) => Ok(()),
        }
    })
    .await;
    lab.run();
    let begun = std::time::Instant::now();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.wait_contents(&["stubborn A 192.0.2.1", "www A 192.0.2.1"]).await;
    eventually("it is told", DEADLINE, async || {
        let told = lab.events("RecordSet", "stubborn").await;
        if told.iter().any(|told| told.reason == "InternalError") { Ok(()) } else { Err(told) }
    })
    .await;
    for value in ["192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"] {
        lab.ready(&lab.a("www", value)).await;
        lab.scan().await;
    }
    let log = lab.log();
    let tries =
        log.lines().filter(|line| line.contains("a write was not taken") && line.contains("stubborn"));
    let (tries, most) = (tries.count() as u64, 2 + begun.elapsed().as_secs() / 10);
    assert!((1..=most).contains(&tries), "{tries} tries, {most} at most: the first wait is 10 s");
}

#[tokio::test]
async fn the_log_has_one_line_for_every_change_with_its_object_and_cause() {
    let lab = Lab::ready_to_run("change-log").await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    lab.ready(&lab.a("after", "192.0.2.3")).await;
    let log = lab.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let shown = |line: Value| {
        let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
        ["message", "operation", "type", "before", "after", "cause"].map(text).join("|")
    };
    let name = lab.at("www");
    let about =
        lines.filter(|line| line["name"].as_str().is_some_and(|text| text.trim_end_matches('.') == name));
    let about: Vec<Value> = about.collect();
    let object = format!("recordset {}/www", lab.home.name());
    assert!(about.iter().all(|line| line["object"] == object && line["level"] == "INFO"), "{about:#?}");
    let shown: Vec<String> = about.into_iter().map(shown).collect();
    assert_eq!(
        shown,
        [
            "applied|create|A||192.0.2.1|wanted",
            "applied|update|A|192.0.2.1|192.0.2.2|wanted",
            "applied|delete|A|192.0.2.2||released",
        ]
    );
}
