//! Where a zone itself stands, as its provider and the servers of its parent zone say.

use std::{collections::BTreeSet, time::Duration};

use crate::{name::Name, zone_change::Fields};

/// What a provider says of a zone itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ZoneState {
    /// Its identifier; empty while it is not there.
    pub id: String,
    /// The values of the fields that were asked for, as far as the provider has them.
    pub fields: Fields,
    /// Whether the world already asks it.
    pub activation: Activation,
    /// Whose records it has.
    pub contents: Contents,
    /// The servers that the parent zone must name.
    pub name_servers: Vec<String>,
    /// How it is signed, if that was asked for.
    pub dnssec: Option<Dnssec>,
}

/// Whose records a zone has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contents {
    /// Its own: they are read and written.
    #[default]
    Own,
    /// Copies of another server's: they are neither read nor written there.
    Copies,
}

/// Whether a zone is delegated to its provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Activation {
    /// It is, or the provider does not watch that.
    #[default]
    Active,
    /// Not yet.
    Pending {
        /// When the provider gives it up, in RFC 3339.
        deadline: Option<String>,
        /// Whether that is near.
        is_near: bool,
    },
    /// Not any more: the parent zone names other servers.
    Moved,
}

/// How a zone is signed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dnssec {
    /// The provider's own word.
    pub state: String,
    /// Whether the chain of trust is complete, as far as the provider knows.
    pub is_complete: bool,
    /// What the parent zone must have.
    pub ds: Vec<Ds>,
}

/// A DS record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ds {
    /// The tag of the key.
    pub key_tag: u16,
    /// Its algorithm.
    pub algorithm: u8,
    /// How the digest is made.
    pub digest_type: u8,
    /// The digest, in upper-case hexadecimal.
    pub digest: String,
}

/// What the servers of the parent zone answer for a zone, all together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParentAnswer {
    /// The name servers that they name.
    pub name_servers: BTreeSet<Name>,
    /// The DS records that at least one of them has.
    pub ds: BTreeSet<Ds>,
    /// How long resolvers remember those.
    pub ds_ttl: Duration,
    /// Name servers that they name and that do not answer for the zone.
    pub lame: BTreeSet<Name>,
}

/// Whether the parent zone vouches for the keys of a zone. While it does, the zone must stay signed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ParentDs {
    /// Its servers were not asked.
    #[default]
    NotAsked,
    /// They can't be asked.
    Unknown(String),
    /// There is a DS record.
    There,
    /// There was one, and resolvers remember it for that long.
    Remembered(Duration),
    /// There is none.
    Absent,
}

// === impl ParentDs ===

impl ParentDs {
    /// Why a zone can't be unsigned or deleted, if that is so.
    pub fn block(&self) -> Option<String> {
        match self {
            Self::Absent => None,
            Self::NotAsked => Some("the servers of its parent zone were not asked yet for a DS record".into()),
            Self::Unknown(why) => {
                Some(format!("the servers of its parent zone can't be asked for a DS record: {why}"))
            }
            Self::There => Some(
                "its parent zone has a DS record for it: remove that first, at the registrar or in the parent zone"
                    .into(),
            ),
            Self::Remembered(left) => Some(format!(
                "resolvers remember the DS record that its parent zone had: it goes on in {} s",
                left.as_secs().max(1)
            )),
        }
    }
}

// === impl Activation ===

impl Activation {
    /// Its word in a status.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Pending { .. } => "pending",
            Self::Moved => "moved",
        }
    }
}

// === impl Ds ===

impl std::fmt::Display for Ds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {} {} {}", self.key_tag, self.algorithm, self.digest_type, self.digest)
    }
}
