//! API tokens: what they may do, where, and whether they still can.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Cloudflare's permission groups, as far as DNS needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    ZoneRead,
    ZoneWrite,
    DnsRead,
    DnsWrite,
    DnsSettings,
    ZoneSettings,
    Ssl,
    Registrar,
    /// Account Settings.
    AccountRead,
    AccountWrite,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Zones {
    All,
    /// Zone ids.
    Only(BTreeSet<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenStatus {
    Active,
    Expired,
    Disabled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenOwner {
    User,
    /// Has the `cfat_` prefix and can't verify itself as a user.
    Account,
}

/// Whether requests to the simulator come from an allowed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    Allowed,
    Barred,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenGrant {
    pub rights: BTreeSet<Right>,
    pub zones: Zones,
    pub status: TokenStatus,
    pub not_before: Option<Timestamp>,
    pub expires_on: Option<Timestamp>,
    pub owner: TokenOwner,
    pub location: Location,
}

// === impl TokenGrant ===

impl TokenGrant {
    /// All rights on all zones.
    pub fn full() -> Self {
        use Right::*;
        Self {
            rights: BTreeSet::from([
                ZoneRead,
                ZoneWrite,
                DnsRead,
                DnsWrite,
                DnsSettings,
                ZoneSettings,
                Ssl,
                Registrar,
                AccountRead,
                AccountWrite,
            ]),
            zones: Zones::All,
            status: TokenStatus::Active,
            not_before: None,
            expires_on: None,
            owner: TokenOwner::User,
            location: Location::Allowed,
        }
    }

    /// Only these rights, on all zones.
    pub fn of(rights: impl IntoIterator<Item = Right>) -> Self {
        Self { rights: rights.into_iter().collect(), ..Self::full() }
    }

    /// Narrows the grant to these zone ids.
    pub fn only<Id: Into<String>>(self, zones: impl IntoIterator<Item = Id>) -> Self {
        Self { zones: Zones::Only(zones.into_iter().map(Into::into).collect()), ..self }
    }

    pub fn status(self, status: TokenStatus) -> Self {
        Self { status, ..self }
    }

    pub fn expires_on(self, at: Timestamp) -> Self {
        Self { expires_on: Some(at), ..self }
    }

    pub fn account_owned(self) -> Self {
        Self { owner: TokenOwner::Account, ..self }
    }

    /// As if this machine's address were not on the token's list.
    pub fn barred(self) -> Self {
        Self { location: Location::Barred, ..self }
    }

    pub fn allows(&self, rights: &[Right]) -> bool {
        rights.iter().any(|right| self.rights.contains(right))
    }

    pub fn covers(&self, zone: &str) -> bool {
        match &self.zones {
            Zones::All => true,
            Zones::Only(ids) => ids.contains(zone),
        }
    }

    pub fn status_at(&self, now: Timestamp) -> TokenStatus {
        match self.expires_on {
            Some(end) if self.status == TokenStatus::Active && end <= now => TokenStatus::Expired,
            _ => self.status,
        }
    }
}

impl Default for TokenGrant {
    fn default() -> Self {
        Self::full()
    }
}

// === impl TokenStatus ===

impl TokenStatus {
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Disabled => "disabled",
        }
    }
}
