//! `zonekeeper status`: who asks for what, and what became of it.

use std::process::Stdio;

use control_plane::User;
use k8s_openapi::api::{authentication::v1::TokenRequest, core::v1::ServiceAccount};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use zonekeeper_tests::{binary::binary, web::client};

use super::{balance, ingress, lab_with, told};
use crate::support::{Lab, objects, operator::free_port};

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

#[tokio::test]
async fn names_and_values_are_not_on_the_port_that_everybody_reaches() {
    let lab = Lab::new("status-private").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    for path in ["/api/v1/records", "/", "/api/v1"] {
        let error = lab.serves(path).await.expect_err("nothing is there");
        assert_eq!(error.status().map(|status| status.as_u16()), Some(404), "{path}");
    }
    for path in ["/metrics", "/healthz", "/readyz"] {
        lab.serves(path).await.expect("it is there");
    }
    assert!(status(&lab, &[]).await.contains(&lab.at("www")), "on loopback it is");
}

#[tokio::test]
async fn elsewhere_a_token_is_asked_for_and_shows_what_its_user_may_list() {
    let lab = Lab::ready_to_run("status-shared").await;
    lab.apply(&lab.dns_zone().with("allowedRecords", json!([{"namespaces": {"from": "All"}}]))).await;
    let address = format!("0.0.0.0:{}", free_port());
    lab.run_with(&["--api-listen", &address]);
    let url = format!("http://{}{}", address.replace("0.0.0.0", "127.0.0.1"), "/api/v1/records");
    let tenant = lab.tenant(json!({})).await;
    lab.ready(&lab.a("ours", "192.0.2.1")).await;
    lab.apply(&lab.a("theirs", "192.0.2.2").in_namespace(tenant.name())).await;
    lab.wait_ready("RecordSet", &format!("{}/theirs", tenant.name())).await;
    let ask = async |token: Option<&str>| {
        let request = client().get(&url);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let answer = request.send().await.expect("it answers");
        (answer.status().as_u16(), answer.text().await.expect("text"))
    };
    assert_eq!(ask(None).await.0, 401);
    let token = token_of_reader(&lab, tenant.name()).await;
    let (code, said) = ask(Some(&token)).await;
    assert!(code == 503 && said.contains("system:auth-delegator"), "{code} {said}");
    bind(&lab, None, "system:auth-delegator", ("zonekeeper", "zonekeeper-system")).await;
    assert_eq!(ask(Some("not a token")).await.0, 401);
    let (code, said) = ask(Some(&token)).await;
    let shown: Value = serde_json::from_str(&said).expect("JSON");
    let names: Vec<&str> =
        shown["records"].as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!((code, names), (200, vec![&*lab.at("theirs")]), "{said}");
}

/// A token of a ServiceAccount that may read RecordSets of one namespace.
async fn token_of_reader(lab: &Lab<'_>, namespace: &str) -> String {
    let apply = async |object: Value| {
        objects::apply(lab.home.client(), &object).await.expect("the API server takes it");
    };
    let meta = json!({"name": "reader", "namespace": namespace});
    apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})).await;
    let rules =
        json!([{"apiGroups": ["zonekeeper.dev"], "resources": ["recordsets"], "verbs": ["get", "list"]}]);
    apply(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta, "rules": rules}))
        .await;
    bind(lab, Some(namespace), "reader", ("reader", namespace)).await;
    let accounts: Api<ServiceAccount> = Api::namespaced(lab.home.client(), namespace);
    let (parameters, request) = (PostParams::default(), TokenRequest::default());
    let made = accounts.create_token_request("reader", &parameters, &request).await;
    made.expect("a token").status.expect("a status").token
}

/// Binds a role of a namespace, or of the cluster, to a ServiceAccount.
async fn bind(lab: &Lab<'_>, namespace: Option<&str>, role: &str, account: (&str, &str)) {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let object = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": format!("{kind}Binding"),
        "metadata": {"name": format!("{}-{}", lab.home.name(), account.0), "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account.0, "namespace": account.1}],
    });
    objects::apply(lab.home.client(), &object).await.expect("the API server takes it");
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
