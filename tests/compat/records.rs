//! The same manifests make the same records, markers included, but for a documented list.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use control_plane::{DEADLINE, Options, eventually};
use serde_json::json;
use zonekeeper_tests::cluster::plane;

use crate::{
    catalogue::{self, BOTH_PREFIXES, DIFFERENT, EQUAL, OLD_PREFIX, PREFIX, SURROUNDINGS},
    objects::service,
    pair::{OWNER, Pair, SOURCES},
    place::{DOMAIN, Place, is_marker},
};

/// What ExternalDNS manages besides addresses and names, where it is asked to.
pub const ALL_TYPES: &[&str] = &[
    "--managed-record-types=A",
    "--managed-record-types=AAAA",
    "--managed-record-types=CNAME",
    "--managed-record-types=TXT",
    "--managed-record-types=SRV",
    "--managed-record-types=MX",
    "--managed-record-types=NS",
    "--gateway-listener-sets",
];

#[tokio::test]
async fn the_same_manifests_make_the_same_records() {
    compare("new-prefix", PREFIX, &[]).await;
}

#[tokio::test]
async fn under_the_old_prefix_too() {
    compare("old-prefix", OLD_PREFIX, &["--enable-legacy-annotation-prefix"]).await;
}

#[tokio::test]
async fn and_with_affixed_markers() {
    for (name, flag, value, field) in [
        ("prefixed", "--txt-prefix", "x-%{record_type}.", "prefix"),
        ("suffixed", "--txt-suffix", "-x", "suffix"),
    ] {
        let plane = plane::with_published_definitions().await;
        let pair = Pair::on(plane, name, &["Service"]).await;
        let txt = json!({field: value, "wildcardReplacement": "any"});
        let registry = json!({"type": "TXT", "ownerID": OWNER, "txt": txt});
        pair.lab.apply(&pair.lab.provider().with("registry", registry)).await;
        let mut wildcard = service(&pair.lab, "wildcard", PREFIX, "192.0.2.1");
        wildcard["metadata"]["annotations"] = json!({format!("{PREFIX}hostname"): pair.lab.at("*.wildcard")});
        let plain = service(&pair.lab, "plain", PREFIX, "192.0.2.1");
        catalogue::install(&plane.client(), &[], &[plain, wildcard]).await;
        let affix = [&format!("{flag}={value}"), "--txt-wildcard-replacement=any"];
        pair.external_dns().with(&affix).once().await;
        pair.lab.run();
        let (theirs, ours) = (pair.place.lines(), Place::of(&pair.lab));
        assert_eq!(theirs.len(), 4, "{theirs:#?}");
        eventually("the same records and markers", DEADLINE, async || {
            if ours.lines() == theirs { Ok(()) } else { Err(differences(&theirs, &ours.lines())) }
        })
        .await;
    }
}

async fn compare(name: &str, prefix: &str, flags: &[&str]) {
    let plane = plane::own(Options::default()).await;
    plane::install_published(&plane).await;
    let kinds: Vec<&str> = SOURCES.iter().map(|(_, kind)| *kind).collect();
    let pair = Pair::on(&plane, name, &kinds).await;
    let read = |file: &str| catalogue::read(file, &pair.lab.domain, prefix);
    let mut cases: Vec<_> = EQUAL.iter().chain([&DIFFERENT]).flat_map(|file| read(file)).collect();
    cases.extend(catalogue::read(BOTH_PREFIXES, &pair.lab.domain, PREFIX));
    assert!(cases.len() >= 60, "{} manifests", cases.len());
    catalogue::install(&plane.client(), &read(SURROUNDINGS), &cases).await;

    pair.lab.run();
    pair.external_dns().with(ALL_TYPES).with(flags).once().await;
    let theirs = pair.place.lines();
    assert!(theirs.len() > 200, "{theirs:#?}");
    let ours = Place::of(&pair.lab);
    let expected = expected();
    eventually("the documented differences, and no others", DEADLINE, async || {
        match differences(&theirs, &ours.lines()) {
            found if found == expected => Ok(()),
            found => Err(missing_and_new(&expected, &found)),
        }
    })
    .await;
    // And they stay.
    pair.lab.scan().await;
    assert_eq!(differences(&theirs, &ours.lines()), expected);
}

/// Lines of ExternalDNS's only (`-`) and of Zonekeeper's only (`+`), by case.
fn differences(theirs: &[String], ours: &[String]) -> Vec<String> {
    let (theirs, ours) = (&without_chance(theirs), &without_chance(ours));
    let only = |sign: &str, here: &[String], there: &[String]| -> Vec<String> {
        here.iter().filter(|line| !there.contains(line)).map(|line| format!("{sign} {line}")).collect()
    };
    let mut lines = [only("-", theirs, ours), only("+", ours, theirs)].concat();
    lines.sort_by_key(|line| (case_of(line), line.starts_with('+'), line.clone()));
    lines
}

/// Of objects that share a set, ExternalDNS's marker names whichever it read first, and Zonekeeper's the oldest.
fn without_chance(lines: &[String]) -> Vec<String> {
    let is_chance = |line: &str| line.ends_with("-shared-one\"") || line.ends_with("-shared-two\"");
    let named = |line: &String| match line.split_once("resource=") {
        Some((before, _)) if is_chance(line) => format!("{before}resource=one of several\""),
        _ => line.clone(),
    };
    lines.iter().map(named).collect()
}

/// The case that a line belongs to: the label next to the zone, without what makes it a marker's; `@` for the apex.
fn case_of(line: &str) -> String {
    let name = line.split(' ').nth(1).unwrap_or_default();
    let relative = name.strip_suffix(DOMAIN).unwrap_or(name).trim_end_matches('.');
    let labels: Vec<&str> = relative.rsplit('.').collect();
    let label = labels[0];
    let types = ["a-", "aaaa-", "cname-", "txt-", "srv-", "mx-", "ns-"];
    let bare = types.iter().find_map(|prefix| label.strip_prefix(prefix)).unwrap_or(label);
    match (label, is_marker(line) && labels.len() == 1) {
        ("", _) => "@".into(),
        (label, true) if label.starts_with("_zk-") => "@".into(),
        (_, true) => bare.to_owned(),
        (label, false) => label.to_owned(),
    }
}

/// What is missing of the expected lines, and what is new.
fn missing_and_new(expected: &[String], found: &[String]) -> Vec<String> {
    let without = |these: &[String], those: &[String], word: &str| -> Vec<String> {
        these.iter().filter(|line| !those.contains(line)).map(|line| format!("{word} {line}")).collect()
    };
    [without(expected, found, "missing:"), without(found, expected, "new:")].concat()
}

fn expected() -> Vec<String> {
    let text = fs::read_to_string(root().join("tests/compat/manifests/differences.txt")).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_difference_is_documented_with_its_reason() {
    let text = fs::read_to_string(root().join("docs/external-dns.md")).unwrap();
    let table = text.split("## What is different").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert!(rows.iter().all(|row| row.len() == 4 && row.iter().all(|cell| !cell.is_empty())), "{rows:#?}");
    let documented: BTreeSet<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let expected = expected();
    let found: BTreeSet<String> = expected.iter().map(|line| case_of(line)).collect();
    assert_eq!(documented, found.iter().map(String::as_str).collect::<BTreeSet<_>>());
}
