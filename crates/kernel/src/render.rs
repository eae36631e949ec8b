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

/// A set as people read it: `192.0.2.1 (ttl 300)`; several sets of one name with their types.
pub fn states(states: &[SetState]) -> String {
    match states {
        [one] => format!("{} ({})", values(one), notes(one)),
        several => typed(several),
    }
}

/// Everything about a set but its values: `ttl 300`, `proxied, tags team:web`. Where Cloudflare proxies it, the TTL says
/// nothing; what is off is not listed.
pub fn notes(state: &SetState) -> String {
    let is_shown = |(field, value): &(&'static str, String)| match *field {
        "ttl" => !state.attributes.proxied,
        _other => value != "false" && !value.is_empty() && value != "\"\"",
    };
    let note = |(field, value): (&'static str, String)| match value.as_str() {
        "true" => field.to_owned(),
        _other => format!("{field} {value}"),
    };
    fields(state).into_iter().filter(is_shown).map(note).collect::<Vec<_>>().join(", ")
}

/// Every field of a set but its values, in a fixed order.
pub fn fields(state: &SetState) -> Vec<(&'static str, String)> {
    let Attributes { proxied, flatten_cname, ipv4_only, ipv6_only, tags } = &state.attributes;
    let mut fields = vec![
        ("ttl", state.ttl.to_string()),
        ("proxied", proxied.to_string()),
        ("flattenCNAME", flatten_cname.to_string()),
        ("ipv4Only", ipv4_only.to_string()),
        ("ipv6Only", ipv6_only.to_string()),
        ("tags", tags.join(",")),
    ];
    fields.extend(state.comment.as_ref().map(|comment| ("comment", format!("\"{comment}\""))));
    fields
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
pub fn differences(one: &SetState, other: &SetState) -> Vec<(&'static str, String, String)> {
    let new = fields(other);
    let differing = fields(one).into_iter().filter_map(|(field, old)| {
        let (_, new) = new.iter().find(|(other, new)| *other == field && *new != old)?;
        Some((field, old, new.clone()))
    });
    differing.collect()
}

fn parenthesised(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}
