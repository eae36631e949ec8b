//! Finds an address in an answer: by jq, then by a regular expression, then as it is.

use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::{Mutex, PoisonError, mpsc},
    time::Duration,
};

use jaq_core::{
    Ctx, Vars, data,
    load::{Arena, File, Loader},
};
use jaq_json::{Val, read};
use regex::{Regex, RegexBuilder};

/// A filter that runs longer than this has lost its way.
const JQ_TIME: Duration = Duration::from_secs(2);

/// The process's environment holds tokens, the answer may be secret, and no filter ends the program.
const FORBIDDEN: [&str; 8] =
    ["env", "halt", "halt_error", "debug", "debug_empty", "stderr", "stderr_empty", "input_filename"];

/// Finds the address; the answer itself never appears in an error.
pub fn address(answer: &str, jq: Option<&str>, regex: Option<&str>) -> Result<IpAddr, String> {
    let selected = match jq {
        Some(filter) => run_jq(answer, filter)?,
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
        .size_limit(1 << 20)
        .build()
        .map_err(|_| format!("regex {expression:?} is not a regular expression"))
}

fn first_group(regex: &Regex, text: &str) -> Option<String> {
    let captures = regex.captures(text)?;
    let group = captures.get(1).or_else(|| captures.get(0))?;
    Some(group.as_str().to_owned())
}

/// Runs a filter on its own thread, because a filter can run for ever: one that did is not run again.
fn run_jq(answer: &str, filter: &str) -> Result<String, String> {
    static ENDLESS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let endless = || ENDLESS.lock().unwrap_or_else(PoisonError::into_inner);
    let too_long = || Err("jq takes too long".to_owned());
    if endless().contains(filter) {
        return too_long();
    }
    let (sender, receiver) = mpsc::channel();
    let (answer, text) = (answer.to_owned(), filter.to_owned());
    std::thread::spawn(move || sender.send(first_result(&answer, &text)));
    receiver.recv_timeout(JQ_TIME).unwrap_or_else(|_| {
        endless().insert(filter.to_owned());
        too_long()
    })
}

fn first_result(answer: &str, filter: &str) -> Result<String, String> {
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
    fn what_can_not_work_says_why_and_never_shows_the_answer() {
        let error = |answer, jq, regex| address(answer, jq, regex).unwrap_err();
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
        assert!(error("{}", Some("def f: f; f"), None).contains("too long"));
    }
}
