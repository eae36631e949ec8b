//! Writing to a reader who may be gone: `zonekeeper plan | head -1` is no crash, and `up` goes on.

use std::{
    fmt::Display,
    io::{Write, stderr, stdout},
};

/// The result, as it is.
pub fn result(text: impl Display) {
    // There is no other place to say it.
    let _ = write!(stdout(), "{text}").and_then(|()| stdout().flush());
}

/// A line of the result.
pub fn line(text: impl Display) {
    result(format_args!("{text}\n"));
}

/// A line about the result.
pub fn aside(text: impl Display) {
    let _ = writeln!(stderr(), "{text}");
}
