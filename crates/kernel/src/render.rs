//! Changes as people read them: one line each, and the line that a hash is made of.

use crate::{
    name::Name,
    plan::{Change, Operation, SetState},
    rdata::Rdata,
    record::Attributes,
};

/// The sign before a change in text output.
pub fn sign(change: &Change) -> char {
    match change.operation {
        _ if change.is_marker_only() => '=',
        Operation::Create => '+',
        Operation::Update => '~',
        Operation::Delete => '-',
    }
}

/// One line for a change, its name relative to the zone: `~ www A 192.0.2.1 -> 192.0.2.2`.
pub fn line(change: &Change, domain: &Name) -> String {
    let head = format!("{} {} {}", sign(change), change.name.relative_to(domain), change.rtype);
    let (before, after) = (change.before(), change.after());
    if change.is_marker_only() {
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
                let attributes = attribute_changes(one, other);
                let tail = if attributes.is_empty() { String::new() } else { format!(" ({attributes})") };
                format!("{head} {} -> {}{tail}", values(one), values(other))
            }
            (_, _) => format!("{head} {} -> {}", typed(&before), typed(&after)),
        },
    }
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

/// All attributes, in a fixed form. Tags have no control characters.
fn attributes(attributes: &Attributes) -> String {
    let Attributes { proxied, flatten_cname, ipv4_only, ipv6_only, tags } = attributes;
    let tags = tags.join("\u{1f}");
    format!(
        "proxied={proxied} flattenCNAME={flatten_cname} ipv4Only={ipv4_only} ipv6Only={ipv6_only} tags={tags}"
    )
}

/// The values of a set, joined.
pub fn values(state: &SetState) -> String {
    join(&state.values)
}

fn join(values: &[Rdata]) -> String {
    values.iter().map(Rdata::to_string).collect::<Vec<_>>().join(", ")
}

fn states(states: &[SetState]) -> String {
    match states {
        [one] => {
            let mut text = values(one);
            let mut notes = vec![format!("ttl {}", one.ttl)];
            if one.attributes.proxied {
                notes = vec!["proxied".into()];
            }
            text.push_str(&format!(" ({})", notes.join(", ")));
            text
        }
        several => typed(several),
    }
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
    let mut changes = Vec::new();
    if one.ttl != other.ttl {
        changes.push(format!("ttl {} -> {}", one.ttl, other.ttl));
    }
    let (old, new) = (&one.attributes, &other.attributes);
    let flags = [
        ("proxied", old.proxied, new.proxied),
        ("flattenCNAME", old.flatten_cname, new.flatten_cname),
        ("ipv4Only", old.ipv4_only, new.ipv4_only),
        ("ipv6Only", old.ipv6_only, new.ipv6_only),
    ];
    changes.extend(
        flags
            .into_iter()
            .filter(|(_, old, new)| old != new)
            .map(|(name, old, new)| format!("{name} {old} -> {new}")),
    );
    if old.tags != new.tags {
        changes.push(format!("tags {} -> {}", old.tags.join(","), new.tags.join(",")));
    }
    changes.join(", ")
}
