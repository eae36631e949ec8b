//! Templates are untrusted text: one that would eat the machine, or read what is not for names, spoils its own zone only.

use serde_json::{Value, json};

use super::{balance, service, told};
use crate::support::{Lab, Manifest};

/// A whole operator with a few objects needs a small part of it.
const MUCH_MEMORY: u64 = 1 << 30;

fn doubling(lab: &Lab<'_>, times: usize, how: &str) -> String {
    format!(
        "{{{{ $x := .Name }}}}{}{{{{ len $x }}}}.{}",
        format!("{{{{ $x = {how} }}}}").repeat(times),
        lab.domain
    )
}

#[tokio::test]
async fn a_template_that_grows_without_end_spoils_its_own_zone_only() {
    let lab = Lab::ready_to_run("growing").await;
    // Without grants: a template names the Services of all namespaces that it may.
    let templated = |template: &str| {
        lab.dns_zone().with("sources", json!({"kinds": ["Service"], "fqdnTemplate": template}))
    };
    let good = lab.at("good");
    let good_zone = lab.sim.zone(&good, cloudflare_sim::Plan::Free);
    let sources = json!({"kinds": ["Service"], "fqdnTemplate": format!("{{{{.Name}}}}.{good}")});
    lab.apply(&lab.zone_of(&good).named("good").with("sources", sources)).await;
    // A little of it is fine: "web" ten times doubled.
    lab.apply(&templated(&doubling(&lab, 10, "print $x $x"))).await;
    lab.run();
    let publish = async |name: &str| {
        let mut labelled = service(name, json!({}));
        for label in ["a", "b", "c", "d"] {
            labelled = labelled.labelled(label, "x");
        }
        lab.apply(&labelled).await;
        balance(&lab, "Service", name, &["192.0.2.1"]).await;
        let host = format!("{name}.{good}");
        control_plane::eventually("the other zone goes on", control_plane::DEADLINE, async || {
            let records = lab.sim.records(&good_zone);
            if records.iter().any(|record| record["name"] == *host) { Ok(()) } else { Err(records) }
        })
        .await;
    };
    publish("web").await;
    lab.wait_contents(&["3072 A 192.0.2.1"]).await;
    let walking = "{{range $.Labels}}".repeat(30) + &"{{end}}".repeat(30);
    for (name, template) in [
        ("doubled", doubling(&lab, 40, "print $x $x")),
        ("quoted", doubling(&lab, 24, "printf \"%q%q\" $x $x")),
        ("replaced", doubling(&lab, 12, "replace \"\" $x $x")),
        ("walked", walking),
    ] {
        let generation = lab.apply(&templated(&template)).await["metadata"]["generation"].clone();
        lab.wait("DNSZone", "zone", "read", |zone| zone["status"]["observedGeneration"] == generation).await;
        publish(name).await;
        let note = told(&lab, "Service", name, "InvalidValue").await;
        assert!(
            note.contains("spec.sources.fqdnTemplate") && note.contains("more text than names can be"),
            "{name}: {note}"
        );
        assert_eq!(lab.contents(), ["3072 A 192.0.2.1"], "{name}: what was there stays");
    }
    let memory = lab.most_memory();
    assert!(memory < MUCH_MEMORY, "{memory} bytes");
}

/// A Pod with something in its environment that is not for everybody.
async fn secretive(lab: &Lab<'_>, name: &str) {
    let environment = json!([{"name": "PASSWORD", "value": "hidden-password"}]);
    let container = json!({"name": "main", "image": "example.net/hidden-image", "env": environment, "args": ["--hidden-arg"]});
    lab.apply(&Manifest(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    })))
    .await;
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let addresses = json!([{"ip": "192.0.2.1"}]);
    let status = json!({"phase": "Running", "podIP": "192.0.2.1", "podIPs": addresses, "conditions": ready});
    lab.patch_status("Pod", name, json!({"status": status})).await;
}

#[tokio::test]
async fn a_template_never_shows_what_a_pod_keeps_to_itself() {
    let lab = Lab::ready_to_run("pod-template").await;
    let templated = |template: &str| {
        let template = format!("{template}.{}", lab.domain);
        lab.dns_zone().with("sources", json!({"kinds": ["Pod"], "fqdnTemplate": template}))
    };
    lab.apply(&templated("{{ .Name }}.pods")).await;
    lab.run();
    secretive(&lab, "seen").await;
    lab.wait_contents(&["seen.pods A 192.0.2.1"]).await;
    let refused = [
        "{{ (index .Spec.Containers 0).Env }}",
        "{{ (index (index .Spec.Containers 0).Env 0).Value }}",
        "{{ range .spec.containers }}{{ range .env }}{{ .value }}{{ end }}{{ end }}",
        "{{ .Spec.ServiceAccountName }}",
        "{{ .metadata.managedFields }}",
    ];
    // These ask for no field in particular: they see the rest.
    let around = [
        "{{ index (index (index .Spec \"containers\") 0) \"image\" }}",
        "{{ with .Spec }}{{ range .Containers }}{{ .Image }}{{ end }}{{ end }}x",
        "{{ range $k, $v := .Spec }}{{ $v }}{{ end }}x",
        "{{ . }}",
    ];
    for (number, template) in refused.iter().chain(&around).enumerate() {
        let generation = lab.apply(&templated(template)).await["metadata"]["generation"].clone();
        lab.wait("DNSZone", "zone", "read", |zone| zone["status"]["observedGeneration"] == generation).await;
        let name = format!("pod-{number}");
        secretive(&lab, &name).await;
        if refused.contains(template) {
            let note = told(&lab, "Pod", &name, "InvalidValue").await;
            assert!(note.contains("templates don't see the field"), "{template}: {note}");
        }
        lab.scan().await;
        let events = format!("{:?}", lab.events("Pod", &name).await);
        assert!(!events.contains("hidden-"), "{template}: {events}");
    }
    let told = json!({"zone": lab.get("DNSZone", "zone").await, "records": lab.sim.records(&lab.zone)});
    let written: Vec<Value> = lab.sim.journal().into_iter().map(|entry| entry.body).collect();
    for (place, text) in
        [("status", told.to_string()), ("requests", json!(written).to_string()), ("the log", lab.log())]
    {
        assert!(!text.contains("hidden-"), "{place}: {text}");
    }
}
