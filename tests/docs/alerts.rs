//! Alerts and the dashboard speak of metrics that exist, and each alert has its runbook.

use std::collections::BTreeSet;

use super::read;

/// Every metric that a text names, without the suffixes of histograms.
fn metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let named = words.filter(|word| word.starts_with("zonekeeper_"));
    let plain = named
        .map(|word| ["_bucket", "_count", "_sum"].iter().fold(word, |word, end| word.trim_end_matches(*end)));
    plain.map(str::to_owned).collect()
}

fn listed() -> BTreeSet<String> {
    let page = read("docs/reference/metrics.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    rows.map(str::to_owned).collect()
}

#[test]
fn alerts_and_the_dashboard_use_metrics_that_exist() {
    let listed = listed();
    for file in ["charts/zonekeeper/files/alerts.yaml", "charts/zonekeeper/files/dashboard.json"] {
        let used = metrics(&read(file));
        assert!(used.len() > 5, "{file}: {used:?}");
        let unknown: Vec<_> = used.difference(&listed).collect();
        assert!(unknown.is_empty(), "{file} uses {unknown:?}, which docs/reference/metrics.md does not list");
    }
}

#[test]
fn every_alert_has_a_runbook() {
    let (alerts, page) = (read("charts/zonekeeper/files/alerts.yaml"), read("docs/operations/alerts.md"));
    let named: BTreeSet<&str> = alerts.lines().filter_map(|line| line.strip_prefix("- alert: ")).collect();
    let sections: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(named, sections);
    for name in named {
        assert!(alerts.contains(&format!("\"#{}\"", name.to_lowercase())), "{name} links to no section");
    }
}

/// Labels that Prometheus gives a target would replace ours of the same name, or be renamed.
#[test]
fn no_label_of_a_metric_is_one_that_prometheus_sets() {
    let page = read("docs/reference/metrics.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `zonekeeper_")).collect();
    assert!(rows.len() > 15, "{rows:?}");
    for row in rows {
        let labels = row.split('|').nth(2).unwrap_or_default();
        for reserved in ["namespace", "pod", "job", "instance", "service", "container", "endpoint", "node"] {
            assert!(!labels.contains(&format!("`{reserved}`")), "{row}");
        }
    }
    // The page is about the code: its labels are the fields of these.
    let code = read("crates/operator/src/serve/mod.rs");
    for reserved in ["namespace: String", "pod: String", "job: String", "instance: String", "service: String"]
    {
        assert!(!code.contains(&format!("\n    {reserved}")), "a label is called {reserved}");
    }
}
