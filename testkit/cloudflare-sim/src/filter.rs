//! Which records a listing shows, and in which order.

use std::{cmp::Ordering, sync::Arc};

use crate::{name, query::Query, record::Record, zone::Records};

pub struct Filter {
    tests: Vec<Test>,
    tag_tests: Vec<Test>,
    all: bool,
    all_tags: bool,
    order: Option<String>,
    is_descending: bool,
}

enum Test {
    Text(Part, Mode, String),
    Comment(Presence),
    Tag { name: String, presence: Presence },
    TagValue { name: String, mode: Mode, value: String },
    Kind(String),
    Proxied(bool),
    Search(String),
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Name,
    Content,
    Comment,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Exact,
    Contains,
    StartsWith,
    EndsWith,
}

#[derive(Clone, Copy, PartialEq)]
enum Presence {
    Present,
    Absent,
}

// === impl Filter ===

impl Filter {
    /// Unknown parameters are ignored.
    pub fn read(query: &Query) -> Self {
        let mut filter = Self {
            tests: Vec::new(),
            tag_tests: Vec::new(),
            all: query.get("match") != Some("any"),
            all_tags: query.get("tag_match") != Some("any"),
            order: query.get("order").map(str::to_owned),
            is_descending: query.get("direction") == Some("desc"),
        };
        for (key, value) in query.pairs() {
            let (field, mode) = key.split_once('.').unwrap_or((key, "exact"));
            if field == "tag" {
                filter.tag_tests.extend(tag_test(mode, value, !key.contains('.')));
            } else {
                filter.tests.extend(test(field, mode, value));
            }
        }
        filter
    }

    /// The matching records, in the order asked for.
    pub fn apply(&self, records: &mut Records) -> Arc<Vec<Arc<Record>>> {
        let is_default_order =
            self.order.as_deref().is_none_or(|order| order == "type") && !self.is_descending;
        if self.tests.is_empty() && self.tag_tests.is_empty() && is_default_order {
            return records.ordered();
        }
        let mut found: Vec<Arc<Record>> = match self.exact_name() {
            Some(name) => {
                let mut named: Vec<_> =
                    records.named(name).filter(|record| self.accepts(record)).cloned().collect();
                named.sort_by(|a, b| (a.kind.name, &a.content).cmp(&(b.kind.name, &b.content)));
                named
            }
            None => records.ordered().iter().filter(|record| self.accepts(record)).cloned().collect(),
        };
        // The sort is stable, so ties keep the default order.
        found.sort_by(|a, b| {
            let order = self.compare(a, b);
            if self.is_descending { order.reverse() } else { order }
        });
        Arc::new(found)
    }

    /// A name that every match must have, so that an index can answer.
    fn exact_name(&self) -> Option<&str> {
        self.tests.iter().filter(|_| self.all).find_map(|test| match test {
            Test::Text(Part::Name, Mode::Exact, name) => Some(name.as_str()),
            _ => None,
        })
    }

    fn accepts(&self, record: &Record) -> bool {
        let tags_fit = (!self.tag_tests.is_empty()).then(|| match self.all_tags {
            true => self.tag_tests.iter().all(|test| test.accepts(record)),
            false => self.tag_tests.iter().any(|test| test.accepts(record)),
        });
        let mut verdicts = self.tests.iter().map(|test| test.accepts(record)).chain(tags_fit);
        match (self.all, self.tests.is_empty() && tags_fit.is_none()) {
            (_, true) => true,
            (true, false) => verdicts.all(|verdict| verdict),
            (false, false) => verdicts.any(|verdict| verdict),
        }
    }

    fn compare(&self, a: &Record, b: &Record) -> Ordering {
        match self.order.as_deref() {
            Some("name") => a.name.cmp(&b.name),
            Some("content") => a.content.cmp(&b.content),
            Some("ttl") => a.ttl.cmp(&b.ttl),
            Some("proxied") => a.proxied.cmp(&b.proxied),
            _ => a.kind.name.cmp(b.kind.name),
        }
    }
}

// === impl Test ===

impl Test {
    fn accepts(&self, record: &Record) -> bool {
        match self {
            Self::Text(Part::Name, mode, wanted) => mode.accepts(&record.name, wanted),
            Self::Text(Part::Content, mode, wanted) => mode.accepts(&record.content, wanted),
            Self::Text(Part::Comment, mode, wanted) => {
                record.comment.as_ref().is_some_and(|comment| mode.accepts(comment, wanted))
            }
            Self::Comment(presence) => presence.accepts(record.comment.is_some()),
            Self::Tag { name, presence } => presence.accepts(tag_value(record, name).is_some()),
            Self::TagValue { name, mode, value } => {
                tag_value(record, name).is_some_and(|found| mode.accepts(found, value))
            }
            Self::Kind(kind) => record.kind.name.eq_ignore_ascii_case(kind),
            Self::Proxied(proxied) => record.proxied == *proxied,
            Self::Search(wanted) => [Some(&record.name), Some(&record.content), record.comment.as_ref()]
                .into_iter()
                .flatten()
                .any(|text| Mode::Contains.accepts(text, wanted)),
        }
    }
}

impl Mode {
    fn read(word: &str) -> Option<Self> {
        match word {
            "exact" => Some(Self::Exact),
            "contains" => Some(Self::Contains),
            "startswith" => Some(Self::StartsWith),
            "endswith" => Some(Self::EndsWith),
            _ => None,
        }
    }

    /// `wanted` is lower-case already.
    fn accepts(self, text: &str, wanted: &str) -> bool {
        let text = text.to_lowercase();
        match self {
            Self::Exact => text == wanted,
            Self::Contains => text.contains(wanted),
            Self::StartsWith => text.starts_with(wanted),
            Self::EndsWith => text.ends_with(wanted),
        }
    }
}

impl Presence {
    fn accepts(self, is_there: bool) -> bool {
        (self == Self::Present) == is_there
    }
}

fn test(field: &str, mode: &str, value: &str) -> Option<Test> {
    let presence = match mode {
        "present" => Some(Presence::Present),
        "absent" => Some(Presence::Absent),
        _ => None,
    };
    if let ("comment", Some(presence)) = (field, presence) {
        return Some(Test::Comment(presence));
    }
    if value.is_empty() {
        return None;
    }
    let lower = value.to_lowercase();
    match field {
        "name" => {
            let bare = lower.strip_suffix('.').unwrap_or(&lower);
            Some(Test::Text(Part::Name, Mode::read(mode)?, name::ascii(bare)?))
        }
        "content" => Some(Test::Text(Part::Content, Mode::read(mode)?, lower)),
        "comment" => Some(Test::Text(Part::Comment, Mode::read(mode)?, lower)),
        "type" => Some(Test::Kind(lower)),
        "proxied" => Some(Test::Proxied(lower == "true")),
        "search" => Some(Test::Search(lower)),
        _ => None,
    }
}

/// `tag=name` asks for presence, `tag=name:value` for that value.
fn tag_test(mode: &str, value: &str, is_bare: bool) -> Option<Test> {
    let (name, wanted) = value.split_once(':').unwrap_or((value, ""));
    let name = name.to_lowercase();
    match mode {
        _ if name.is_empty() => None,
        "present" => Some(Test::Tag { name, presence: Presence::Present }),
        "absent" => Some(Test::Tag { name, presence: Presence::Absent }),
        _ if is_bare && !value.contains(':') => Some(Test::Tag { name, presence: Presence::Present }),
        mode => Some(Test::TagValue { name, mode: Mode::read(mode)?, value: wanted.to_lowercase() }),
    }
}

fn tag_value<'a>(record: &'a Record, name: &str) -> Option<&'a str> {
    let pairs = record.tags.iter().map(|tag| tag.split_once(':').unwrap_or((tag, "")));
    pairs.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
}
