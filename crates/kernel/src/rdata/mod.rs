//! The value of a record: one table of types, and one path through it for all of them.

mod error;
mod generic;
mod loc;
mod print;
mod read;
mod rtype;
mod svcparams;
mod table;
mod tokens;
mod wire;

use std::fmt;

pub use self::{
    error::ValueError,
    rtype::RecordType,
    table::{Emptiness, Field, Kind, Root, Row, row},
};
use self::{error::shorten, tokens::Tokens};
use crate::name::Name;

const MAX_RDATA: usize = 65_535;

/// The value of one record, in canonical, uncompressed wire form: names inside are lower-case.
///
/// Guarantees: the value is valid for its type; `parse` of what `Display` prints gives it back; equality
/// is equality of octets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rdata {
    rtype: RecordType,
    wire: Box<[u8]>,
}

/// One field of a value, for APIs that want fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldValue {
    /// The field's name in the table.
    pub name: &'static str,
    /// Whether the text is a number.
    pub kind: FieldKind,
    /// The value without quotes, escapes or trailing dot; octets that are not UTF-8 become U+FFFD.
    pub text: String,
}

/// Whether a field is a number or a text in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// Decimal digits, perhaps with a sign and a fraction.
    Number,
    /// Anything else.
    Text,
}

// === impl Rdata ===

impl Rdata {
    /// Parses presentation format, or the generic form of RFC 3597, which every type has.
    ///
    /// Names are absolute, with or without a trailing dot. A TXT value without a leading quote is one
    /// literal text; longer texts than a character-string holds are split.
    pub fn parse(rtype: RecordType, text: &str) -> Result<Self, ValueError> {
        match (generic::read(text), row(rtype)) {
            (Some(Ok(wire)), _) => Self::from_owned(rtype, wire),
            (None, Some(row)) => Self::read(row, Tokens::Text(text), text.len() + 2),
            (None, None) | (Some(Err(_)), _) => Err(ValueError::NotGeneric { rtype, value: shorten(text) }),
        }
    }

    /// Takes an uncompressed wire form, checks it completely and makes it canonical.
    pub fn from_wire(rtype: RecordType, wire: &[u8]) -> Result<Self, ValueError> {
        Self::from_owned(rtype, wire.to_vec())
    }

    /// Takes fields that are already split, one text each, without quotes and escapes.
    ///
    /// Further texts for the last field are further strings (TXT), digits (hexadecimal, base64) or
    /// parameters (HTTPS, SVCB). A type without a row takes the words of its RFC 3597 form.
    pub fn from_fields(rtype: RecordType, fields: &[&str]) -> Result<Self, ValueError> {
        match row(rtype) {
            Some(row) => Self::read(row, Tokens::Fields(fields), 0),
            None => Self::parse(rtype, &fields.join(" ")),
        }
    }

    /// The type.
    pub fn rtype(&self) -> RecordType {
        self.rtype
    }

    /// The canonical, uncompressed wire form.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// The fields in the order of the row; LOC has twelve, a type without a row one.
    pub fn fields(&self) -> Vec<FieldValue> {
        let Some(row) = row(self.rtype) else {
            return vec![FieldValue { name: "rdata", kind: FieldKind::Text, text: self.to_string() }];
        };
        let mut values = Vec::with_capacity(row.fields.len());
        for (field, octets) in self.split(row) {
            print::values(field, octets, &mut values);
        }
        values
    }

    /// The host that a CNAME, DNAME, MX, NS, PTR, SRV, HTTPS or SVCB points to; the root where it says
    /// that there is none (or, for HTTPS and SVCB, that it is the owner itself).
    pub fn target(&self) -> Option<Name> {
        let (_, octets) =
            self.split(row(self.rtype)?).find(|(field, _)| matches!(field.kind, Kind::Target(_)))?;
        Name::from_wire(octets).ok().map(|(name, _)| name)
    }

    fn from_owned(rtype: RecordType, mut wire: Vec<u8>) -> Result<Self, ValueError> {
        if wire.len() > MAX_RDATA {
            return Err(ValueError::TooLong { rtype, length: wire.len() });
        }
        if let Some(row) = row(rtype) {
            wire::canonicalise(row, &mut wire)?;
        }
        Ok(Self { rtype, wire: wire.into() })
    }

    fn read(row: &'static Row, mut tokens: Tokens<'_>, capacity: usize) -> Result<Self, ValueError> {
        let mut wire = Vec::with_capacity(capacity);
        for field in row.fields {
            read::read(field.kind, &mut tokens, &mut wire).map_err(|fault| fault.at(row, field.name))?;
        }
        if let Some(leftover) = tokens.leftover() {
            let (rtype, example) = (row.rtype, row.example);
            return Err(ValueError::Leftover { rtype, value: shorten(leftover), example });
        }
        match wire.len() {
            0..=MAX_RDATA => Ok(Self { rtype: row.rtype, wire: wire.into() }),
            length => Err(ValueError::TooLong { rtype: row.rtype, length }),
        }
    }

    /// Each field with its octets.
    fn split(&self, row: &'static Row) -> impl Iterator<Item = (&'static Field, &[u8])> {
        let mut rest = &*self.wire;
        row.fields.iter().map_while(move |field| {
            let (octets, tail) = rest.split_at_checked(wire::extent(field.kind, rest).ok()?)?;
            rest = tail;
            Some((field, octets))
        })
    }
}

impl fmt::Display for Rdata {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(row) = row(self.rtype) else {
            return generic::print(&self.wire, formatter);
        };
        for (index, (field, octets)) in self.split(row).enumerate() {
            // Only service parameters may be empty, and then nothing separates them.
            if octets.is_empty() && matches!(field.kind, Kind::SvcParams) {
                continue;
            }
            if index > 0 {
                formatter.write_str(" ")?;
            }
            print::print(field.kind, octets, formatter)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Rdata {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {self}", self.rtype)
    }
}
