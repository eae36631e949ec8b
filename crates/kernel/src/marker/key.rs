//! Signing a marker: a keyed MAC over where it stands and whom it names.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{
    holder::{OwnerId, base32_prefix},
    name::Name,
    rdata::RecordType,
};

/// The keys of a registry: `current` signs, either verifies.
#[derive(Clone, Default)]
pub struct MarkerKeys {
    current: Option<Hmac<Sha256>>,
    previous: Option<Hmac<Sha256>>,
}

/// What a MAC proves about a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// Signed with the current key; or unsigned where no key is set.
    Current,
    /// Signed with the previous key: ours, to be signed again.
    Previous,
    /// Anything else.
    Bad,
}

/// What a marker says and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Statement<'a> {
    pub(crate) domain: &'a Name,
    pub(crate) name: &'a Name,
    pub(crate) rtype: RecordType,
    pub(crate) owner: &'a OwnerId,
    pub(crate) holder: &'a str,
}

// === impl MarkerKeys ===

impl MarkerKeys {
    /// Keys from their raw bytes.
    pub fn new(current: Option<&[u8]>, previous: Option<&[u8]>) -> Self {
        let keyed = |key: &[u8]| {
            Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length (RFC 2104 section 2)")
        };
        Self { current: current.map(keyed), previous: previous.map(keyed) }
    }

    /// Whether markers are signed at all.
    pub fn is_set(&self) -> bool {
        self.current.is_some()
    }

    /// The 16 characters that sign a statement; none without a key.
    pub(crate) fn sign(&self, statement: Statement<'_>) -> Option<String> {
        self.current.as_ref().map(|key| mac(key, statement))
    }

    /// What the MAC found beside a statement proves.
    pub(crate) fn verify(&self, statement: Statement<'_>, found: Option<&str>) -> Signature {
        let (Some(current), Some(found)) = (&self.current, found) else {
            return if self.current.is_none() && found.is_none() {
                Signature::Current
            } else {
                Signature::Bad
            };
        };
        if mac(current, statement) == found {
            return Signature::Current;
        }
        match &self.previous {
            Some(previous) if mac(previous, statement) == found => Signature::Previous,
            Some(_) | None => Signature::Bad,
        }
    }
}

impl fmt::Debug for MarkerKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_set() { "MarkerKeys(set)" } else { "MarkerKeys(none)" })
    }
}

/// Parts are separated by a line feed, which none of them can contain.
fn mac(key: &Hmac<Sha256>, statement: Statement<'_>) -> String {
    let mut mac = key.clone();
    for part in [statement.domain.as_str(), statement.name.as_str()] {
        mac.update(part.as_bytes());
        mac.update(b"\n");
    }
    mac.update(&statement.rtype.code().to_be_bytes());
    mac.update(statement.owner.as_str().as_bytes());
    mac.update(b"\n");
    mac.update(statement.holder.as_bytes());
    base32_prefix(&mac.finalize().into_bytes()[..10], 16)
}
