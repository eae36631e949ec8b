//! What users copy first, and what they see while they wait.

use std::process::Stdio;

use cloudflare_sim::{Action, Fault};

use crate::support::{
    Lab,
    binary::{binary, zonekeeper},
    records,
};

/// The example as it is, but for where the API is.
fn copy_example(lab: &Lab) {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/cloudflare");
    for file in ["token.yaml", "zone.yaml"] {
        lab.folder.remove(file);
    }
    for file in ["provider.yaml", "records.yaml"] {
        let text = std::fs::read_to_string(format!("{example}/{file}")).expect("a file of the example");
        let here = format!("  cloudflare:\n    baseURL: {}\n", lab.sim.base_url());
        lab.folder
            .write(file, &text.replacen("  cloudflare:\n    apiToken", &format!("{here}    apiToken"), 1));
    }
}

#[tokio::test]
async fn the_cloudflare_example_plans_applies_and_is_quiet() {
    let lab = Lab::start().await;
    copy_example(&lab);
    let call =
        |command: &str| zonekeeper([command, "-f", lab.folder.arg()]).env("CLOUDFLARE_API_TOKEN", &lab.token);
    call("plan").run().await.exits(2).says("5 to create");
    call("apply").run().await.exits(0).says("5 applied");
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.10"]);
    assert!(lab.comments("www.example.com", "A")[0].starts_with("web servers zk1:"));
    let writes = lab.sim.writes();
    call("plan").run().await.exits(0).says("nothing to do");
    call("apply").run().await.exits(0);
    assert_eq!(lab.sim.writes(), writes);
}

/// `script` gives the program a terminal.
async fn on_a_terminal(lab: &Lab, command: &str) -> String {
    let line = format!("{} {command} -f {}", binary().display(), lab.folder.arg());
    let output = tokio::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .await
        .expect("script, of Debian's bsdutils, runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn a_terminal_shows_progress_after_a_second_and_a_pipe_never() {
    let lab = Lab::start().await;
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.sim.faults(vec![Fault::every(Action::Latency(900))]);
    assert!(on_a_terminal(&lab, "plan").await.contains("reading zones"));
    assert!(on_a_terminal(&lab, "apply").await.contains("changes"));
    lab.want(&[records("www.example.com", "A", &["192.0.2.2"])]);
    let piped = lab.plan().await.exits(2);
    piped.never_says("reading zones");
    lab.sim.faults(Vec::new());
    lab.want(&[records("www.example.com", "A", &["192.0.2.3"])]);
    assert!(!on_a_terminal(&lab, "plan").await.contains("reading zones"), "nothing for what is quick");
}
