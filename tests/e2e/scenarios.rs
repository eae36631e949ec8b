//! What is shown, in the order in which a release lives.

use std::{collections::BTreeMap, fs, time::Instant};

use control_plane::eventually;
use serde_json::{Value, json};
use zonekeeper_tests::canary;

use crate::{
    node::{self, DEADLINE},
    site::{NAMESPACE, RELEASE, Site, Write},
};

/// `prefix-0` and so on, each with an address.
fn records(prefix: &str, numbers: std::ops::Range<usize>) -> Vec<(String, String)> {
    numbers.map(|number| (format!("{prefix}-{number}"), format!("192.0.2.{}", number % 200 + 1))).collect()
}

/// The status lines of every running operator, by their first word.
fn processes() -> Vec<BTreeMap<String, String>> {
    let folders = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let ours = folders.filter(|folder| {
        fs::read(folder.join("cmdline")).is_ok_and(|line| line.starts_with(b"/usr/bin/zonekeeper\0run\0"))
    });
    let status = |folder: std::path::PathBuf| {
        let root = fs::read_to_string(folder.join("mountinfo")).ok()?;
        let root =
            root.lines().find(|line| line.split(' ').nth(4) == Some("/"))?.split(' ').nth(5)?.to_owned();
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let mut lines: BTreeMap<String, String> = status
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        lines.insert("root".into(), root);
        Some(lines)
    };
    ours.filter_map(status).collect()
}

pub async fn smallest_setup(site: &Site) {
    site.kubectl(&["create", "namespace", NAMESPACE]).await.succeeds();
    let level = "pod-security.kubernetes.io/enforce=restricted";
    site.kubectl(&["label", "namespace", NAMESPACE, level]).await.succeeds();
    let start = Instant::now();
    site.release("install", &[]).await;
    site.rolled_out().await;
    let rolled_out = start.elapsed();
    // Zones and providers come with the second call, as the notes say.
    site.release("upgrade", &[]).await;
    site.ready(&["dnsprovider", "cloudflare"]).await;
    site.ready(&["dnszone", "example-com", "--namespace", NAMESPACE]).await;
    let www = [("www".to_owned(), "192.0.2.10".to_owned())];
    site.apply(&www).await;
    site.ready(&["recordset", "www", "--namespace", "default"]).await;
    assert_eq!(site.addresses(), BTreeMap::from([("www".into(), vec!["192.0.2.10".into()])]));
    let ready = start.elapsed();
    site.helm(&["test", RELEASE, "--timeout", "200s"]).await.succeeds();

    // The level is enforced, and the processes are as restricted as the Deployment says.
    let container = json!({"name": "x", "image": "zonekeeper/zonekeeper"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": NAMESPACE},
        "spec": {"containers": [container]}});
    let refused = site.run("kubectl", &["create", "-f", "-"], &pod.to_string()).await;
    assert!(!refused.is_ok && refused.stderr.contains("violates PodSecurity \"restricted"), "{refused}");
    let processes = processes();
    assert_eq!(processes.len(), 2, "{processes:#?}");
    for process in &processes {
        assert!(process["Uid"].starts_with("65532\t"), "{process:#?}");
        assert_eq!(process["CapEff"], "0000000000000000");
        assert_eq!((process["NoNewPrivs"].as_str(), process["Seccomp"].as_str()), ("1", "2"));
        assert!(process["root"].split(',').any(|option| option == "ro"), "{process:#?}");
    }
    let memory: Vec<&str> = processes.iter().map(|process| process["VmRSS"].as_str()).collect();
    println!(
        "installed: pods ready after {rolled_out:.1?}, the first record Ready after {ready:.1?}, RSS {memory:?}"
    );
}

pub async fn killed_leader(site: &Site) {
    let start = site.sim.last_sequence();
    let leader = site.leader(|_| true).await;
    let pod = site.get(&["pod", &leader, "--namespace", NAMESPACE]).await;
    let container = pod["status"]["containerStatuses"][0]["containerID"].as_str().unwrap();
    let container = container.strip_prefix("containerd://").unwrap();
    // Some are on their way when it dies, some come while no pod leads.
    let all = records("killed", 0..10);
    site.apply(&all[..5]).await;
    node::ctr(&["tasks", "kill", "--signal", "SIGKILL", container]).unwrap();
    let killed = Instant::now();
    // The kubelet would start it again under the same name: the pod goes, too.
    site.kubectl(&["delete", "pod", &leader, "--namespace", NAMESPACE, "--grace-period=0", "--force"])
        .await
        .succeeds();
    site.apply(&all[5..]).await;
    let next = site.leader(|pod| pod != leader).await;
    let taken_over = killed.elapsed();
    site.served(&all).await;
    for (name, _) in &all {
        site.ready(&["recordset", name, "--namespace", "default"]).await;
    }
    println!(
        "leader {leader} killed: {next} leads after {taken_over:.1?}, all records Ready after {:.1?}",
        killed.elapsed()
    );
    let mut writes = site.writes_since(start);
    writes.sort_by_key(|(name, _)| name.clone());
    let once: Vec<_> = all.iter().map(|(name, _)| (name.clone(), Write::Created)).collect();
    assert_eq!(writes, once);
    site.rolled_out().await;
}

pub async fn rolling_upgrade(site: &Site) {
    let start = site.sim.last_sequence();
    let (before, kept) = (site.pods().await, site.addresses());
    let upgrade =
        site.release("upgrade", &["--set", "podAnnotations.round=two", "--wait", "--timeout", "200s"]);
    tokio::pin!(upgrade);
    let mut all = Vec::new();
    let mut moving = (String::new(), String::new());
    // A new record and a changed one in each turn, as long as pods are replaced, and some after that.
    let mut is_rolling = true;
    let mut turns_after = 0;
    while turns_after < 3 && all.len() < 80 {
        let number = all.len();
        moving = ("moving".into(), format!("192.0.2.{}", number % 200 + 1));
        let new = records("rolling", number..number + 1);
        let changes = [new[0].clone(), moving.clone()];
        let turn = site.apply(&changes);
        tokio::pin!(turn);
        let mut is_applied = false;
        while !is_applied {
            tokio::select! {
                _ = &mut upgrade, if is_rolling => is_rolling = false,
                () = &mut turn => is_applied = true,
            }
        }
        all.extend(new);
        let now = site.addresses();
        assert!(
            kept.iter().all(|(name, addresses)| now.get(name) == Some(addresses)),
            "{kept:?} became {now:?}"
        );
        turns_after += usize::from(!is_rolling);
    }
    if is_rolling {
        upgrade.await;
    }
    let after = site.pods().await;
    assert!(after.len() == 2 && after.iter().all(|pod| !before.contains(pod)), "{before:?} became {after:?}");
    site.served(&all).await;
    site.served(&[moving]).await;
    let writes = site.writes_since(start);
    for (name, _) in &all {
        let of_name: Vec<Write> =
            writes.iter().filter(|(it, _)| it == name).map(|(_, write)| *write).collect();
        assert_eq!(of_name, [Write::Created], "{name}");
    }
    // Never deleted, never made again, and no other name is touched.
    let moved: Vec<Write> =
        writes.iter().filter(|(name, _)| name == "moving").map(|(_, write)| *write).collect();
    assert_eq!(moved[0], Write::Created);
    assert!(moved[1..].iter().all(|write| *write == Write::Updated), "{moved:?}");
    assert!(moved.len() <= all.len(), "more writes than changes: {moved:?}");
    let is_ours = |name: &str| name == "moving" || name.starts_with("rolling-");
    assert!(writes.iter().all(|(name, _)| is_ours(name)), "{writes:?}");
    println!("upgraded: {} records made and one changed {} times meanwhile", all.len(), moved.len() - 1);
}

pub async fn drained_node(site: &Site) {
    let start = site.sim.last_sequence();
    let before = site.pods().await;
    let all = records("drained", 0..3);
    let drain = site.kubectl(&["drain", "node", "--ignore-daemonsets", "--timeout=200s"]);
    let meanwhile = async {
        // The first pod is replaced by one that finds no node.
        eventually("one pod is evicted", DEADLINE, async || {
            let pods = site.pods().await;
            if pods.iter().any(|pod| !before.contains(pod)) { Ok(()) } else { Err(pods) }
        })
        .await;
        site.apply(&all).await;
        site.served(&all).await;
        let pods = site.pods().await;
        assert_eq!(pods.iter().filter(|pod| before.contains(pod)).count(), 1, "{before:?} became {pods:?}");
        // Stands for a second node.
        site.kubectl(&["uncordon", "node"]).await.succeeds();
    };
    let (drained, ()) = tokio::join!(drain, meanwhile);
    drained.succeeds();
    site.rolled_out().await;
    let pods = site.pods().await;
    assert!(pods.iter().all(|pod| !before.contains(pod)), "{before:?} became {pods:?}");
    let mut writes = site.writes_since(start);
    writes.sort_by_key(|(name, _)| name.clone());
    let once: Vec<_> = all.iter().map(|(name, _)| (name.clone(), Write::Created)).collect();
    assert_eq!(writes, once);
}

pub async fn early_uninstall(site: &Site) {
    eventually("all is written", DEADLINE, async || {
        let sets = site.get(&["recordsets", "--all-namespaces"]).await;
        let is_ready = |set: &&Value| {
            let conditions = set["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|it| it["type"] == "Ready" && it["status"] == "True")
        };
        let sets = sets["items"].as_array().unwrap();
        let ready = sets.iter().filter(is_ready).count();
        if ready == sets.len() { Ok(()) } else { Err(format!("{ready} of {}", sets.len())) }
    })
    .await;
    let (start, kept) = (site.sim.last_sequence(), site.addresses());
    let logs = site
        .kubectl(&[
            "logs",
            "--namespace",
            NAMESPACE,
            "--selector",
            "app.kubernetes.io/name=zonekeeper",
            "--tail=-1",
        ])
        .await
        .succeeds();
    canary::assert_hidden("a pod's log", &logs.stdout);
    let begun = Instant::now();
    site.helm(&["uninstall", RELEASE]).await.succeeds();
    println!("uninstalled with all objects in place: helm ended after {:.1?}", begun.elapsed());
    eventually("no operator runs", DEADLINE, async || match processes().len() {
        0 => Ok(()),
        left => Err(left),
    })
    .await;
    let sets = site.get(&["recordsets", "--all-namespaces"]).await;
    assert_eq!(sets["items"].as_array().unwrap().len(), kept.len());
    // An object that is deleted now waits for an operator, and so does its record.
    site.kubectl(&["delete", "recordset", "killed-0", "--namespace", "default", "--wait=false"])
        .await
        .succeeds();
    let held = site.get(&["recordset", "killed-0", "--namespace", "default"]).await;
    assert!(held["metadata"]["deletionTimestamp"].is_string(), "{held:#}");
    assert_eq!(site.writes_since(start), []);
    assert_eq!(site.addresses(), kept);
}

pub async fn installed_again(site: &Site) {
    let start = site.sim.last_sequence();
    site.release("install", &[]).await;
    site.rolled_out().await;
    site.kubectl(&["wait", "--for=delete", "recordset/killed-0", "--namespace", "default", "--timeout=200s"])
        .await
        .succeeds();
    let more = records("again", 0..1);
    site.apply(&more).await;
    site.served(&more).await;
    let writes = site.writes_since(start);
    assert_eq!(writes, [("killed-0".into(), Write::Deleted), ("again-0".into(), Write::Created)]);
}

/// The commands that docs/install.md lists to remove everything.
fn documented() -> Vec<Vec<String>> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/install.md")).unwrap();
    let text = text.split("To remove everything").nth(1).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with("    "));
    let lines = lines.take_while(|line| line.starts_with("    "));
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

pub async fn documented_uninstall(site: &Site) {
    let commands = documented();
    assert_eq!(commands.len(), 5, "{commands:?}");
    for command in commands {
        let arguments: Vec<&str> = command[1..].iter().map(String::as_str).collect();
        let call = site.run(&command[0], &arguments, "");
        tokio::pin!(call);
        // Many deletes at once are held: a person looks at the plan and approves it.
        let answer = loop {
            tokio::select! {
                answer = &mut call => break answer,
                () = approve(site) => {}
            }
        };
        answer.succeeds();
    }
    assert_eq!(site.addresses(), BTreeMap::new());
    let left = site.kubectl(&["get", "crd", "-o", "name"]).await.succeeds();
    assert!(!left.stdout.contains("zonekeeper.dev"), "{left}");
    eventually("no operator runs", DEADLINE, async || match processes().len() {
        0 => Ok(()),
        left => Err(left),
    })
    .await;
    // Nothing hangs in the namespace either.
    site.kubectl(&["delete", "namespace", NAMESPACE, "--timeout=200s"]).await.succeeds();
}

/// Approves what the zone holds at the moment, if it holds anything.
async fn approve(site: &Site) {
    let answer =
        site.kubectl(&["get", "dnszone", "example-com", "--namespace", NAMESPACE, "-o", "json"]).await;
    let zone: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
    let plan = &zone["status"]["plan"];
    let Some(hash) = plan["hash"].as_str().filter(|_| plan["held"].as_u64().unwrap_or(0) > 0) else {
        return;
    };
    let annotation = format!("zonekeeper.dev/approve-plan={hash}");
    // The zone may be gone by now.
    site.kubectl(&[
        "annotate",
        "dnszone",
        "example-com",
        "--namespace",
        NAMESPACE,
        "--overwrite",
        &annotation,
    ])
    .await;
}
