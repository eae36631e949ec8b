//! The handbook: its links lead somewhere, and its lists are complete.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use crate::{read, root};

/// Every page of the project that has links to check, from its root.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(PathBuf::from).to_vec();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The lines of a page that are prose: no fenced blocks.
fn prose(text: &str) -> Vec<&str> {
    let mut is_fenced = false;
    let is_prose = |line: &&str| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fence && !is_fenced
    };
    text.lines().filter(is_prose).collect()
}

/// The targets of `[text](target)`, outside code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Every second piece between backticks is code; the text of a link may be code, its target is not.
        let plain: String = line.split('`').step_by(2).collect();
        for piece in plain.split("](").skip(1) {
            found.extend(piece.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    found
}

/// The anchors of a page, as mdBook and Git hosts make them from its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept =
            title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_and_anchor_resolves() {
    let mut anchors_of: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let mut seen = 0;
    for page in pages() {
        let folder = page.parent().unwrap_or(Path::new("")).to_owned();
        for link in links(&read(page.to_str().unwrap())) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { folder.join(path) };
            assert!(root().join(&target).exists(), "{} links to {link}", page.display());
            if anchor.is_empty() {
                continue;
            }
            let known = anchors_of
                .entry(target.clone())
                .or_insert_with(|| anchors(&std::fs::read_to_string(root().join(&target)).unwrap()));
            assert!(known.contains(anchor), "{} links to {link}: no such heading", page.display());
        }
    }
    assert!(seen > 60, "the links are found at all: {seen}");
}

#[test]
fn every_page_is_in_the_summary() {
    let listed: BTreeSet<String> = links(&read("docs/SUMMARY.md")).into_iter().collect();
    for page in pages() {
        let Ok(page) = page.strip_prefix("docs") else { continue };
        let page = page.to_str().unwrap();
        assert!(page == "SUMMARY.md" || listed.contains(page), "docs/SUMMARY.md does not list {page}");
    }
}

#[test]
fn troubleshooting_has_an_entry_for_each_reason_and_no_other() {
    let text = read("docs/troubleshooting.md");
    let entries: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let reasons: BTreeSet<&str> =
        zonekeeper_api::Reason::all().iter().map(|reason| reason.as_str()).collect();
    assert_eq!(entries, reasons);
}

#[test]
fn the_reference_lists_every_metric() {
    let (code, page) = (read("crates/operator/src/serve/mod.rs"), read("docs/reference/metrics.md"));
    let names: Vec<&str> = code
        .split("registry.register(")
        .skip(1)
        .filter_map(|call| call.trim_start().strip_prefix('"')?.split('"').next())
        .collect();
    assert!(names.len() > 8, "the metrics are found at all: {names:?}");
    for name in names {
        assert!(
            page.contains(&format!("`zonekeeper_{name}")),
            "docs/reference/metrics.md does not list {name}"
        );
    }
}
