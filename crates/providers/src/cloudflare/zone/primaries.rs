//! The servers that a secondary zone is transferred from: peers and keys of the account, and which of them the zone
//! follows. Other zones may use them too: they are reused, and only peers that bear our name for the zone are written to.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
};

use reqwest::Method;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use zonekeeper_kernel::{
    name::Name,
    transfer_key::TransferKey,
    zone_change::{Fields, PRIMARIES, TRANSFER_TSIG, ZoneWish},
    zone_state::Contents,
};

use crate::{
    ProviderError,
    cloudflare::{
        CloudflareZone,
        api::{Failure, Reply, Request},
        budget::Purpose,
        query_text,
        zone::{Endpoint, explain::explain, text},
    },
};

/// What changes of peers and keys need; they belong to the account (2026-11).
const ACCOUNT_WRITE: &str = "Account Settings Write";
const ACCOUNT_READ: &str = "Account Settings Read";
/// How often Cloudflare asks a primary that sends no NOTIFY: its own default (2026-11).
const REFRESH_SECONDS: u64 = 86_400;
const DNS_PORT: u16 = 53;

/// A server that zones can be transferred from.
#[derive(Debug, Deserialize)]
struct Peer {
    id: String,
    #[serde(default)]
    name: String,
    /// A new one has none.
    #[serde(default)]
    ip: Option<String>,
    #[serde(default)]
    port: Option<f64>,
    #[serde(default)]
    tsig_id: Option<String>,
}

/// A key for transfers.
#[derive(Deserialize)]
struct Key {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    algo: String,
    #[serde(default)]
    secret: Option<String>,
}

/// Where a zone is transferred from.
#[derive(Debug, Deserialize, Default)]
struct Incoming {
    #[serde(default)]
    peers: Vec<String>,
    #[serde(default)]
    auto_refresh_seconds: Option<f64>,
}

/// A peer that a zone needs.
struct Wanted<'a> {
    address: SocketAddr,
    /// The id of the key, and its name.
    key: Option<(&'a str, &'a str)>,
    /// The peers that the zone has now.
    followed: &'a [String],
}

// === impl Peer ===

impl Peer {
    fn address(&self) -> Option<SocketAddr> {
        let ip: IpAddr = self.ip.as_deref()?.parse().ok()?;
        let port = self.port.map_or(DNS_PORT, |port| port as u16);
        Some(SocketAddr::new(ip, port))
    }

    fn has_key(&self) -> bool {
        self.tsig_id.as_deref().is_some_and(|id| !id.is_empty())
    }
}

// === impl Key ===

impl Key {
    /// Whether the primaries would take it for that key.
    fn is(&self, key: &TransferKey) -> bool {
        let is_same = self.secret.as_deref().is_none_or(|secret| secret == key.expose_secret());
        is_same
            && absolute(&self.name) == absolute(&key.name)
            && absolute(&self.algo) == absolute(&key.algorithm)
    }
}

// === impl Wanted ===

impl Wanted<'_> {
    /// The best of the peers that are like this. Without a key of ours, the keys of peers that are followed are left as
    /// they are.
    fn among<'p>(&self, peers: &'p [Peer], own_name: &str) -> Option<&'p Peer> {
        let is_followed = |peer: &Peer| self.followed.contains(&peer.id);
        let fits = |peer: &&Peer| {
            peer.address() == Some(self.address)
                && match self.key {
                    Some((id, _)) => peer.tsig_id.as_deref() == Some(id),
                    None => !peer.has_key() || is_followed(peer),
                }
        };
        let rank = |peer: &&Peer| (!is_followed(peer), peer.name != own_name, peer.id.clone());
        peers.iter().filter(fits).min_by_key(rank)
    }
}

// === impl CloudflareZone ===

impl CloudflareZone {
    /// Which servers the zone follows, and with which key.
    pub(super) async fn read_primaries(
        &self,
        wish: &ZoneWish,
        contents: Contents,
        fields: &mut Fields,
    ) -> Result<(), ProviderError> {
        let followed = match contents {
            Contents::Copies => self.incoming().await?.unwrap_or_default().peers,
            Contents::Own => Vec::new(),
        };
        let peers = match followed.is_empty() {
            true => Vec::new(),
            false => self.of_account::<Peer>("peers").await?,
        };
        let followed: Vec<&Peer> = peers.iter().filter(|peer| followed.contains(&peer.id)).collect();
        let addresses: BTreeSet<SocketAddr> = followed.iter().filter_map(|peer| peer.address()).collect();
        fields.insert(PRIMARIES, text(&addresses.iter().map(SocketAddr::to_string).collect()));
        if wish.fields.get(TRANSFER_TSIG).is_some() {
            let name = self.key_of(&followed, wish.transfer_key.as_ref()).await?;
            fields.insert(TRANSFER_TSIG, text(&name));
        }
        Ok(())
    }

    /// The name of the key that all peers have; one with another secret than ours says so.
    async fn key_of(&self, peers: &[&Peer], wanted: Option<&TransferKey>) -> Result<Value, ProviderError> {
        if !peers.iter().any(|peer| peer.has_key()) {
            return Ok(Value::Null);
        }
        let keys = self.of_account::<Key>("tsigs").await?;
        let named = |peer: &&Peer| -> String {
            let Some(key) = keys.iter().find(|key| peer.tsig_id.as_deref() == Some(&key.id)) else {
                return "none".into();
            };
            match wanted {
                Some(wanted) if key.is(wanted) => wanted.name.clone(),
                Some(wanted) if absolute(&key.name) == absolute(&wanted.name) => {
                    format!("{} (another secret)", wanted.name)
                }
                Some(_) | None => key.name.clone(),
            }
        };
        let names: BTreeSet<String> = peers.iter().map(named).collect();
        Ok(Value::from(names.into_iter().collect::<Vec<_>>().join(", ")))
    }

    /// Has the zone follow the primaries of a wish, and transfer itself from them.
    pub(super) async fn follow(&self, wish: &ZoneWish) -> Result<(), ProviderError> {
        let listed = wish.fields.get(PRIMARIES).unwrap_or("[]");
        let listed: Vec<String> = serde_json::from_str(listed).unwrap_or_default();
        let addresses: BTreeSet<SocketAddr> = listed.iter().filter_map(|text| text.parse().ok()).collect();
        let key = match &wish.transfer_key {
            Some(key) => Some((self.key(key).await?, &*key.name)),
            None => None,
        };
        let incoming = self.incoming().await?;
        let peers = self.of_account::<Peer>("peers").await?;
        let followed = incoming.as_ref().map(|it| &*it.peers).unwrap_or_default();
        let mut ids = Vec::new();
        for address in addresses {
            let key = key.as_ref().map(|(id, name)| (&**id, *name));
            ids.push(self.peer(&Wanted { address, key, followed }, &peers).await?);
        }
        self.set_incoming(incoming, ids).await?;
        self.ask_for_transfer().await;
        Ok(())
    }

    /// The id of a peer: one that is there, else one of our own.
    ///
    /// Guarantees: no peer is written to whose name is not ours for this zone.
    async fn peer(&self, wanted: &Wanted<'_>, peers: &[Peer]) -> Result<String, ProviderError> {
        let key = wanted.key.map(|(_, name)| format!(" {name}")).unwrap_or_default();
        let name = format!("zonekeeper {} {}{key}", self.domain, wanted.address);
        if let Some(peer) = wanted.among(peers, &name) {
            return Ok(peer.id.clone());
        }
        // One that was begun, or that was edited.
        let id = match peers.iter().find(|peer| peer.name == name) {
            Some(peer) => peer.id.clone(),
            None => self.create("peers", &json!({ "name": name }), |peer: &Peer| peer.name == name).await?.id,
        };
        let mut body = json!({
            "name": name,
            "ip": wanted.address.ip().to_string(),
            "port": wanted.address.port(),
            "ixfr_enable": false,
        });
        if let Some((id, _)) = wanted.key {
            body["tsig_id"] = json!(id);
        }
        let path = format!("{}/peers/{}", self.account_path()?, query_text(&id));
        let act = format!("changing the peer {name}");
        self.write::<Value>(Method::PUT, path, Some(body), (&act, ACCOUNT_WRITE)).await?;
        Ok(id)
    }

    /// The id of a key of the account, which is created if there is none like it.
    async fn key(&self, key: &TransferKey) -> Result<String, ProviderError> {
        let keys = self.of_account::<Key>("tsigs").await?;
        if let Some(found) = keys.into_iter().find(|found| found.is(key)) {
            return Ok(found.id);
        }
        let body = json!({
            "name": absolute(&key.name),
            "algo": absolute(&key.algorithm),
            "secret": key.expose_secret(),
        });
        Ok(self.create("tsigs", &body, |found: &Key| found.is(key)).await?.id)
    }

    async fn set_incoming(&self, before: Option<Incoming>, peers: Vec<String>) -> Result<(), ProviderError> {
        let method = if before.is_some() { Method::PUT } else { Method::POST };
        let refresh = before.and_then(|it| it.auto_refresh_seconds).map_or(REFRESH_SECONDS, |it| it as u64);
        let body = json!({
            "name": self.domain.to_fqdn(),
            "peers": peers,
            "auto_refresh_seconds": refresh,
        });
        let path = format!("/zones/{}/secondary_dns/incoming", query_text(&self.traits.id));
        let act = format!("configuring the primaries of zone {}", self.domain);
        self.write::<Value>(method, path, Some(body), (&act, Endpoint::Incoming.permission())).await?;
        Ok(())
    }

    /// That it is refused is no trouble: Cloudflare asks the primaries by itself as well.
    async fn ask_for_transfer(&self) {
        let path = format!("/zones/{}/secondary_dns/force_axfr", query_text(&self.traits.id));
        let request = Request { method: Method::POST, path, body: Some(json!({})), purpose: Purpose::Change };
        if let Err(failure) = self.client.send::<Value>(&request).await {
            tracing::debug!(zone = %self.domain, ?failure, "asking Cloudflare to transfer the zone");
        }
    }

    /// Where the zone is transferred from; none if that was never said.
    async fn incoming(&self) -> Result<Option<Incoming>, ProviderError> {
        let act = format!("reading the primaries of zone {}", self.domain);
        let path = format!("/zones/{}/secondary_dns/incoming", query_text(&self.traits.id));
        match self.client.read::<Incoming>(path, Purpose::Scan).await {
            Ok(reply) => Ok(Some(reply.result)),
            // Seen in the field for a zone without (2026-11).
            Err(Failure::Refused { status: 404, .. }) => Ok(None),
            Err(failure) => Err(explain(&act, "DNS Read", &failure)),
        }
    }

    /// All peers or keys of the zone's account: they come in one page (2026-11).
    async fn of_account<T: DeserializeOwned>(&self, what: &str) -> Result<Vec<T>, ProviderError> {
        let path = format!("{}/{what}", self.account_path()?);
        let reply: Result<Reply<Vec<T>>, _> = self.client.read(path, Purpose::Scan).await;
        let act = format!("reading the {what} of the account of zone {}", self.domain);
        reply.map(|reply| reply.result).map_err(|failure| explain(&act, ACCOUNT_READ, &failure))
    }

    /// Creates a peer or key; if the answer is lost, it is looked for.
    async fn create<T: DeserializeOwned>(
        &self,
        what: &str,
        body: &Value,
        is_it: impl Fn(&T) -> bool,
    ) -> Result<T, ProviderError> {
        let path = format!("{}/{what}", self.account_path()?);
        let act = format!("creating one of the {what} of the account of zone {}", self.domain);
        match self.write::<T>(Method::POST, path, Some(body.clone()), (&act, ACCOUNT_WRITE)).await {
            Err(error @ ProviderError::Unavailable { .. }) => {
                let made = self.of_account::<T>(what).await?.into_iter().find(is_it);
                made.ok_or(error)
            }
            answer => answer,
        }
    }

    async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: String,
        body: Option<Value>,
        (act, permission): (&str, &str),
    ) -> Result<T, ProviderError> {
        let request = Request { method, path, body, purpose: Purpose::Change };
        let reply = self.client.send::<T>(&request).await;
        reply.map(|reply| reply.result).map_err(|failure| explain(act, permission, &failure))
    }

    fn account_path(&self) -> Result<String, ProviderError> {
        let account = self.account().ok_or_else(|| ProviderError::Configuration {
            message: format!("Cloudflare does not say to which account zone {} belongs", self.domain),
        })?;
        Ok(format!("/accounts/{}/secondary_dns", query_text(&account)))
    }
}

/// Records of a secondary zone are never written.
pub(in crate::cloudflare) fn copies(domain: &Name) -> ProviderError {
    let message =
        format!("zone {domain} is a secondary at Cloudflare: its records are changed at its primary");
    ProviderError::Rejected { message }
}

/// A name of a key or an algorithm in the form in which Cloudflare has them: lower case, with a dot at the end.
fn absolute(name: &str) -> String {
    format!("{}.", name.trim_end_matches('.').to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(id: &str, name: &str, ip: &str, tsig: Option<&str>) -> Peer {
        let ip = Some(ip.to_owned()).filter(|ip| !ip.is_empty());
        Peer { id: id.into(), name: name.into(), ip, port: None, tsig_id: tsig.map(str::to_owned) }
    }

    fn found(wanted: &Wanted<'_>, peers: &[Peer]) -> Option<String> {
        wanted.among(peers, "ours").map(|peer| peer.id.clone())
    }

    #[test]
    fn a_peer_is_reused_if_address_port_and_key_are_the_same() {
        let address = SocketAddr::from(([192, 0, 2, 53], DNS_PORT));
        let peers = [
            peer("1", "theirs", "192.0.2.53", Some("key")),
            peer("2", "theirs", "192.0.2.53", None),
            peer("3", "ours", "192.0.2.53", None),
            peer("4", "ours", "", None),
        ];
        let plain = Wanted { address, key: None, followed: &[] };
        assert_eq!(found(&plain, &peers).as_deref(), Some("3"));
        let followed = ["1".to_owned()];
        let unmanaged = Wanted { followed: &followed, ..plain };
        assert_eq!(found(&unmanaged, &peers).as_deref(), Some("1"));
        let keyed = Wanted { address, key: Some(("key", "transfer")), followed: &[] };
        assert_eq!(found(&keyed, &peers).as_deref(), Some("1"));
        let elsewhere =
            Wanted { address: SocketAddr::from(([192, 0, 2, 53], 5353)), key: None, followed: &[] };
        assert_eq!(found(&elsewhere, &peers), None);
    }

    #[test]
    fn a_key_is_compared_as_a_primary_would() {
        let key = |name: &str, secret: Option<&str>| Key {
            id: "1".into(),
            name: name.into(),
            algo: "hmac-sha256.".into(),
            secret: secret.map(str::to_owned),
        };
        let wanted = TransferKey::new("Transfer", "hmac-sha256", "c2VjcmV0");
        assert!(key("transfer.", Some("c2VjcmV0")).is(&wanted));
        assert!(key("transfer.", None).is(&wanted));
        assert!(!key("transfer.", Some("b3RoZXI=")).is(&wanted));
        assert!(!key("other.", Some("c2VjcmV0")).is(&wanted));
    }
}
