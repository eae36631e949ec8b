//! Finds an address in an answer: by jq, then by a regular expression, then as it is.
//!
//! Caveat: a filter can run for ever, take all memory or overflow the stack. Only a worker calls this with filters of
//! people's objects; see `limits.rs`.

use std::net::IpAddr;

use jaq_core::{
    Ctx, Vars, data,
    load::{Arena, File, Loader},
};
use jaq_json::{Val, read};
use regex::{Regex, RegexBuilder};

/// Deeper answers are not parsed, because parsers recurse.
const MAX_DEPTH: usize = 128;
/// What a compiled regular expression, and what it remembers while it searches, may take.
const REGEX_SIZE: usize = 1 << 20;

/// The process's environment holds tokens, the answer may be secret, and no filter ends the program.
const FORBIDDEN: [&str; 8] =
    ["env", "halt", "halt_error", "debug", "debug_empty", "stderr", "stderr_empty", "input_filename"];

/// Finds the address; the answer itself never appears in an error.
pub fn address(answer: &str, jq: Option<&str>, regex: Option<&str>) -> Result<IpAddr, String> {
    let selected = match jq {
        Some(filter) => first_result(answer, filter)?,
        None => answer.to_owned(),
    };
    let found = match regex {
        Some(expression) => first_group(&compile(expression)?, &selected)
            .ok_or_else(|| "regex finds nothing in the answer".to_owned())?,
        None => selected,
    };
    found
        .trim()
        .parse()
        .map_err(|_| "the answer holds no IP address where jq and regex look for it".to_owned())
}

fn compile(expression: &str) -> Result<Regex, String> {
    RegexBuilder::new(expression)
        .size_limit(REGEX_SIZE)
        .dfa_size_limit(REGEX_SIZE)
        .build()
        .map_err(|_| format!("regex {expression:?} is not a regular expression"))
}

fn first_group(regex: &Regex, text: &str) -> Option<String> {
    let captures = regex.captures(text)?;
    let group = captures.get(1).or_else(|| captures.get(0))?;
    Some(group.as_str().to_owned())
}

/// How deep brackets nest, those in texts left out: at least as deep as any parser goes.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn first_result(answer: &str, filter: &str) -> Result<String, String> {
    if depth(answer.as_bytes()) > MAX_DEPTH {
        return Err(format!("the answer nests deeper than {MAX_DEPTH} levels"));
    }
    let input = read::parse_single(answer.as_bytes()).map_err(|_| "jq needs a JSON answer".to_owned())?;
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let definitions = definitions.filter(|definition| !FORBIDDEN.contains(&definition.name));
    let functions = functions.filter(|function| !FORBIDDEN.contains(&function.0));
    let arena = Arena::default();
    let bad_filter = || format!("jq {filter:?} is not a filter");
    let modules =
        Loader::new(definitions).load(&arena, File { code: filter, path: () }).map_err(|_| bad_filter())?;
    let compiled =
        jaq_core::Compiler::default().with_funs(functions).compile(modules).map_err(|_| bad_filter())?;
    let context = Ctx::<data::JustLut<Val>>::new(&compiled.lut, Vars::new([]));
    match compiled.id.run((context, input)).next() {
        Some(Ok(value)) => Ok(value.to_string().trim_matches('"').to_owned()),
        Some(Err(_)) | None => Err(format!("jq {filter:?} finds nothing in the answer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jq_and_regex_find_the_address() {
        let found = |answer, jq, regex| address(answer, jq, regex).map(|ip| ip.to_string());
        assert_eq!(found(" 192.0.2.1\n", None, None).unwrap(), "192.0.2.1");
        assert_eq!(found(r#"{"ip": "192.0.2.2"}"#, Some(".ip"), None).unwrap(), "192.0.2.2");
        assert_eq!(
            found(r#"[{"a":1},{"ip":"2001:db8::1"}]"#, Some(".[] | .ip // empty"), None).unwrap(),
            "2001:db8::1"
        );
        assert_eq!(found("your ip: 192.0.2.3.", None, Some("([0-9.]+[0-9])")).unwrap(), "192.0.2.3");
        assert_eq!(found(r#"{"t":"ip=192.0.2.4;"}"#, Some(".t"), Some("ip=([^;]+)")).unwrap(), "192.0.2.4");
    }

    #[test]
    fn depth_counts_brackets_outside_of_texts() {
        for (text, expected) in
            [("", 0), ("1", 0), ("[]", 1), (r#"{"a":[{}],"b":"[[[["}"#, 3), (r#"["\"[[["]"#, 1), ("]]][", 1)]
        {
            assert_eq!(depth(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_can_not_work_says_why_and_never_shows_the_answer() {
        let error =
            |answer: &str, jq: Option<&str>, regex: Option<&str>| address(answer, jq, regex).unwrap_err();
        assert!(error("secret", None, None).contains("no IP address"));
        assert!(!error("secret", None, None).contains("secret"));
        assert!(error("{}", Some(".ip |"), None).contains("not a filter"));
        assert!(error("<html>", Some(".ip"), None).contains("JSON"));
        assert!(error("x", None, Some("(")).contains("not a regular expression"));
        for filter in
            ["env.PATH", "$ENV.PATH", "halt", "halt_error", "halt(0)", "debug", "stderr", "input_filename"]
        {
            assert!(error("{}", Some(filter), None).contains("not a filter"), "{filter}");
        }
        assert!(error(&"[".repeat(32_000), Some("."), None).contains("deeper than 128"));
        assert!(error("x", None, Some("((a{1000}){1000}){1000}")).contains("not a regular expression"));
    }
}
