//! The documents of one file: all of them, or why the file is not whole.

use std::{fs, path::Path};

use serde_saphyr::{Budget, Options};

use crate::folder::node::Node;

/// Larger files are refused before they are read.
const MAX_BYTES: u64 = 1 << 30;
/// What aliases may add to a file of any size.
const SPARE: usize = 1_000_000;

/// Why a file was not read, and at which line; 0 for the whole of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub line: u64,
    pub message: String,
}

/// The documents of a file, without empty ones; never none.
pub fn documents(file: &Path) -> Result<Vec<Node>, Unreadable> {
    parse(&text_of(file)?)
}

/// The documents of a text.
///
/// Guarantees: a text that ends within a line, where that can change what it says, is refused.
pub fn parse(text: &str) -> Result<Vec<Node>, Unreadable> {
    let documents = documents_of(text)?;
    if documents.is_empty() {
        // What a full disk, or a checkout that is not done yet, leaves behind.
        return Err(whole("holds no manifest; remove the file if nothing is wanted of it"));
    }
    if may_be_cut(text) {
        let message = "does not end with a newline, so it may be cut off; complete it, or add the newline";
        return Err(Unreadable { line: text.lines().count() as u64, message: message.into() });
    }
    Ok(documents)
}

fn text_of(file: &Path) -> Result<String, Unreadable> {
    let unreadable = |error: std::io::Error| whole(&format!("can't be read: {error}"));
    let found = fs::metadata(file).map_err(unreadable)?;
    if !found.is_file() {
        return Err(whole("can't be read: it is not a regular file"));
    }
    if found.len() > MAX_BYTES {
        return Err(whole("is larger than 1 GiB; split it"));
    }
    let bytes = fs::read(file).map_err(unreadable)?;
    // A parser may take a zero for the end; a crash of the machine leaves files that are full of them.
    if let Some(position) = bytes.iter().position(|byte| *byte == 0) {
        let message = "holds a zero byte, so it is damaged or not UTF-8; write it again".into();
        return Err(Unreadable { line: line_at(&bytes, position), message });
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = line_at(error.as_bytes(), error.utf8_error().valid_up_to());
        Unreadable { line, message: "is not UTF-8; save it as UTF-8".into() }
    })
}

fn documents_of(text: &str) -> Result<Vec<Node>, Unreadable> {
    match serde_saphyr::from_multiple_with_options::<Option<Node>>(text, options(text.len())) {
        Ok(nodes) => Ok(nodes.into_iter().flatten().collect()),
        Err(error) => {
            let line = error.location().map_or(0, |location| location.line());
            let message = error.to_string();
            let first = message.lines().next().unwrap_or_default();
            Err(Unreadable { line, message: format!("is not valid YAML: {}", explained(first)) })
        }
    }
}

/// The parser's own words, but for limits, which it names as its programmers do.
fn explained(message: &str) -> &str {
    let limits = [
        ("budget breached: Depth", "it is nested too deeply; 64 levels are allowed"),
        ("recursion limit exceeded", "it is nested too deeply; 64 levels are allowed"),
        ("budget breached", "its aliases repeat too much; write the values out"),
        ("replay", "its aliases repeat too much; write the values out"),
    ];
    let known = limits.into_iter().find(|(word, _)| message.contains(word)).map(|(_, plain)| plain);
    known.unwrap_or_else(|| message.split(", set DuplicateKeyPolicy").next().unwrap_or(message))
}

/// What the text itself holds is bounded by its length: documents, nodes and anchors need no limit. What aliases
/// repeat is bounded by that length, too, and nesting by the parser's own depth.
fn options(length: usize) -> Options {
    let repeated = length.saturating_add(SPARE);
    let mut budget = Budget::default();
    budget.max_events = usize::MAX;
    budget.max_nodes = usize::MAX;
    budget.max_documents = usize::MAX;
    budget.max_total_scalar_bytes = usize::MAX;
    budget.max_aliases = usize::MAX;
    budget.max_anchors = usize::MAX;
    budget.max_merge_keys = usize::MAX;
    budget.enforce_alias_anchor_ratio = false;
    budget.max_recorded_anchor_events = repeated;
    budget.max_recorded_anchor_bytes = budget.max_recorded_anchor_bytes.saturating_add(length);
    let mut options = Options::default();
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = repeated;
    options
}

/// Whether more may have followed on the last line.
///
/// A text that ends with a newline, with a closing bracket or double quote, or within a comment says the same whatever
/// followed on that line. A plain value, or one in single quotes, may be the beginning of a longer one. A text that is
/// cut between two lines can't be told from a shorter one.
fn may_be_cut(text: &str) -> bool {
    if text.ends_with(['\n', '\r']) {
        return false;
    }
    let tail = last_document(text);
    let line = tail.lines().last().unwrap_or_default().trim_end();
    if matches!(line, "---" | "...") {
        return false;
    }
    match (documents_of(tail), documents_of(&format!("{tail}x"))) {
        // The same: within a comment, or at an anchor whose value is yet to come.
        (Ok(now), Ok(longer)) => now != longer || !line.contains('#'),
        (Ok(_), Err(_)) => !line.ends_with([']', '}', '"']),
        // The whole text was read before: it is the tail alone that can't be.
        (Err(_), _) => true,
    }
}

/// The text from its last document marker on. Such a line can't be part of a value (YAML 1.2, section 9.1.2).
fn last_document(text: &str) -> &str {
    let is_marker =
        |at: &usize| matches!(text.as_bytes().get(at + 4), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
    let mut markers = text.rmatch_indices("\n---").map(|(at, _)| at).filter(is_marker);
    markers.next().map_or(text, |at| &text[at + 1..])
}

fn whole(message: &str) -> Unreadable {
    Unreadable { line: 0, message: message.into() }
}

fn line_at(bytes: &[u8], position: usize) -> u64 {
    1 + bytes[..position].iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to write a value.
    const BLOCK: &str = "# head\napiVersion: zonekeeper.dev/v1alpha1\nkind: RecordSet\nmetadata:\n  name: www\nspec:\n  name: \"www.example.com\"\n  type: TXT\n  ttl: 300 # five minutes\n  note: 'it''s'\n  values: [\"a b\", c, {d: e}]\n  text: |\n    one\n    two\n  folded: plain words\n    go on\n---\nkind: &kind Other\nalso: *kind\nlast: 12\n";

    #[test]
    fn a_text_that_is_cut_within_a_line_is_refused_or_says_what_the_whole_line_says() {
        let mut refused = 0;
        for at in (1..BLOCK.len()).filter(|at| BLOCK.as_bytes()[at - 1] != b'\n') {
            let end = at + BLOCK[at..].find('\n').unwrap();
            match parse(&BLOCK[..at]) {
                Ok(read) => assert_eq!(Ok(read), documents_of(&BLOCK[..=end]), "{:?}", &BLOCK[..at]),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > BLOCK.len() / 2, "{refused} of {}", BLOCK.len());
    }

    #[test]
    fn a_text_of_brackets_is_refused_wherever_it_is_cut() {
        let text = r#"{"apiVersion": "v1", "kind": "List", "items": [{"a": 1, "b": ["x", null, true, 1.5]}, {"c": "it's"}]}"#;
        for at in 1..text.len() {
            assert!(parse(&text[..at]).is_err(), "{}", &text[..at]);
        }
        assert_eq!(parse(text).unwrap(), parse(&format!("{text}\n")).unwrap());
        assert!(parse(&format!("{text}  ")).is_ok());
    }

    #[test]
    fn what_ends_by_itself_needs_no_newline() {
        for text in [
            "a: \"b\"",
            "a: [b]",
            "a: {b: c}",
            "a: b # c",
            "a: b\n# c",
            "a: b\n---",
            "a: b\n...",
            "a: b\n---\n{\"c\": 1}",
        ] {
            assert!(parse(text).is_ok(), "{text:?}");
        }
        for text in [
            "a: b",
            "a: 'b'",
            "a: b]",
            "a: it\"",
            "a: b ",
            "a:",
            "a: |\n  b",
            "a: b\n  ",
            "- a",
            "a: &b",
            "a: b\n---\nc: d",
        ] {
            let refused = parse(text).unwrap_err();
            assert!(refused.message.contains("newline"), "{text:?}: {refused:?}");
            assert!(parse(&format!("{text}\n")).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_text_without_a_document_is_refused() {
        for text in
            ["", "\n", "   \n\n", "# nothing\n", "---\n", "---\n...\n", "null\n", "---\n---\n# x\n---\n~\n"]
        {
            assert!(parse(text).unwrap_err().message.contains("holds no manifest"), "{text:?}");
        }
    }

    #[test]
    fn many_documents_and_aliases_are_fine_and_bombs_are_not() {
        let many: String = (0..3_000).map(|n| format!("---\na: &x {n}\nb: *x\n")).collect();
        assert_eq!(parse(&many).unwrap().len(), 3_000);
        let list: String = (0..3_000).map(|n| format!("  - {{a: {n}, b: *x}}\n")).collect();
        assert_eq!(parse(&format!("x: &x 1\nitems:\n{list}")).unwrap().len(), 1);
        let doubling = (1..40).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1));
        let bomb = format!("a0: &a0 [x, x]\n{}", doubling.collect::<String>());
        assert!(parse(&bomb).is_err());
        for depth in [100, 100_000] {
            assert!(parse(&format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth))).is_err());
            let block: String = (0..depth.min(2_000)).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
            assert!(parse(&block).is_err());
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        assert!(parse("a: 1\nb: {c: 1, c: 2}\n").is_err());
    }
}
