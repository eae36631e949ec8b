//! Durations as people write them in Kubernetes: `60s`, `5m`, `1h30m`.

use std::{borrow::Cow, error::Error, fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A positive duration in Go's syntax, kept as it was written.
///
/// Decoding never fails: the schema refuses bad ones at admission, and [`GoDuration::to_std`] where there is none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GoDuration(String);

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidDuration(String);

const PATTERN: &str = r"^([0-9]{1,10}(\.[0-9]{1,9})?(ms|s|m|h))+$";
const MAX_LENGTH: usize = 32;
const NANOS_PER_SECOND: u128 = 1_000_000_000;
/// Go counts nanoseconds in 63 bits, and so does CEL at admission.
const MAX_NANOS: u128 = i64::MAX as u128;

// === impl GoDuration ===

impl GoDuration {
    /// Keeps a text as it is; [`GoDuration::to_std`] judges it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The duration; zero is refused.
    pub fn to_std(&self) -> Result<Duration, InvalidDuration> {
        self.to_std_or_zero().ok().filter(|duration| !duration.is_zero()).ok_or_else(|| self.invalid())
    }

    /// The duration, which may be zero.
    pub fn to_std_or_zero(&self) -> Result<Duration, InvalidDuration> {
        nanos(&self.0)
            .filter(|nanos| *nanos <= MAX_NANOS)
            .and_then(|nanos| {
                let seconds = u64::try_from(nanos / NANOS_PER_SECOND).ok()?;
                let rest = u32::try_from(nanos % NANOS_PER_SECOND).ok()?;
                Some(Duration::new(seconds, rest))
            })
            .ok_or_else(|| self.invalid())
    }

    /// The schema of a duration that may be zero.
    pub fn or_zero(_: &mut SchemaGenerator) -> Schema {
        schema("duration(self) >= duration('0s')", "write a duration such as 2s or 500ms, or 0s")
    }

    fn invalid(&self) -> InvalidDuration {
        InvalidDuration(self.0.clone())
    }
}

impl From<&str> for GoDuration {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// Whole milliseconds; the part below is dropped.
impl From<Duration> for GoDuration {
    fn from(duration: Duration) -> Self {
        let seconds = duration.as_secs();
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let mut text = String::new();
        for (count, unit) in
            [(hours, "h"), (minutes, "m"), (seconds % 60, "s"), (u64::from(duration.subsec_millis()), "ms")]
        {
            if count > 0 {
                text.push_str(&format!("{count}{unit}"));
            }
        }
        Self(if text.is_empty() { "0s".into() } else { text })
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl JsonSchema for GoDuration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "GoDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema("duration(self) > duration('0s')", "write a duration above zero, such as 60s, 5m or 1h30m")
    }
}

fn schema(rule: &str, message: &str) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": MAX_LENGTH,
        "pattern": PATTERN,
        "x-kubernetes-validations": [{ "rule": rule, "message": message }],
    })
}

// === impl InvalidDuration ===

impl fmt::Display for InvalidDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is not a duration above zero; write one such as 60s, 5m or 1h30m", self.0)
    }
}

impl Error for InvalidDuration {}

/// The sum of all parts; none where the text is malformed or far too large.
fn nanos(text: &str) -> Option<u128> {
    if text.is_empty() || text.len() > MAX_LENGTH {
        return None;
    }
    let (mut rest, mut sum) = (text, 0_u128);
    while !rest.is_empty() {
        let (whole, after) = digits(rest, 10)?;
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after, 9)?,
            None => ("", after),
        };
        let (unit, after) = unit(after)?;
        let whole: u128 = whole.parse().ok()?;
        let billionths: u128 = format!("{fraction:0<9}").parse().ok()?;
        sum = sum.checked_add(whole.checked_mul(unit)?)?;
        sum = sum.checked_add(billionths.checked_mul(unit)? / NANOS_PER_SECOND)?;
        rest = after;
    }
    Some(sum)
}

fn digits(text: &str, most: usize) -> Option<(&str, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    (1..=most).contains(&end).then(|| text.split_at(end))
}

fn unit(text: &str) -> Option<(u128, &str)> {
    [("ms", 1_000_000), ("s", NANOS_PER_SECOND), ("m", 60 * NANOS_PER_SECOND), ("h", 3600 * NANOS_PER_SECOND)]
        .into_iter()
        .find_map(|(unit, nanos)| text.strip_prefix(unit).map(|after| (nanos, after)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, millis) in [
            ("60s", 60_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("500ms", 500),
            ("1m0s", 60_000),
            ("0.25s", 250),
            ("30m1h", 5_400_000),
        ] {
            assert_eq!(GoDuration::new(text).to_std(), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_above_zero_is_refused_with_an_example() {
        for text in ["", "0s", "0h0m", "60", "s", "1d", "-1s", "1 s", "1.s", ".5s", "9999999999h", "1s1"] {
            let error = GoDuration::new(text).to_std().unwrap_err();
            let wanted = format!("{text:?} is not a duration above zero; write one such as 60s, 5m or 1h30m");
            assert_eq!(error.to_string(), wanted);
        }
    }

    #[test]
    fn zero_is_a_duration_where_a_field_allows_it() {
        assert_eq!(GoDuration::new("0s").to_std_or_zero(), Ok(Duration::ZERO));
        assert_eq!(GoDuration::new("2s").to_std_or_zero(), Ok(Duration::from_secs(2)));
        assert!(GoDuration::new("soon").to_std_or_zero().is_err());
    }

    #[test]
    fn the_text_is_kept() {
        let duration: GoDuration = serde_json::from_str("\"1m0s\"").unwrap();
        assert_eq!(serde_json::to_string(&duration).unwrap(), "\"1m0s\"");
    }

    proptest! {
        #[test]
        fn what_we_write_reads_back(millis in 1_u64..=9_223_372_036_854) {
            let duration = Duration::from_millis(millis);
            let text = GoDuration::from(duration);
            prop_assert!(Regex::new(PATTERN).unwrap().is_match(text.as_str()));
            prop_assert_eq!(text.to_std(), Ok(duration));
        }

        #[test]
        fn what_the_schema_refuses_is_refused_here(text in "[0-9.]{0,4}(ms|s|m|h|d)?[0-9]{0,2}(s|h)?") {
            let matches = Regex::new(PATTERN).unwrap().is_match(&text);
            prop_assert!(matches || GoDuration::new(text).to_std().is_err());
        }

        #[test]
        fn nothing_panics(text in ".{0,40}") {
            let _ = GoDuration::new(text).to_std();
        }
    }
}
