//! Zone transfers: the peers and keys of accounts, and where secondary zones come from.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::record::stamp;

/// Another server; a new one has a name only.
#[derive(Clone, Debug)]
pub struct Peer {
    pub account: String,
    pub name: String,
    pub ip: Option<String>,
    pub port: u16,
    pub is_incremental: bool,
    pub tsig: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Tsig {
    pub account: String,
    pub name: String,
    pub algorithm: String,
    pub secret: String,
}

/// Where a secondary zone comes from.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub name: String,
    pub peers: Vec<String>,
    pub refresh: u64,
    pub created_on: Timestamp,
    pub modified_on: Timestamp,
    /// When the primaries were last asked.
    pub checked_on: Option<Timestamp>,
}

/// By id.
#[derive(Default)]
pub struct Transfers {
    pub peers: BTreeMap<String, Peer>,
    pub tsigs: BTreeMap<String, Tsig>,
}

// === impl Peer ===

impl Peer {
    pub fn shown(&self, id: &str) -> Value {
        json!({
            "id": id,
            "name": self.name,
            "ip": self.ip,
            "port": self.port,
            "ixfr_enable": self.is_incremental,
            "tsig_id": self.tsig,
        })
    }
}

// === impl Tsig ===

impl Tsig {
    pub fn shown(&self, id: &str) -> Value {
        json!({"id": id, "name": self.name, "algo": self.algorithm, "secret": self.secret})
    }
}

// === impl Incoming ===

impl Incoming {
    /// It has the id of its zone.
    pub fn shown(&self, id: &str) -> Value {
        json!({
            "id": id,
            "name": self.name,
            "peers": self.peers,
            "auto_refresh_seconds": self.refresh,
            "created_time": stamp(self.created_on),
            "modified_time": stamp(self.modified_on),
            "checked_time": self.checked_on.map(stamp),
            "soa_serial": 0,
        })
    }
}
