//! Changes as people read them: one line each, and the line that a hash is made of.

use crate::{
    attribute::{AttributeValue, Attributes, FLATTEN_CNAME, IPV4_ONLY, IPV6_ONLY, PROXIED, TAGS},
    name::Name,
    plan::{Change, Operation, SetState},
    rdata::Rdata,
};

/// The flags that come first, in this order.
const FLAGS: [&str; 4] = [PROXIED, FLATTEN_CNAME, IPV4_ONLY, IPV6_ONLY];

/// The sign before a change in text output.
pub fn sign(change: &Change) -> char {
    match change.operation {
        _ if is_marking(change) => '=',
        Operation::Create => '+',
        Operation::Update => '~',
        Operation::Delete => '-',
    }
}

/// One line for a change, its name relative to the zone: `~ www A 192.0.2.1 -> 192.0.2.2`.
pub fn line(change: &Change, domain: &Name) -> String {
    let head = format!("{} {} {}", sign(change), change.name.relative_to(domain), change.rtype);
    let (before, after) = (change.before(), change.after());
    if is_marking(change) {
        return match after.first().or(before.first()) {
            Some(state) => format!("{head} {} (ownership marker only)", values(state)),
            None => format!("{head} (ownership marker only)"),
        };
    }
    match change.operation {
        Operation::Create => format!("{head} {}", states(&after)),
        Operation::Delete => format!("{head} {}", states(&before)),
        Operation::Update => match (&*before, &*after) {
            ([one], [other]) if one.rtype == other.rtype && one.values == other.values => {
                format!("{head} {} ({})", values(one), attribute_changes(one, other))
            }
            ([one], [other]) if one.rtype == other.rtype => {
                let tail = parenthesised(&attribute_changes(one, other));
                format!("{head} {} -> {}{tail}", values(one), values(other))
            }
            ([one, ..], [other, ..]) => {
                let tail = parenthesised(&attribute_changes(one, other));
                format!("{head} {} -> {}{tail}", typed(&before), typed(&after))
            }
            (_, _) => format!("{head} {} -> {}", typed(&before), typed(&after)),
        },
    }
}

/// Whether a change writes ownership markers and nothing else that people see.
pub fn is_marking(change: &Change) -> bool {
    change.is_marker_only() && !change.changes_comment()
}

/// The line of a change that hashes are made of: operation, name, type, old and new value. Approvals depend on it: its
/// form is fixed.
pub fn hash_line(change: &Change) -> String {
    let side = |states: Vec<SetState>| {
        let texts: Vec<String> = states
            .iter()
            .map(|state| {
                let attributes = attributes(&state.attributes);
                format!("{} {} {} {attributes}", state.rtype, state.ttl.0, values(state))
            })
            .collect();
        texts.join("; ")
    };
    let (before, after) = (side(change.before()), side(change.after()));
    format!("{}\t{}\t{}\t{before}\t{after}", change.operation.as_str(), change.name, change.rtype)
}

/// All attributes, in a fixed form: some are always named, whether or not a provider has them; others, quoted, where
/// they are set. Tags have no control characters.
fn attributes(attributes: &Attributes) -> String {
    let flags = FLAGS.map(|name| format!("{name}={}", attributes.is_on(name))).join(" ");
    let mut text = format!("{flags} {TAGS}={}", attributes.list(TAGS).join("\u{1f}"));
    for (name, value) in attributes.iter().filter(|(name, value)| !is_always_named(name, value)) {
        let value = match value {
            AttributeValue::Flag(is_on) => is_on.to_string(),
            AttributeValue::Text(text) => quoted(text),
            AttributeValue::List(texts) => {
                texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(",")
            }
        };
        text.push_str(&format!(" {}={value}", quoted(name)));
    }
    text
}

fn is_always_named(name: &str, value: &AttributeValue) -> bool {
    match value {
        AttributeValue::Flag(_) => FLAGS.contains(&name),
        AttributeValue::List(_) => name == TAGS,
        AttributeValue::Text(_) => false,
    }
}

/// No text, however it is written, reads as another one or as two.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

/// Where an attribute stands in a line: the flags, then tags, then all others, which are sorted by name.
fn place_of(name: &str) -> usize {
    let place = FLAGS.iter().chain(&[TAGS]).position(|other| *other == name);
    place.unwrap_or(FLAGS.len() + 1)
}

/// The values of a set, joined.
pub fn values(state: &SetState) -> String {
    join(&state.values)
}

fn join(values: &[Rdata]) -> String {
    values.iter().map(Rdata::to_string).collect::<Vec<_>>().join(", ")
}

/// A set as people read it: `192.0.2.1 (ttl 300)`; several sets of one name with their types.
pub fn states(states: &[SetState]) -> String {
    match states {
        [one] => format!("{} ({})", values(one), notes(one)),
        several => typed(several),
    }
}

/// Everything about a set but its values: `ttl 300`, `proxied, tags team:web`. If the provider's proxy answers, the TTL says
/// nothing; what is off is not listed.
pub fn notes(state: &SetState) -> String {
    let ttl = (!state.attributes.is_on(PROXIED)).then(|| format!("ttl {}", state.ttl));
    let mut attributes: Vec<_> = state.attributes.iter().filter(|(_, value)| !value.is_unset()).collect();
    attributes.sort_by_key(|(name, _)| place_of(name));
    let attributes = attributes.into_iter().map(|(name, value)| match value {
        AttributeValue::Flag(_) => name.to_owned(),
        AttributeValue::Text(_) | AttributeValue::List(_) => format!("{name} {value}"),
    });
    let comment = state.comment.iter().filter(|comment| !comment.is_empty());
    let comment = comment.map(|comment| format!("comment \"{comment}\""));
    ttl.into_iter().chain(attributes).chain(comment).collect::<Vec<_>>().join(", ")
}

fn typed(states: &[SetState]) -> String {
    if states.is_empty() {
        return "nothing".into();
    }
    let texts: Vec<String> =
        states.iter().map(|state| format!("{} {}", state.rtype, values(state))).collect();
    texts.join(" + ")
}

fn attribute_changes(one: &SetState, other: &SetState) -> String {
    let changes = differences(one, other).into_iter();
    changes.map(|(field, old, new)| format!("{field} {old} -> {new}")).collect::<Vec<_>>().join(", ")
}

/// The fields in which two sets differ, their values aside, each with the old and the new value.
pub fn differences<'a>(one: &'a SetState, other: &'a SetState) -> Vec<(&'a str, String, String)> {
    let mut differences = Vec::new();
    if one.ttl != other.ttl {
        differences.push(("ttl", one.ttl.to_string(), other.ttl.to_string()));
    }
    let mut attributes = one.attributes.differences(&other.attributes);
    attributes.sort_by_key(|(name, ..)| place_of(name));
    differences
        .extend(attributes.into_iter().map(|(name, old, new)| (name, old.to_string(), new.to_string())));
    if let (Some(old), Some(new)) = (&one.comment, &other.comment)
        && old != new
    {
        differences.push(("comment", format!("\"{old}\""), format!("\"{new}\"")));
    }
    differences
}

fn parenthesised(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}
