//! `zonekeeper status`: who asks for what, and what became of it.

use std::process::Stdio;

use control_plane::User;
use serde_json::{Value, json};
use zonekeeper_tests::binary::binary;

use super::{balance, ingress, lab_with, told};
use crate::support::Lab;

#[tokio::test]
async fn everybody_who_asks_is_shown_with_what_became_of_it() {
    let lab = lab_with("status-command", &["Ingress"]).await;
    lab.apply(&ingress(&lab, "web", &["www"])).await;
    balance(&lab, "Ingress", "web", &["192.0.2.1"]).await;
    lab.apply(&ingress(&lab, "waiting", &["waiting"])).await;
    lab.ready(&lab.records("mail", "MX", &["10 mx.example.net."])).await;
    told(&lab, "Ingress", "web", "Programmed").await;
    told(&lab, "Ingress", "waiting", "TargetsUnknown").await;
    let shown: Value = serde_json::from_str(&status(&lab, &["-o", "json"]).await).expect("JSON");
    let rows = shown["records"].as_array().expect("records");
    let row = |host: &str| rows.iter().find(|row| row["name"] == lab.at(host)).expect("a row").clone();
    let www = row("www");
    assert_eq!(www["type"], "A");
    assert_eq!(www["values"], json!(["192.0.2.1"]));
    assert_eq!(www["source"], json!({"kind": "Ingress", "namespace": lab.home.name(), "name": "web"}));
    assert_eq!((&www["state"], &www["reason"]), (&json!("Ready"), &json!("Programmed")));
    assert_eq!(www["zone"], format!("{}/zone", lab.home.name()));
    let waiting = row("waiting");
    assert_eq!((&waiting["state"], &waiting["reason"]), (&json!("Reconciling"), &json!("TargetsUnknown")));
    assert_eq!(row("mail")["source"]["kind"], "RecordSet");
    let text = status(&lab, &[]).await;
    let heading: Vec<&str> = text.lines().next().expect("a heading").split_whitespace().collect();
    assert_eq!(heading, ["NAME", "TYPE", "VALUE", "SOURCE", "STATE", "REASON"]);
    let line = text.lines().find(|line| line.starts_with(&lab.at("www"))).expect("a line");
    assert!(
        line.contains(&format!("Ingress {}/web", lab.home.name())) && line.ends_with("Programmed"),
        "{text}"
    );
}

#[tokio::test]
async fn without_an_operator_the_next_step_is_named() {
    let lab = Lab::bare("status-alone").await;
    let error = run(&lab, &["--server", "http://127.0.0.1:1"]).await.expect_err("nobody is there");
    assert!(error.contains("http://127.0.0.1:1"), "{error}");
}

async fn status(lab: &Lab<'_>, arguments: &[&str]) -> String {
    run(lab, arguments).await.expect("the operator answers")
}

/// Runs the command as somebody with a kubeconfig; other operators may have announced themselves as well.
async fn run(lab: &Lab<'_>, arguments: &[&str]) -> Result<String, String> {
    let kubeconfig = lab.plane().kubeconfig(&User::admin()).expect("a kubeconfig");
    let output = tokio::process::Command::new(binary())
        .arg("status")
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .args(["--namespace", lab.home.name()])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    match output.status.success() {
        true => Ok(text(output.stdout)),
        false => Err(text(output.stderr)),
    }
}
