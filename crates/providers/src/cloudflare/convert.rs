//! Records as Cloudflare writes them, both ways; one path for all types, along the kernel's table.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use zonekeeper_kernel::{
    attribute::{AttributeValue, Attributes, FLATTEN_CNAME, IPV4_ONLY, IPV6_ONLY, PROXIED, TAGS},
    name::Name,
    rdata::{FieldKind, Rdata, RecordType},
    record::{LiveRecord, Record, RecordId, Ttl},
};

use super::capabilities::PROXIABLE;

/// The names of settings, ours and the API's.
const SETTINGS: [(&str, &str); 3] =
    [(FLATTEN_CNAME, "flatten_cname"), (IPV4_ONLY, "ipv4_only"), (IPV6_ONLY, "ipv6_only")];
/// What one string of a TXT record holds.
const LONGEST_STRING: usize = 255;

static ONLY_PROXIED: LazyLock<Attributes> = LazyLock::new(|| Attributes::of(PROXIED, true));

/// A record as the API returns it.
#[derive(Debug, Deserialize)]
pub struct ApiRecord {
    id: String,
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    data: Option<Map<String, Value>>,
    #[serde(default)]
    priority: Option<f64>,
    #[serde(default)]
    proxied: Option<bool>,
    #[serde(default)]
    ttl: Option<f64>,
    #[serde(default)]
    comment: Option<String>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    settings: Option<Map<String, Value>>,
    #[serde(default)]
    meta: Option<Meta>,
}

#[derive(Debug, Deserialize, Default)]
struct Meta {
    #[serde(default)]
    read_only: Option<bool>,
}

/// How a type's value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `content` is the value.
    Content,
    /// `content` is the value without its first number, which is `priority`.
    PriorityAndContent,
    /// `data` holds the fields.
    Data,
    /// `data` holds the fields but the first, which is `priority`.
    PriorityAndData,
}

// === impl ApiRecord ===

impl ApiRecord {
    /// The provider's identifier.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The record in the kernel's terms; none for a type or value that the kernel can't express, which is
    /// another owner's and stays so.
    pub fn into_live(self) -> Option<(Name, LiveRecord)> {
        let name = Name::parse(&self.name).ok()?;
        let rdata = self.rdata()?;
        let attributes = self.attributes();
        let record = LiveRecord {
            rdata,
            id: RecordId(self.id.into()),
            ttl: self.ttl.map_or(Ttl::AUTOMATIC, |ttl| Ttl(ttl as u32)),
            attributes,
            comment: self.comment.unwrap_or_default().into(),
            read_only: self.meta.and_then(|meta| meta.read_only).unwrap_or_default(),
        };
        Some((name, record))
    }

    fn attributes(&self) -> Attributes {
        let is_on = |name: &str| self.settings.as_ref().and_then(|settings| settings.get(name)?.as_bool());
        let settings = SETTINGS.iter().map(|(name, theirs)| (*name, is_on(theirs)));
        let flags = settings.chain([(PROXIED, self.proxied)]).filter(|(_, flag)| *flag == Some(true));
        let mut tags: Vec<&str> = self.tags.iter().flatten().map(String::as_str).collect();
        tags.sort_unstable();
        let tags = (!tags.is_empty()).then(|| (TAGS, AttributeValue::from_iter(tags)));
        let all = flags.map(|(name, _)| (name, true.into())).chain(tags);
        let attributes: Attributes = all.map(|(name, value)| (name.into(), value)).collect();
        // Most records with attributes are proxied and have no others: they share one.
        if attributes == *ONLY_PROXIED { ONLY_PROXIED.clone() } else { attributes }
    }

    fn rdata(&self) -> Option<Rdata> {
        let rtype: RecordType = self.rtype.parse().ok()?;
        let priority = self.priority.map(|number| format!("{}", number as u64));
        match shape(rtype) {
            Shape::Content => Rdata::parse(rtype, &self.content).ok().map(rejoined),
            Shape::PriorityAndContent => Rdata::parse(rtype, &format!("{} {}", priority?, self.content)).ok(),
            Shape::Data | Shape::PriorityAndData => {
                let from_data =
                    self.data.as_ref().and_then(|data| from_data(rtype, priority.as_deref(), data));
                from_data.or_else(|| Rdata::parse(rtype, &self.content).ok())
            }
        }
    }
}

/// The body that creates a record.
pub fn create(record: &Record) -> Value {
    let mut body = value(&record.rdata);
    body.insert("name".into(), json!(record.name.as_str()));
    body.insert("type".into(), json!(record.rdata.rtype().to_string()));
    body.insert("ttl".into(), json!(record.ttl.0));
    if is_proxiable(record.rdata.rtype()) {
        body.insert("proxied".into(), json!(record.attributes.is_on(PROXIED)));
    }
    if !record.comment.is_empty() {
        body.insert("comment".into(), json!(&*record.comment));
    }
    let tags = record.attributes.list(TAGS);
    if !tags.is_empty() {
        body.insert("tags".into(), json!(tags));
    }
    let settings = settings(&Attributes::default(), &record.attributes);
    if !settings.is_empty() {
        body.insert("settings".into(), Value::Object(settings));
    }
    Value::Object(body)
}

/// The body that turns a record into another in place: only what differs.
pub fn patch(before: &LiveRecord, after: &Record) -> Value {
    let mut body = Map::new();
    body.insert("id".into(), json!(&*before.id.0));
    let (old, new) = (&before.attributes, &after.attributes);
    let is_retyped = before.rdata.rtype() != after.rdata.rtype();
    if before.rdata != after.rdata {
        body.extend(value(&after.rdata));
    }
    if is_retyped {
        body.insert("type".into(), json!(after.rdata.rtype().to_string()));
        body.insert("name".into(), json!(after.name.as_str()));
    }
    if before.ttl != after.ttl || is_retyped {
        body.insert("ttl".into(), json!(after.ttl.0));
    }
    let proxied = (old.is_on(PROXIED), new.is_on(PROXIED));
    if proxied.0 != proxied.1 || (is_retyped && is_proxiable(after.rdata.rtype())) {
        body.insert("proxied".into(), json!(proxied.1));
    }
    if before.comment != after.comment {
        body.insert("comment".into(), json!(&*after.comment));
    }
    if old.list(TAGS) != new.list(TAGS) {
        body.insert("tags".into(), json!(new.list(TAGS)));
    }
    let settings = settings(old, new);
    if !settings.is_empty() {
        body.insert("settings".into(), Value::Object(settings));
    }
    Value::Object(body)
}

fn shape(rtype: RecordType) -> Shape {
    match rtype {
        RecordType::A
        | RecordType::AAAA
        | RecordType::CNAME
        | RecordType::NS
        | RecordType::PTR
        | RecordType::TXT
        | RecordType::OPENPGPKEY => Shape::Content,
        RecordType::MX => Shape::PriorityAndContent,
        RecordType::URI => Shape::PriorityAndData,
        _typed => Shape::Data,
    }
}

fn is_proxiable(rtype: RecordType) -> bool {
    PROXIABLE.contains(&rtype)
}

/// The members of a body that carry a value.
fn value(rdata: &Rdata) -> Map<String, Value> {
    let fields =
        || rdata.fields().into_iter().map(|field| (field.name, number_or_text(field.kind, field.text)));
    let mut body = Map::new();
    match shape(rdata.rtype()) {
        Shape::Content => {
            body.insert("content".into(), json!(content(rdata)));
        }
        Shape::PriorityAndContent => {
            let mut fields = fields().map(|(_, value)| value);
            body.insert("priority".into(), fields.next().unwrap_or(Value::Null));
            body.insert("content".into(), fields.next().unwrap_or(Value::Null));
        }
        Shape::Data => {
            let data = fields().map(|(name, value)| (name.to_owned(), value)).collect();
            body.insert("data".into(), Value::Object(data));
        }
        Shape::PriorityAndData => {
            let mut fields = fields();
            body.insert("priority".into(), fields.next().map_or(Value::Null, |(_, value)| value));
            let data = fields.map(|(name, value)| (name.to_owned(), value)).collect();
            body.insert("data".into(), Value::Object(data));
        }
    }
    body
}

/// Hosts without a trailing dot, as the API returns them; TXT quoted, with its UTF-8 as it is.
fn content(rdata: &Rdata) -> String {
    match rdata.rtype() {
        RecordType::TXT => quoted(rdata),
        _other => rdata.fields().into_iter().next().map(|field| field.text).unwrap_or_default(),
    }
}

fn quoted(rdata: &Rdata) -> String {
    let strings = strings(rdata);
    // A long text is cut every 255 bytes, perhaps within a character; Cloudflare cuts it itself (2026-11).
    let (_, full) = strings.split_last().unwrap_or((&&[][..], &[]));
    let joined = strings.concat();
    let texts = texts_of(&strings).or_else(|| {
        let is_cut = full.iter().all(|string| string.len() == LONGEST_STRING);
        texts_of(&[&joined]).filter(|_| is_cut)
    });
    match texts {
        Some(texts) => {
            texts.iter().map(|text| format!("\"{}\"", escaped(text))).collect::<Vec<_>>().join(" ")
        }
        // Not text: only the escapes of the presentation format can carry it.
        None => rdata.to_string(),
    }
}

/// Undoes what Cloudflare did to a long text where it cut before a character instead of within it.
fn rejoined(rdata: Rdata) -> Rdata {
    let strings = strings(&rdata);
    let is_cut = |pair: &[&[u8]]| {
        let next = std::str::from_utf8(pair[1]).ok().and_then(|text| text.chars().next());
        pair[0].len() + next.map_or(LONGEST_STRING, char::len_utf8) > LONGEST_STRING
    };
    if rdata.rtype() != RecordType::TXT || strings.len() < 2 || !strings.windows(2).all(is_cut) {
        return rdata;
    }
    let mut wire = Vec::with_capacity(rdata.wire().len());
    for string in strings.concat().chunks(LONGEST_STRING) {
        wire.extend(u8::try_from(string.len()));
        wire.extend(string);
    }
    Rdata::from_wire(RecordType::TXT, &wire).unwrap_or(rdata)
}

fn strings(rdata: &Rdata) -> Vec<&[u8]> {
    let (mut strings, mut wire) = (Vec::new(), rdata.wire());
    while let Some((length, rest)) = wire.split_first() {
        let Some((string, tail)) = rest.split_at_checked(usize::from(*length)) else { break };
        strings.push(string);
        wire = tail;
    }
    strings
}

/// The strings as texts, if all of them are.
fn texts_of<'a>(strings: &[&'a [u8]]) -> Option<Vec<&'a str>> {
    let is_text = |text: &&str| !text.contains(|c: char| c.is_ascii_control());
    strings.iter().map(|string| std::str::from_utf8(string).ok().filter(is_text)).collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn number_or_text(kind: FieldKind, text: String) -> Value {
    match kind {
        FieldKind::Number => match (text.parse::<u64>(), text.parse::<f64>()) {
            (Ok(whole), _) => json!(whole),
            (_, Ok(number)) => json!(number),
            (_, Err(_)) => json!(text),
        },
        FieldKind::Text => json!(text),
    }
}

fn from_data(rtype: RecordType, priority: Option<&str>, data: &Map<String, Value>) -> Option<Rdata> {
    let row = zonekeeper_kernel::rdata::row(rtype)?;
    if rtype == RecordType::LOC {
        // Its twelve members are one field; `content` is the whole value.
        return None;
    }
    let mut texts = Vec::new();
    for (index, field) in row.fields.iter().enumerate() {
        texts.push(match data.get(field.name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => {
                number.as_u64().map_or_else(|| number.to_string(), |whole| whole.to_string())
            }
            Some(_) => return None,
            None if index == 0 => priority?.to_owned(),
            None => return None,
        });
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    match texts.split_last() {
        // Parameters of HTTPS and SVCB come as one text of several words.
        Some((value, head)) if matches!(rtype, RecordType::HTTPS | RecordType::SVCB) => {
            Rdata::parse(rtype, &format!("{} {value}", head.join(" "))).ok()
        }
        Some(_) | None => Rdata::from_fields(rtype, &texts).ok(),
    }
}

fn settings(old: &Attributes, new: &Attributes) -> Map<String, Value> {
    SETTINGS
        .iter()
        .filter(|(name, _)| old.is_on(name) != new.is_on(name))
        .map(|(name, theirs)| ((*theirs).to_owned(), json!(new.is_on(name))))
        .collect()
}
