//! Texts that would write on somebody's terminal, and spellings that mean the same.

use serde_json::{Value, json};

use crate::support::{Lab, Manifest, Run, records};

const EVIL: &str = "\u{1b}[2J\u{1b}[31mEVIL\u{7}\r\nzone default/x: nothing to do\u{202e}\u{85}\u{9b}31m";

/// Control and direction characters that a terminal would obey.
#[track_caller]
fn is_printable(run: &Run, case: &str) {
    let obeyed = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
    let found = [&run.stdout, &run.stderr].iter().any(|stream| stream.contains(obeyed));
    assert!(!found, "{case}: {:?} {:?}", run.stdout, run.stderr);
    let forged =
        run.stdout.lines().chain(run.stderr.lines()).any(|line| line.starts_with("zone default/x: nothing"));
    assert!(!forged, "{case}: a line of the manifest's own\n{run}");
}

#[tokio::test]
async fn nothing_in_a_manifest_writes_on_the_terminal() {
    let www = records("t.example.com", "A", &["192.0.2.1"]);
    let metadata = |field: &str| {
        let mut manifest = www.clone();
        manifest.0["metadata"][field] = EVIL.into();
        manifest
    };
    let mut unknown = www.clone();
    unknown.0["spec"][EVIL] = json!(1);
    let kind = Manifest(
        json!({"apiVersion": format!("x{EVIL}/v1"), "kind": format!("Foo{EVIL}"), "metadata": {"name": EVIL}}),
    );
    let quoted = format!("0 issue \"{EVIL}\"");
    let cases = [
        ("text", records("t.example.com", "TXT", &[EVIL])),
        ("address", records("t.example.com", "A", &[EVIL])),
        ("issuer", records("t.example.com", "CAA", &[&quoted])),
        ("type", www.clone().with("type", EVIL)),
        ("name", www.clone().with("name", format!("t{EVIL}.example.com"))),
        ("relative name", www.clone().without("name").with("relativeName", EVIL)),
        ("comment", www.clone().with("cloudflare.comment", EVIL)),
        ("tag", www.clone().with("cloudflare.tags", json!([format!("{EVIL}:x")]))),
        ("zone", www.clone().with("zoneRefs", json!([{"name": EVIL}]))),
        ("source", www.clone().with("valuesFrom", json!([{"addressSourceRef": {"name": EVIL}}]))),
        ("object", metadata("name")),
        ("namespace", metadata("namespace")),
        ("field", unknown),
        ("kind", kind),
        ("adoption", www.clone().with("adoption", EVIL)),
    ];
    let lab = Lab::start().await;
    for (case, manifest) in cases {
        lab.want(&[manifest]);
        is_printable(&lab.plan().await, case);
        is_printable(&lab.call("plan").args(&["-o", "markdown"]).run().await, case);
    }
}

#[tokio::test]
async fn nothing_in_a_zone_writes_on_the_terminal() {
    let lab = Lab::start().await;
    let comment = format!("{} zk1:bbbbbbbb:recordset/d/\u{1b}[2Jx", "\u{1b}[31mred");
    lab.sim.seed(&lab.zone, json!({"type": "A", "name": "t", "content": "192.0.2.1", "comment": comment}));
    lab.seed("TXT", "s", "\"\u{1b}[2J\"");
    let www = |name: &str, rtype: &str| records(name, rtype, &["192.0.2.1"]).with("adoption", "Force");
    lab.want(&[www("t.example.com", "A"), www("s.example.com", "TXT")]);
    is_printable(&lab.plan().await, "plan");
    is_printable(&lab.apply().await, "apply");
}

#[tokio::test]
async fn an_empty_namespace_is_the_default_one() {
    let lab = Lab::start().await;
    let www = records("www.example.com", "A", &["192.0.2.1"]);
    lab.applied(std::slice::from_ref(&www)).await;
    let writes = lab.sim.writes();
    for namespace in ["", "default"].map(Value::from).into_iter().chain([Value::Null]) {
        let mut same = www.clone();
        same.0["metadata"]["namespace"] = namespace;
        lab.applied(&[same]).await;
    }
    assert_eq!(lab.sim.writes(), writes);
}
