//! Zone files: printed with Cloudflare's comments and tags, parsed into request bodies.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    kinds::{Content, Field, Kind, Priority, Proxy, kind},
    rdata,
    record::Record,
    words::words,
};

/// A record of a file, as POST would take it.
pub struct Parsed {
    pub line: usize,
    pub body: Map<String, Value>,
    pub is_proxiable: bool,
}

pub fn print(zone: &str, records: &[Arc<Record>]) -> String {
    let mut text = format!(
        ";; Domain: {zone}.\n\n;; SOA Record\n{zone}.\t3600\tIN\tSOA\tada.ns.example.com. dns.example.com. 1 10000 2400 604800 3600\n"
    );
    let mut current = "";
    for record in records {
        if record.kind.name != current {
            current = record.kind.name;
            text.push_str(&format!("\n;; {current} Records\n"));
        }
        let value = rdata::zone_text(record);
        text.push_str(&format!(
            "{}.\t{}\tIN\t{current}\t{value}{}\n",
            record.name,
            record.ttl,
            remark(record)
        ));
    }
    text
}

/// Guarantees: nothing is returned of a file with `$INCLUDE`.
pub fn parse(text: &str, zone: &str) -> Result<Vec<Parsed>, String> {
    let mut state = State { origin: zone.to_owned(), owner: zone.to_owned(), ttl: None };
    let mut parsed = Vec::new();
    for (number, line) in logical_lines(text) {
        let (entry, remark) = split_remark(&line);
        if entry.trim().is_empty() {
            continue;
        }
        match entry.split_whitespace().next().map(str::to_ascii_uppercase).as_deref() {
            Some("$INCLUDE") => return Err(format!("line {number}: $INCLUDE is not supported.")),
            Some("$ORIGIN") => {
                let origin = entry.split_whitespace().nth(1).unwrap_or(".");
                state.origin = state.absolute(origin);
            }
            Some("$TTL") => state.ttl = entry.split_whitespace().nth(1).and_then(seconds),
            Some("$GENERATE") => {
                for entry in generated(entry).ok_or_else(|| format!("line {number}: bad $GENERATE."))? {
                    parsed.extend(state.record(number, &entry, remark)?);
                }
            }
            _ => parsed.extend(state.record(number, entry, remark)?),
        }
    }
    Ok(parsed)
}

struct State {
    origin: String,
    owner: String,
    ttl: Option<u32>,
}

// === impl State ===

impl State {
    fn absolute(&self, given: &str) -> String {
        match given {
            "@" => self.origin.clone(),
            _ if given.ends_with('.') => given.trim_end_matches('.').to_owned(),
            _ => format!("{given}.{}", self.origin),
        }
    }

    /// `None` for SOA, which Cloudflare makes itself.
    fn record(&mut self, line: usize, entry: &str, remark: &str) -> Result<Option<Parsed>, String> {
        let mut rest = entry;
        if !entry.starts_with(char::is_whitespace) {
            let (owner, after) = entry.split_once(char::is_whitespace).unwrap_or((entry, ""));
            self.owner = self.absolute(owner);
            rest = after;
        }
        let mut ttl = self.ttl;
        let kind = loop {
            rest = rest.trim_start();
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            rest = after;
            match (word.to_ascii_uppercase().as_str(), seconds(word)) {
                ("", _) => return Err(format!("line {line}: no record type.")),
                ("SOA", _) => return Ok(None),
                ("IN", _) => {}
                (_, Some(given)) => ttl = Some(given),
                (word, None) => match kind(word) {
                    Some(kind) => break kind,
                    None => return Err(format!("line {line}: unknown record type {word}.")),
                },
            }
        };
        let mut body = self.value(kind, rest);
        body.insert("type".into(), Value::from(kind.name));
        body.insert("name".into(), Value::from(self.owner.clone()));
        body.extend(ttl.map(|ttl| ("ttl".into(), Value::from(ttl))));
        read_remark(&mut body, remark);
        Ok(Some(Parsed { line, body, is_proxiable: kind.proxy == Proxy::Possible }))
    }

    fn value(&self, kind: &'static Kind, text: &str) -> Map<String, Value> {
        let mut body = Map::new();
        let mut words = words(text);
        if kind.priority == Priority::Beside && !words.is_empty() {
            body.extend(words.remove(0).parse::<u16>().ok().map(|number| ("priority".into(), number.into())));
        }
        if kind.content == Content::Derived {
            let fields: Vec<&Field> = kind.fields.iter().collect();
            body.insert("data".into(), rdata::data_from_words(&fields, &words).into());
            return body;
        }
        let content = match kind.content {
            Content::Text => text.trim().to_owned(),
            Content::Host | Content::MailHost if words.len() == 1 && words[0] != "." => {
                self.absolute(&words[0])
            }
            _ => words.concat(),
        };
        body.insert("content".into(), Value::from(content));
        body
    }
}

fn remark(record: &Record) -> String {
    let mut tags = record.tags.clone();
    if record.kind.proxy == Proxy::Possible {
        tags.insert(0, format!("cf-proxied:{}", record.proxied));
    }
    let comment = record.comment.clone().unwrap_or_default();
    let tags = if tags.is_empty() { String::new() } else { format!("cf_tags={}", tags.join(",")) };
    match [comment, tags].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>() {
        parts if parts.is_empty() => String::new(),
        parts => format!(" ; {}", parts.join(" ")),
    }
}

fn read_remark(body: &mut Map<String, Value>, remark: &str) {
    let (comment, tags) = remark.split_once("cf_tags=").unwrap_or((remark, ""));
    if !comment.trim().is_empty() {
        body.insert("comment".into(), Value::from(comment.trim()));
    }
    let mut kept = Vec::new();
    for tag in tags.trim().split(',').filter(|tag| !tag.is_empty()) {
        match tag.strip_prefix("cf-proxied:") {
            Some(proxied) => drop(body.insert("proxied".into(), Value::Bool(proxied == "true"))),
            None => kept.push(Value::from(tag)),
        }
    }
    if !kept.is_empty() {
        body.insert("tags".into(), kept.into());
    }
}

/// Lines with parentheses joined, each with the number of its first line.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        let (entry, _) = split_remark(line);
        let opens = entry.contains('(') && !entry.contains('"');
        let closes = entry.contains(')') && !entry.contains('"');
        match lines.last_mut() {
            Some((_, joined)) if is_open => joined.push_str(&format!(" {}", entry.replace(['(', ')'], " "))),
            _ if opens => lines.push((index + 1, entry.replace(['(', ')'], " "))),
            _ => lines.push((index + 1, line.to_owned())),
        }
        is_open = (is_open || opens) && !closes;
    }
    lines
}

/// The entry and what follows its `;`.
fn split_remark(line: &str) -> (&str, &str) {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (at, char) in line.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ';' if !is_quoted => return (&line[..at], &line[at + 1..]),
            _ => {}
        }
    }
    (line, "")
}

/// `300`, `5m`, `1h30m`.
fn seconds(text: &str) -> Option<u32> {
    let mut total = 0_u32;
    let mut number = String::new();
    for char in text.chars() {
        let unit = match char.to_ascii_lowercase() {
            digit if digit.is_ascii_digit() => {
                number.push(digit);
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return None,
        };
        total = total.checked_add(number.parse::<u32>().ok()?.checked_mul(unit)?)?;
        number.clear();
    }
    match number.is_empty() {
        true if total > 0 => Some(total),
        true => None,
        false => total.checked_add(number.parse().ok()?),
    }
}

/// `$GENERATE 1-3 host-$ A 192.0.2.$`, with an optional step (`1-9/2`).
fn generated(entry: &str) -> Option<Vec<String>> {
    let mut parts = entry.trim().splitn(3, char::is_whitespace);
    let (range, template) = (parts.nth(1)?, parts.next()?);
    let (range, step) = range.split_once('/').unwrap_or((range, "1"));
    let (first, last) = range.split_once('-')?;
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    let step = step.parse::<usize>().ok().filter(|&step| step > 0)?;
    let numbers = (first..=last.min(first.saturating_add(65_535))).step_by(step);
    Some(numbers.map(|number| template.replace('$', &number.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_and_continuations_are_understood() {
        let text = "$ORIGIN example.com.\n$TTL 1h\n@ IN SOA a. b. ( 1\n 2 3 4 5 )\nwww 300 IN A 192.0.2.1 ; front cf_tags=cf-proxied:true,team:dns\n\tTXT \"a;b\" \"c\"\n$GENERATE 1-2 h$ A 192.0.2.$\nmx MX 10 mail\n";
        let parsed = parse(text, "example.com").unwrap();
        let bodies: Vec<Value> = parsed.into_iter().map(|parsed| parsed.body.into()).collect();
        assert_eq!(bodies.len(), 5);
        assert_eq!(bodies[0]["comment"], "front");
        assert_eq!(bodies[0]["proxied"], true);
        assert_eq!(bodies[0]["tags"], serde_json::json!(["team:dns"]));
        assert_eq!(bodies[1]["content"], "\"a;b\" \"c\"");
        assert_eq!(bodies[1]["name"], "www.example.com");
        assert_eq!(bodies[3]["content"], "192.0.2.2");
        assert_eq!(bodies[4]["content"], "mail.example.com");
    }

    #[test]
    fn include_is_refused() {
        assert!(parse("$INCLUDE other\n", "example.com").is_err());
    }
}
