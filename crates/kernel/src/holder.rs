//! Who wants a record, and which installation of Zonekeeper speaks for them.

use std::{collections::BTreeSet, fmt, sync::Arc};

use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};

/// Characters of a holder's hash.
const HASH: usize = 16;
/// Characters in markers that were written before: read, and written again.
const OLD_HASH: usize = 10;

/// An object that asks for records, as `kind/namespace/name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(Arc<str>);

/// A holder as a marker names it: in full, or by its hash where there was no room.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HolderRef {
    /// `kind/namespace/name`.
    Full(Holder),
    /// The first characters of its SHA-256 in base32: 16, or 10 in markers of before.
    Hash(Box<str>),
    /// The marker names no object.
    Unnamed,
}

/// Holders, to be found by the hash that a marker has of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HolderHashes(BTreeSet<String>);

/// The id of an installation: the records of one owner are maintained by one Zonekeeper.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId {
    id: Arc<str>,
    hash: Arc<str>,
}

// === impl Holder ===

impl Holder {
    /// A holder by its lower-case kind, namespace and name.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Self {
        Self(Arc::from(format!("{kind}/{namespace}/{name}")))
    }

    /// A holder that lies in no namespace, such as a Node, as ExternalDNS writes it: `kind/name`.
    pub fn cluster_wide(kind: &str, name: &str) -> Self {
        Self(Arc::from(format!("{kind}/{name}")))
    }

    /// A holder by the text a marker holds.
    pub fn from_text(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// `kind/namespace/name`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The namespace part; empty where the object lies in none, and for a text of another form.
    pub fn namespace(&self) -> &str {
        let mut parts = self.0.splitn(3, '/').skip(1);
        match (parts.next(), parts.next()) {
            (Some(namespace), Some(_name)) => namespace,
            _ => "",
        }
    }

    /// What a marker without room for the full text holds: 80 bits, so that none can be found for another holder.
    pub fn hash(&self) -> String {
        fingerprint(&self.0, HASH)
    }
}

impl fmt::Display for Holder {
    /// As people read it: `ingress shop/web`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_once('/') {
            Some((kind, object)) => write!(formatter, "{kind} {object}"),
            None => formatter.write_str(&self.0),
        }
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

// === impl HolderRef ===

impl HolderRef {
    /// Whether the marker names this holder.
    pub fn names(&self, holder: &Holder) -> bool {
        match self {
            Self::Full(named) => named == holder,
            Self::Hash(hash) => is_hash_of(hash, &holder.hash()),
            Self::Unnamed => false,
        }
    }

    /// Whether a marker would be written with a longer hash today.
    pub fn is_outdated(&self) -> bool {
        matches!(self, Self::Hash(hash) if hash.len() < HASH)
    }
}

impl fmt::Display for HolderRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(holder) => holder.fmt(formatter),
            Self::Hash(hash) => write!(formatter, "the object with hash {hash}"),
            Self::Unnamed => formatter.write_str("an unnamed object"),
        }
    }
}

// === impl HolderHashes ===

impl HolderHashes {
    /// Adds a holder.
    pub fn insert(&mut self, holder: &Holder) {
        self.0.insert(holder.hash());
    }

    /// Adds a holder of which only the hash is known.
    pub fn insert_hash(&mut self, hash: &str) {
        self.0.insert(hash.to_owned());
    }

    /// Whether one of the holders has this hash, in either length.
    pub fn contains(&self, hash: &str) -> bool {
        self.0.contains(hash)
            || self.0.range(hash.to_owned()..).next().is_some_and(|full| is_hash_of(hash, full))
    }
}

// === impl OwnerId ===

impl OwnerId {
    /// An owner by its id.
    pub fn new(id: &str) -> Self {
        Self { id: Arc::from(id), hash: Arc::from(fingerprint(id, 8)) }
    }

    /// The id as configured.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// What a comment marker holds of the id.
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

impl fmt::Debug for OwnerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.id)
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.id)
    }
}

/// Whether a marker's hash, of today's length or the one before, belongs to the holder with this full one.
fn is_hash_of(hash: &str, full: &str) -> bool {
    hash == full || (hash.len() == OLD_HASH && full.starts_with(hash))
}

/// The first `length` characters of the lower-case base32 form of the text's SHA-256.
fn fingerprint(text: &str, length: usize) -> String {
    base32_prefix(&Sha256::digest(text.as_bytes()), length)
}

/// Lower-case base32 (RFC 4648 alphabet, no padding), cut to `length` characters.
pub(crate) fn base32_prefix(bytes: &[u8], length: usize) -> String {
    let mut text = BASE32_NOPAD.encode(bytes);
    text.truncate(length);
    text.make_ascii_lowercase();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_outside_namespaces_has_none() {
        assert_eq!(Holder::new("ingress", "shop", "web").namespace(), "shop");
        assert_eq!(Holder::cluster_wide("node", "n1").as_str(), "node/n1");
        assert_eq!(Holder::cluster_wide("node", "n1").namespace(), "");
        assert_eq!(Holder::from_text("odd").namespace(), "");
    }

    #[test]
    fn hashes_of_both_lengths_are_found_and_no_others() {
        let (web, other) = (Holder::new("ingress", "shop", "web"), Holder::new("ingress", "shop", "other"));
        let full = web.hash();
        assert_eq!(full.len(), 16);
        let mut hashes = HolderHashes::default();
        hashes.insert(&web);
        for (hash, is_found) in
            [(&*full, true), (&full[..10], true), (&full[..9], false), (&full[..12], false)]
        {
            assert_eq!(HolderRef::Hash(hash.into()).names(&web), is_found, "{hash}");
            assert_eq!(hashes.contains(hash), is_found, "{hash}");
            assert!(!HolderRef::Hash(hash.into()).names(&other));
        }
        assert!(
            HolderRef::Hash(full[..10].into()).is_outdated()
                && !HolderRef::Hash((&*full).into()).is_outdated()
        );
        assert!(!hashes.contains(&other.hash()));
    }
}
