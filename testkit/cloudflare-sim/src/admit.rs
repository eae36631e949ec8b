//! Whether a record may enter a zone, and what it looks like once it has.

use std::{net::IpAddr, sync::OnceLock};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::{
    attributes, conflict,
    draft::Draft,
    error::{ApiError, error},
    kinds::{Content, Field, Kind, Priority, Proxy, Rule, Shown},
    knobs::{Knobs, SrvServiceFields, TypedContent},
    name, rdata,
    record::{Access, Record},
    txt,
    words::words,
    zone::Zone,
};

/// Everything a check needs besides the draft.
pub struct Entry<'a> {
    pub zone: &'a Zone,
    pub knobs: &'a Knobs,
    pub now: Timestamp,
    pub id: String,
    /// The record that this one replaces.
    pub previous: Option<&'a Record>,
}

/// Guarantees: the record can be stored as it is; all problems of its own fields come back together,
/// problems with its neighbours one at a time.
pub fn admit(entry: Entry<'_>, draft: Draft) -> Result<Record, Vec<ApiError>> {
    let record = checked(&entry, draft)?;
    conflict::check(entry.zone, entry.knobs, &record).map_err(|error| vec![error])?;
    Ok(record)
}

fn checked(entry: &Entry<'_>, draft: Draft) -> Result<Record, Vec<ApiError>> {
    let Entry { zone, knobs, now, previous, .. } = *entry;
    let limits = zone.plan.limits();
    let mut errors = Vec::new();
    let name = keep(&mut errors, full_name(zone, knobs, &draft));
    let Some(kind) = draft.kind else {
        errors.push(required("type"));
        return Err(errors);
    };
    let priority = keep(&mut errors, priority(kind, &draft));
    let value = keep_all(&mut errors, value(kind, &draft, knobs));
    let proxied = draft.proxied.unwrap_or(false);
    let ttl = keep(&mut errors, attributes::ttl(draft.ttl, proxied, limits));
    let comment = keep(&mut errors, attributes::comment(draft.comment, limits));
    let tags = keep(&mut errors, attributes::tags(draft.tags.unwrap_or_default(), limits, knobs));
    let (Some(name), Some(priority), Some((content, data)), Some(ttl), Some(comment), Some(tags)) =
        (name, priority, value, ttl, comment, tags)
    else {
        return Err(errors);
    };
    let has_same_comment = previous.is_some_and(|previous| previous.comment == comment);
    let has_same_tags = previous.is_some_and(|previous| previous.tags == tags);
    let record = Record {
        id: entry.id.clone(),
        proxiable: attributes::is_proxiable(kind, &content),
        priority: priority.or_else(|| mirrored_priority(kind, data.as_ref()?)),
        comment_modified_on: match previous {
            _ if comment.is_none() => None,
            Some(previous) if has_same_comment => previous.comment_modified_on,
            _ => Some(now),
        },
        tags_modified_on: match previous {
            _ if tags.is_empty() => None,
            Some(previous) if has_same_tags => previous.tags_modified_on,
            _ => Some(now),
        },
        settings: draft.settings.unwrap_or_default(),
        private_routing: draft.private_routing,
        access: previous.map_or(Access::Writable, |previous| previous.access),
        created_on: previous.map_or(now, |previous| previous.created_on),
        modified_on: now,
        rendered: OnceLock::new(),
        name,
        kind,
        content,
        data,
        proxied,
        ttl,
        comment,
        tags,
    };
    errors.extend(problems(zone, &record));
    if errors.is_empty() { Ok(record) } else { Err(errors) }
}

/// What is wrong with a record whose fields are right, each by itself.
fn problems(zone: &Zone, record: &Record) -> Vec<ApiError> {
    let content = &record.content;
    let mut problems = Vec::new();
    if record.proxied && record.kind.proxy == Proxy::Never {
        problems.push(error(9004, "This record type cannot be proxied."));
    } else if record.proxied && !record.proxiable {
        problems.push(error(9003, format!("Target {content} is not allowed for a proxied record.")));
    }
    match record.kind.rule {
        Rule::NotItself if content.eq_ignore_ascii_case(&record.name) => {
            problems.push(error(9039, "CNAME content cannot reference itself."));
        }
        Rule::NeedsMultiSigner if !zone.dnssec.multi_signer => {
            problems.push(error(9007, "Content for DNSKEY record is invalid: multi-signer DNSSEC is off."));
        }
        // Depends on other records, so `conflict` checks it.
        Rule::NeedsDelegation | Rule::NotItself | Rule::NeedsMultiSigner | Rule::None => {}
    }
    if record.wire_length() > 4_096 {
        problems.push(error(9015, "Record content exceeds the maximum of 4096 wire format bytes."));
    }
    problems
}

fn keep<T>(errors: &mut Vec<ApiError>, checked: Result<T, ApiError>) -> Option<T> {
    checked.map_err(|error| errors.push(error)).ok()
}

fn keep_all<T>(errors: &mut Vec<ApiError>, checked: Result<T, Vec<ApiError>>) -> Option<T> {
    checked.map_err(|found| errors.extend(found)).ok()
}

fn required(field: &str) -> ApiError {
    error(9100, format!("{field} is a required field."))
}

fn full_name(zone: &Zone, knobs: &Knobs, draft: &Draft) -> Result<String, ApiError> {
    let part = |field: &str| draft.data.as_ref().and_then(|data| data.get(field)?.as_str());
    match (&draft.name, part("service"), part("proto"), part("name")) {
        (Some(given), ..) => name::record_name(given, &zone.name, knobs),
        (None, Some(service), Some(proto), Some("@")) => {
            name::record_name(&format!("{service}.{proto}"), &zone.name, knobs)
        }
        (None, Some(service), Some(proto), Some(owner)) => {
            name::record_name(&format!("{service}.{proto}.{owner}"), &zone.name, knobs)
        }
        _ => Err(required("name")),
    }
}

fn priority(kind: &Kind, draft: &Draft) -> Result<Option<u16>, ApiError> {
    match (kind.priority, draft.priority) {
        (Priority::Beside, None) => Err(required("priority")),
        (Priority::Beside, Some(given)) => u16::try_from(given)
            .map(Some)
            .map_err(|_| error(9007, format!("Content for {} record is invalid: priority.", kind.name))),
        // ExternalDNS sends priority 0 with every type.
        (Priority::None | Priority::Within, _) => Ok(None),
    }
}

fn mirrored_priority(kind: &Kind, data: &Map<String, Value>) -> Option<u16> {
    let priority = data.get("priority").filter(|_| kind.priority == Priority::Within)?;
    u16::try_from(priority.as_u64()?).ok()
}

type Shape = (String, Option<Map<String, Value>>);

fn value(kind: &'static Kind, draft: &Draft, knobs: &Knobs) -> Result<Shape, Vec<ApiError>> {
    if kind.content == Content::Derived {
        let data = typed_data(kind, draft, knobs)?;
        return Ok((rdata::content_of(kind, &data, knobs), Some(data)));
    }
    let given = draft.content.as_deref().ok_or_else(|| vec![required("content")])?;
    let invalid = || error(9007, format!("Content for {} record is invalid.", kind.name));
    let content = match kind.content {
        Content::Ipv4 => given
            .parse::<std::net::Ipv4Addr>()
            .map(|address| address.to_string())
            .map_err(|_| error(9005, "Content for A record must be a valid IPv4 address.")),
        Content::Ipv6 => given
            .parse::<std::net::Ipv6Addr>()
            .map(|address| address.to_string())
            .map_err(|_| error(9006, "Content for AAAA record must be a valid IPv6 address.")),
        Content::Host => name::hostname(given, knobs).filter(|host| host != ".").ok_or_else(invalid),
        Content::MailHost => name::hostname(given, knobs).ok_or_else(|| match given.parse::<IpAddr>() {
            Ok(_) => {
                error(9009, "Change the content of your MX record to be a hostname instead of an IP address.")
            }
            Err(_) => invalid(),
        }),
        Content::Text => txt::normalise(given, knobs),
        Content::Base64 | Content::Derived => {
            let compact = given.split_whitespace().collect::<String>();
            if rdata::is_base64(&compact) { Ok(compact) } else { Err(invalid()) }
        }
    };
    content.map(|content| (content, None)).map_err(|error| vec![error])
}

fn typed_data(
    kind: &'static Kind,
    draft: &Draft,
    knobs: &Knobs,
) -> Result<Map<String, Value>, Vec<ApiError>> {
    let parsed;
    let given = match (&draft.data, &draft.content) {
        (Some(data), _) => data,
        (None, Some(content)) if knobs.typed_content == TypedContent::Parse => {
            let shown: Vec<&Field> =
                kind.fields.iter().filter(|field| field.shown != Shown::Hidden).collect();
            parsed = rdata::data_from_words(&shown, &words(content));
            &parsed
        }
        _ => return Err(vec![error(9101, "data is a required field.")]),
    };
    if kind.priority == Priority::Within
        && given.contains_key("service")
        && knobs.srv_service_fields == SrvServiceFields::Refuse
    {
        return Err(vec![error(9101, "service, proto and name are no longer fields of SRV data.")]);
    }
    match (kind.priority, draft.priority) {
        (Priority::Within, Some(priority)) if !given.contains_key("priority") => {
            let mut given = given.clone();
            given.insert("priority".into(), Value::from(priority));
            rdata::check_data(kind, &given, knobs)
        }
        _ => rdata::check_data(kind, given, knobs),
    }
}
