//! The health checks for Argo CD, run by the Lua that it has: 5.1.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::read;

/// A value as Lua writes it.
fn lua(value: &Value) -> String {
    match value {
        Value::Null => "nil".into(),
        Value::Array(items) => format!("{{{}}}", items.iter().map(lua).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("[{name:?}] = {}", lua(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => format!("{text:?}"),
        plain => plain.to_string(),
    }
}

/// What a check says of an object: status and message.
fn health(kind: &str, object: &Value) -> (String, String) {
    let check = read(&format!("examples/argocd/{kind}.lua"));
    let script = format!(
        "obj = {}\nlocal function check()\n{check}\nend\nlocal health = check()\nio.write(health.status, '\\n', health.message or '')",
        lua(object)
    );
    let mut interpreter = Command::new("lua5.1")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("lua5.1: `scripts/setup test` installs it");
    interpreter.stdin.take().expect("piped").write_all(script.as_bytes()).expect("it reads");
    let output = interpreter.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{kind}.lua fails");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let (status, message) = said.split_once('\n').expect("two lines");
    (status.to_owned(), message.to_owned())
}

fn object(ready: &str, stalled: &str, reason: &str) -> Value {
    let condition =
        |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": reason, "message": "so"});
    json!({
        "metadata": {"generation": 2},
        "spec": {},
        "status": {"observedGeneration": 2, "conditions": [condition("Ready", ready), condition("Stalled", stalled)]},
    })
}

const KINDS: [&str; 4] = ["dnsprovider", "dnszone", "recordset", "addresssource"];

#[test]
fn argo_cd_sees_every_kind_as_its_conditions_say() {
    for kind in KINDS {
        let is = |object: &Value| health(kind, object).0;
        assert_eq!(
            health(kind, &object("True", "False", "Programmed")),
            ("Healthy".into(), "Programmed: so".into())
        );
        assert_eq!(is(&object("False", "True", "Conflict")), "Degraded");
        assert_eq!(is(&object("False", "False", "ProviderUnavailable")), "Progressing");
        let mut edited = object("True", "False", "Programmed");
        edited["metadata"]["generation"] = 3.into();
        assert_eq!(is(&edited), "Progressing", "what was said is of another generation");
        assert_eq!(is(&json!({"metadata": {"generation": 1}, "spec": {}})), "Progressing");
        assert_eq!(
            is(&json!({"metadata": {"generation": 1}, "status": {"observedGeneration": -1}})),
            "Progressing"
        );
        let mut leaving = object("False", "True", "Held");
        leaving["metadata"]["deletionTimestamp"] = "2026-11-18T00:00:00Z".into();
        assert_eq!(is(&leaving), "Progressing");
    }
    let mut suspended = object("True", "False", "Suspended");
    suspended["spec"]["suspend"] = true.into();
    for kind in ["dnszone", "recordset"] {
        assert_eq!(health(kind, &suspended).0, "Suspended");
    }
    assert_eq!(health("recordset", &object("False", "False", "Observed")).0, "Suspended");
    assert_eq!(health("dnszone", &object("True", "False", "Observed")).0, "Healthy");
}
