//! Folders that are read: every spelling that Kubernetes users know.

use serde_json::json;

use crate::support::{Lab, lab::changes, records};

#[tokio::test]
async fn all_manifests_below_the_folder_count() {
    let lab = Lab::start().await;
    lab.folder.put(
        "a.yaml",
        &[records("a.example.com", "A", &["192.0.2.1"]), records("b.example.com", "A", &["192.0.2.1"])],
    );
    lab.folder.put("deep/er/c.yml", &[records("c.example.com", "A", &["192.0.2.1"])]);
    lab.folder.put("d.json", &[records("d.example.com", "A", &["192.0.2.1"])]);
    lab.folder.write("notes.txt", "not: [a manifest");
    lab.folder.write(".hidden.yaml", "not: [a manifest");
    lab.folder.write(".git/config.yaml", "not: [a manifest");
    let names: Vec<String> = changes(&lab.plan_json().await);
    let expected = ["a", "b", "c", "d"].map(|host| format!("Create {host}.example.com A"));
    assert_eq!(names, expected);
}

#[tokio::test]
async fn empty_documents_comments_and_markers_beside_a_manifest_are_none() {
    let lab = Lab::start().await;
    let www = records("www.example.com", "A", &["192.0.2.1"]).0;
    lab.folder.write("a.yaml", &format!("# a comment\n---\n---\n# another\n---\n{www}\n---\nnull\n---\n"));
    assert_eq!(changes(&lab.plan_json().await), ["Create www.example.com A"]);
}

#[tokio::test]
async fn plain_yaml_reads_as_people_write_it() {
    let lab = Lab::start().await;
    lab.folder.write(
        "a.yaml",
        r#"
apiVersion: zonekeeper.dev/v1alpha1
kind: RecordSet
metadata:
  name: www
  annotations: {note: "any"}
spec:
  name: WWW.Example.COM.   # case and dot don't matter
  type: A
  values:
    - 192.0.2.1
  ttl: 300
"#,
    );
    lab.folder.write("pretty.json", "{\n\t\"apiVersion\": \"zonekeeper.dev/v1alpha1\",\n\t\"kind\": \"RecordSet\",\n\t\"metadata\": {\"name\": \"tabs\"},\n\t\"spec\": {\n\t\t\"name\": \"tabs.example.com\",\n\t\t\"type\": \"A\",\n\t\t\"values\": [\"192.0.2.1\"]\n\t}\n}\n");
    lab.apply().await.exits(0);
    lab.plan().await.exits(0);
    assert_eq!(lab.contents(), ["tabs.example.com A 192.0.2.1", "www.example.com A 192.0.2.1"]);
    assert_eq!(lab.records("www.example.com", "A")[0]["ttl"], 300);
}

#[tokio::test]
async fn a_list_is_its_items() {
    let lab = Lab::start().await;
    let items =
        [records("a.example.com", "A", &["192.0.2.1"]).0, records("b.example.com", "A", &["192.0.2.1"]).0];
    lab.folder.write("list.yaml", &json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
    assert_eq!(changes(&lab.plan_json().await).len(), 2);
}

#[tokio::test]
async fn anchors_and_crlf_are_yaml_too() {
    let lab = Lab::start().await;
    lab.folder.write("a.yaml", "apiVersion: zonekeeper.dev/v1alpha1\r\nkind: RecordSet\r\nmetadata:\r\n  name: &host www\r\nspec:\r\n  name: www.example.com\r\n  type: TXT\r\n  values: [*host]\r\n");
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), ["www.example.com TXT \"www\""]);
}

#[tokio::test]
async fn a_byte_order_mark_is_no_part_of_the_text() {
    let lab = Lab::start().await;
    lab.folder.write("a.yaml", &format!("\u{feff}{}", records("www.example.com", "A", &["192.0.2.1"]).0));
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 1);
}

#[tokio::test]
async fn explicit_nulls_are_absent_fields() {
    let lab = Lab::start().await;
    let www = records("www.example.com", "A", &["192.0.2.1"])
        .with("relativeName", json!(null))
        .with("ttl", json!(null))
        .with("valuesFrom", json!(null))
        .with("zoneRefs", json!(null))
        .with("suspend", json!(null))
        .with("adoption", json!(null))
        .with("deletionPolicy", json!(null))
        .with("cloudflare", json!({"proxied": null, "comment": null, "tags": null, "settings": null}));
    let mut www = www;
    www.0["metadata"]["labels"] = json!(null);
    www.0["metadata"]["namespace"] = json!(null);
    www.0["status"] = json!(null);
    lab.want(&[www]);
    let zone = crate::support::zone("example.com");
    lab.declare(
        zone.with("guard", json!(null))
            .with("prune", json!({"mode": null}))
            .with("names", json!(null))
            .with("interval", json!(null)),
    );
    let provider = lab
        .provider()
        .with("registry.txt", json!(null))
        .with("builtin", json!(null))
        .with("webhook", json!(null));
    lab.folder.put("provider.yaml", &[provider]);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn kinds_of_others_are_skipped_with_a_note() {
    let lab = Lab::start().await;
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.folder.write("other.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n");
    lab.plan()
        .await
        .exits(2)
        .says("other.yaml:1: apps/v1 Deployment is skipped")
        .says("other.yaml:5: v1 ConfigMap is skipped");
}

#[tokio::test]
async fn what_kubectl_added_does_not_disturb() {
    let lab = Lab::start().await;
    let mut www = records("www.example.com", "A", &["192.0.2.1"]);
    www.0["metadata"]["uid"] = "6b0d2b32-0e2b-4f0e-9c43-000000000000".into();
    www.0["metadata"]["creationTimestamp"] = "2026-11-02T10:00:00Z".into();
    www.0["metadata"]["managedFields"] = json!([{"manager": "kubectl", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]);
    www.0["status"] = json!({"observedGeneration": -1});
    lab.applied(&[www]).await;
}

#[tokio::test]
async fn one_file_does_not_stand_for_a_folder_and_an_empty_one_is_an_error() {
    let lab = Lab::start().await;
    let file = lab.folder.put("records.yaml", &[records("www.example.com", "A", &["192.0.2.1"])]);
    crate::support::zonekeeper(["apply", "-f"]).arg(file).run().await.exits(1).says("give the folder");
    lab.folder.write("empty.yaml", "");
    lab.apply().await.exits(1).says("holds no manifest");
    assert_eq!(lab.sim.requests(), 0);
}

#[tokio::test]
async fn a_link_back_to_the_folder_is_not_followed_for_ever() {
    let lab = Lab::start().await;
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    std::os::unix::fs::symlink(lab.folder.path(), lab.folder.path().join("again")).expect("a link");
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 1);
}

#[tokio::test]
async fn links_as_a_mounted_config_map_has_them_are_followed() {
    let lab = Lab::start().await;
    lab.folder.put("..data/www.yaml", &[records("www.example.com", "A", &["192.0.2.1"])]);
    let link = lab.folder.path().join("www.yaml");
    std::os::unix::fs::symlink("..data/www.yaml", link).expect("a link");
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 1);
}

#[tokio::test]
async fn endings_in_upper_case_are_read_too() {
    let lab = Lab::start().await;
    for file in ["a.YAML", "b.Yml", "c.JSON"] {
        let host = file.split('.').next().expect("a host");
        lab.folder.put(file, &[records(&format!("{host}.example.com"), "A", &["192.0.2.1"])]);
    }
    let expected = ["a", "b", "c"].map(|host| format!("Create {host}.example.com A"));
    assert_eq!(changes(&lab.plan_json().await), expected);
}

#[tokio::test]
async fn a_pipe_is_named_and_not_waited_for() {
    let lab = Lab::start().await;
    let pipe = lab.folder.path().join("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    lab.plan().await.exits(1).says("pipe.yaml").says("not a regular file");
    assert_eq!(lab.sim.requests(), 0);
}
