//! The program starts with what its flags ask for, and obeys its control endpoint.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

const TOKEN: &str = "0123456789012345678901234567890123456789";

/// Stops the program, also when an assertion fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_program_serves_its_zones_and_obeys() {
    let flags =
        ["--listen", "127.0.0.1:0", "--zone", "example.com:pro", "--zone", "example.org", "--token", TOKEN];
    let mut command = Command::new(env!("CARGO_BIN_EXE_cloudflare-sim"));
    let mut running = Running(command.args(flags).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let [base, first, second] = words[..] else { panic!("printed {line}") };
    let zone = first.strip_prefix("example.com=").unwrap();
    assert!(second.starts_with("example.org="), "{line}");

    // An error says that it was done before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();
    let get = async |path: &str| http.get(format!("{base}{path}")).bearer_auth(TOKEN).send().await;
    let body: Value = get(&format!("/zones/{zone}")).await.unwrap().json().await.unwrap();
    assert_eq!(body["result"]["plan"]["legacy_id"], "pro");

    let control = |path: &str| format!("{}/sim/v1/{path}", base.trim_end_matches("/client/v4"));
    let seed = json!({"record": {"type": "A", "name": "www", "content": "192.0.2.1"}});
    let seeded = http.post(control(&format!("records/{zone}"))).json(&seed).send().await.unwrap();
    assert_eq!(seeded.status(), 200);
    http.put(control("faults")).json(&json!([{"act": "cut"}])).send().await.unwrap();
    assert!(get("/zones").await.is_err());
    http.put(control("faults")).json(&json!([])).send().await.unwrap();
    let refused = http.put(control("knobs")).json(&json!({"no_such_knob": "x"})).send().await.unwrap();
    assert_eq!(refused.status(), 400);
    let journal: Value = http.get(control("journal?since=1")).send().await.unwrap().json().await.unwrap();
    let journal = journal.as_array().unwrap();
    assert_eq!(journal.iter().map(|entry| &entry["kind"]).collect::<Vec<_>>(), ["seed", "request"]);
}
