//! Editors and checkouts that empty or remove a file for a moment.

use std::time::Duration;

use crate::support::{
    Lab, Manifest, records,
    up::{Up, until},
    zonekeeper,
};

fn hosts() -> [Manifest; 2] {
    [records("a.example.com", "A", &["192.0.2.1"]), records("b.example.com", "A", &["192.0.2.1"])]
}

#[tokio::test]
async fn a_file_that_is_empty_or_gone_for_a_moment_costs_no_record() {
    let lab = Lab::start().await;
    lab.want(&hosts());
    let up = Up::start(&zonekeeper(["up", lab.folder.arg()]));
    until("two records", || up.said(), async || lab.contents().len() == 2).await;
    let before = lab.sim.last_sequence();
    let new = |n: usize| records(&format!("new{n}.example.com"), "A", &["192.0.2.1"]);
    for (n, absent) in [300, 600].into_iter().enumerate() {
        if n == 0 {
            lab.folder.write("records.yaml", "");
        } else {
            lab.folder.remove("records.yaml");
        }
        tokio::time::sleep(Duration::from_millis(absent)).await;
        lab.want(&[&hosts()[..], &[new(n)]].concat());
        let name = format!("new{n}.example.com");
        until("the save is seen", || up.said(), async || lab.values(&name, "A").len() == 1).await;
    }
    let lost = lab.effects_since(before).into_iter().find(|(before, after)| {
        after.is_none()
            && before.as_ref().is_some_and(|record| !record["name"].as_str().unwrap_or("").starts_with("new"))
    });
    assert_eq!(lost, None, "{}", up.said());
}
