//! What every command-line program must do, and the exit codes that scripts rely on.

use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::support::{Folder, Lab, builtin, records, zone, zonekeeper};

#[tokio::test]
async fn help_and_version_are_answers() {
    let help = zonekeeper(["--help"]).run().await.exits(0);
    for command in ["up", "plan", "apply", "export", "crds"] {
        assert!(help.stdout.contains(command), "{help}");
    }
    zonekeeper(["plan", "--help"]).run().await.exits(0).says("--output");
    zonekeeper(["--version"]).run().await.exits(0).says(env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn a_wrong_call_is_an_error_and_not_a_change() {
    zonekeeper([]).run().await.exits(1);
    zonekeeper(["frobnicate"]).run().await.exits(1);
    zonekeeper(["plan", "--frobnicate"]).run().await.exits(1);
    zonekeeper(["plan", "-f", ".", "-o", "xml"]).run().await.exits(1).says("markdown");
    zonekeeper(["plan"]).run().await.exits(1).says("-f DIR");
    zonekeeper(["up"]).run().await.exits(1);
    zonekeeper(["plan", "-f", ".", "--allow-address-source", "nonsense"]).run().await.exits(1);
}

#[tokio::test]
async fn crds_are_four_yaml_documents_that_an_api_server_would_take() {
    let run = zonekeeper(["crds"]).run().await.exits(0);
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&run.stdout).expect("YAML");
    let kinds: Vec<&str> = documents.iter().filter_map(|crd| crd["spec"]["names"]["kind"].as_str()).collect();
    assert_eq!(documents.len(), 4, "{kinds:?}");
    for kind in ["AddressSource", "DNSProvider", "DNSZone", "RecordSet"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    for crd in &documents {
        assert_eq!(crd["apiVersion"], "apiextensions.k8s.io/v1");
        assert_eq!(crd["kind"], "CustomResourceDefinition");
        assert_eq!(crd["spec"]["versions"][0]["name"], "v1alpha1");
        assert_eq!(crd["spec"]["names"]["categories"], json!(["zonekeeper"]));
        assert!(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].is_object());
    }
}

#[tokio::test]
async fn a_plan_without_changes_is_zero_and_with_changes_two() {
    let lab = Lab::start().await;
    lab.plan().await.exits(0).says("nothing to do");
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.plan().await.exits(2).says("+ www A 192.0.2.1").says("1 to create");
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn after_apply_there_is_nothing_left_to_do() {
    let lab = Lab::start().await;
    lab.want(&[
        records("www.example.com", "A", &["192.0.2.1", "192.0.2.2"]),
        records("www.example.com", "AAAA", &["2001:db8::1"]),
        records("example.com", "MX", &["10 mail.example.net"]),
        records("txt.example.com", "TXT", &["v=spf1 -all", "with \"quotes\" and \\ and ; inside"]),
    ]);
    lab.apply().await.exits(0).says("4 applied");
    lab.plan().await.exits(0);
    let writes = lab.sim.writes();
    lab.apply().await.exits(0).says("0 applied");
    assert_eq!(lab.sim.writes(), writes, "a quiet system makes no writes");
}

#[tokio::test]
async fn held_changes_are_two_and_errors_win_over_them() {
    let lab = Lab::start().await;
    let all: Vec<_> = (0..5).map(|n| records(&format!("n{n}.example.com"), "A", &["192.0.2.1"])).collect();
    lab.applied(&all).await;
    lab.want(&all[..1]);
    lab.plan().await.exits(2).says("HELD");
    lab.apply().await.exits(2).says("HELD").says("--plan-hash");
    let refused = records("www.example.net", "A", &["192.0.2.1"]);
    lab.want(&[all[0].clone(), refused]);
    lab.plan().await.exits(1).says("HELD").says("NoMatchingZone");
    lab.apply().await.exits(1).says("HELD").says("NoMatchingZone");
    assert_eq!(lab.contents().len(), 5);
}

#[tokio::test]
async fn apply_refuses_the_builtin_server_and_plan_compares_it_with_an_empty_zone() {
    let folder = Folder::new();
    folder.put(
        "all.yaml",
        &[builtin(), zone("example.test"), records("www.example.test", "A", &["192.0.2.1"])],
    );
    zonekeeper(["plan", "-f", folder.arg()]).run().await.exits(2).says("+ www A 192.0.2.1");
    zonekeeper(["apply", "-f", folder.arg()]).run().await.exits(1).says("zonekeeper up");
}

#[tokio::test]
async fn plan_and_apply_need_a_provider() {
    let folder = Folder::new();
    folder.put("all.yaml", &[zone("example.test"), records("www.example.test", "A", &["192.0.2.1"])]);
    zonekeeper(["plan", "-f", folder.arg()]).run().await.exits(1).says("no DNSProvider");
    zonekeeper(["apply", "-f", folder.arg()]).run().await.exits(1).says("no DNSProvider");
}

#[tokio::test]
async fn the_examples_can_be_planned() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    let quickstart = format!("{examples}/quickstart");
    zonekeeper(["export", "-f", &quickstart]).run().await.exits(0).says("www.example.test.");
    let lab = Lab::start().await;
    lab.folder.remove("zone.yaml");
    let text =
        |file: &str| std::fs::read_to_string(format!("{examples}/cloudflare/{file}")).expect("an example");
    let provider = text("provider.yaml").replace(
        "cloudflare:\n    api",
        &format!("cloudflare:\n    baseURL: {}\n    api", lab.sim.base_url()),
    );
    lab.folder.write("provider.yaml", &provider);
    lab.folder.write("records.yaml", &text("records.yaml"));
    lab.apply().await.exits(0);
    lab.plan().await.exits(0);
    assert_eq!(lab.contents().len(), 6, "{:?}", lab.contents());
}

#[tokio::test]
async fn a_reader_who_goes_away_is_no_crash() {
    for command in ["crds", "--help"] {
        let mut child = zonekeeper([command]).command().spawn().expect("the binary runs");
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut said).await.expect("UTF-8");
        let code = child.wait().await.expect("it ends").code();
        assert_eq!((code, said.as_str()), (Some(0), ""), "{command}");
    }
}
