//! Why a text or a wire form is not a value of its record type.

use std::borrow::Cow;

use super::{RecordType, Row};

/// Why a text, a list of fields or a wire form was refused; says what would have been accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A field is there, but its content is not what the type asks for.
    #[error("{rtype}: {field} {value:?} {problem}; expected e.g. {example}")]
    BadField {
        /// The type of the value.
        rtype: RecordType,
        /// The name of the field.
        field: &'static str,
        /// What was found, shortened if it is long.
        value: String,
        /// What is wrong with it.
        problem: Cow<'static, str>,
        /// A value of this type that is accepted.
        example: &'static str,
    },
    /// The value ends before this field.
    #[error("{rtype}: {field} is missing; expected e.g. {example}")]
    MissingField {
        /// The type of the value.
        rtype: RecordType,
        /// The name of the first field that is missing.
        field: &'static str,
        /// A value of this type that is accepted.
        example: &'static str,
    },
    /// The value goes on after its last field.
    #[error("{rtype}: {value:?} is too much; expected e.g. {example}")]
    Leftover {
        /// The type of the value.
        rtype: RecordType,
        /// What follows the last field, shortened if it is long.
        value: String,
        /// A value of this type that is accepted.
        example: &'static str,
    },
    /// A wire form that this type can't have.
    #[error("{rtype}: the wire form of {field} {problem}")]
    BadWire {
        /// The type of the value.
        rtype: RecordType,
        /// The name of the field.
        field: &'static str,
        /// What is wrong with it.
        problem: Cow<'static, str>,
    },
    /// More than 65,535 octets on the wire.
    #[error("{rtype}: the value has {length} octets; at most 65535 are allowed")]
    TooLong {
        /// The type of the value.
        rtype: RecordType,
        /// Its length in octets.
        length: usize,
    },
    /// A type without a row, and a value that is not written as RFC 3597 says.
    #[error("{rtype}: {value:?} is not an RFC 3597 value; expected e.g. \\# 4 c0000201")]
    NotGeneric {
        /// The type of the value.
        rtype: RecordType,
        /// What was found, shortened if it is long.
        value: String,
    },
    /// The name of a type that is neither in the table nor of the form `TYPE65280`.
    #[error("{0:?} is not a record type; expected e.g. A or TYPE65280")]
    NotAType(String),
}

/// What a field's reader or checker found wrong, before the walker adds the type and the field.
#[derive(Debug)]
pub(super) enum Fault {
    /// There is nothing where the field should be.
    Missing,
    /// There is something else.
    Bad(String, Problem),
}

/// The words that say what is wrong, to follow the value in a message.
pub(super) type Problem = Cow<'static, str>;

// === impl ValueError ===

impl ValueError {
    /// A fixed word for conditions, events and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadField { .. } | Self::MissingField { .. } | Self::Leftover { .. } => "InvalidValue",
            Self::BadWire { .. } => "InvalidWireForm",
            Self::TooLong { .. } => "ValueTooLong",
            Self::NotGeneric { .. } | Self::NotAType(_) => "UnknownRecordType",
        }
    }
}

// === impl Fault ===

impl Fault {
    pub(super) fn bad(value: &str, problem: impl Into<Problem>) -> Self {
        Self::Bad(shorten(value), problem.into())
    }

    pub(super) fn at(self, row: &Row, field: &'static str) -> ValueError {
        let (rtype, example) = (row.rtype, row.example);
        match self {
            Self::Missing => ValueError::MissingField { rtype, field, example },
            Self::Bad(value, problem) => ValueError::BadField { rtype, field, value, problem, example },
        }
    }
}

/// Keeps messages readable: certificates and keys run to thousands of characters.
pub(super) fn shorten(value: &str) -> String {
    const SHOWN: usize = 64;
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.into(),
    }
}
