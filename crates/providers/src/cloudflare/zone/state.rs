//! Where a zone stands, and how it is configured: only what is listed is read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::PoisonError,
    time::{Duration, Instant},
};

use jiff::{Timestamp, ToSpan};
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use zonekeeper_kernel::{
    zone_change::{DNSSEC, Fields, Presence, ZoneWish},
    zone_state::{Activation, Contents, Dnssec, Ds, ZoneState},
};

use crate::{
    Asks, ProviderError,
    cloudflare::{
        ApiZone, CloudflareZone, Plan,
        api::{Reply, Request},
        budget::Purpose,
        query_text,
        zone::{Endpoint, at, explain::explain, text},
    },
};

/// How often a zone that is active is looked at, if nothing of it is managed.
const LOOK: Duration = Duration::from_secs(3_600);
/// Cloudflare deletes a zone that is not activated after this many days (2026-11).
const DAYS_TO_ACTIVATE: i64 = 28;
/// From this day on a person is told that the end is near.
const DAYS_TO_WARNING: i64 = 21;

/// What was last read of the zone itself.
#[derive(Debug)]
pub(in crate::cloudflare) struct Seen {
    zone: ApiZone,
    read_at: Instant,
    /// When Cloudflare was last asked to look whether the zone is delegated.
    asked_at: Option<Instant>,
}

#[derive(Debug, Deserialize)]
struct ApiDnssec {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    algorithm: Option<String>,
    #[serde(default)]
    digest: Option<String>,
    #[serde(default)]
    digest_type: Option<String>,
    #[serde(default)]
    key_tag: Option<u16>,
}

#[derive(Debug, Deserialize)]
struct ApiHold {
    #[serde(default)]
    hold: Option<bool>,
    /// A text in the schema, a boolean in answers (2026-11).
    #[serde(default)]
    include_subdomains: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct ApiSetting {
    #[serde(default)]
    value: Option<Value>,
    /// Where a setting has no value (2026-11: ssl_recommender).
    #[serde(default)]
    enabled: Option<Value>,
}

// === impl Seen ===

impl Seen {
    pub(in crate::cloudflare) fn now(zone: ApiZone) -> Self {
        Self { zone, read_at: Instant::now(), asked_at: None }
    }

    fn activation(&self) -> Activation {
        match self.zone.status.as_deref() {
            Some("initializing" | "pending") => {
                let created = self.zone.created_on.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
                let after =
                    |days: i64| created.and_then(|created| created.checked_add((days * 24).hours()).ok());
                Activation::Pending {
                    deadline: after(DAYS_TO_ACTIVATE).map(|end| end.to_string()),
                    is_near: after(DAYS_TO_WARNING).is_some_and(|warning| warning <= Timestamp::now()),
                }
            }
            Some("moved") => Activation::Moved,
            Some(_) | None => Activation::Active,
        }
    }

    /// Whose records the zone has.
    pub(in crate::cloudflare) fn contents(&self) -> Contents {
        match self.zone.kind.as_deref() {
            Some("secondary") => Contents::Copies,
            Some(_) | None => Contents::Own,
        }
    }

    /// How often Cloudflare may be asked to look at the delegation.
    fn pace(&self) -> Duration {
        match Plan::of(self.zone.plan.as_ref()) {
            Plan::Free => Duration::from_secs(3_600),
            Plan::Paid | Plan::Enterprise => Duration::from_secs(300),
        }
    }
}

// === impl CloudflareZone ===

impl CloudflareZone {
    /// Reads what the wish lists, and the zone itself while it is not active.
    pub(in crate::cloudflare) async fn read_state(
        &self,
        wish: &ZoneWish,
        asks: Asks,
    ) -> Result<ZoneState, ProviderError> {
        let wanted: BTreeSet<&str> = wish.fields.iter().map(|(field, _)| field).collect();
        let is_going = wish.presence == Presence::Deleted;
        let endpoints: Vec<(&str, Endpoint<'_>)> =
            wanted.iter().filter_map(|field| Some((*field, Endpoint::of(field)?))).collect();
        let has = |is: &dyn Fn(Endpoint<'_>) -> bool| endpoints.iter().any(|(_, endpoint)| is(*endpoint));
        let is_managed = has(&|it| matches!(it, Endpoint::Zone(_) | Endpoint::Incoming));
        self.look_at_zone(is_managed, asks).await?;
        let mut fields = Fields::default();
        let mut state = {
            let seen = self.seen();
            for (field, value) in [
                ("paused", seen.zone.paused.map(Value::Bool)),
                ("type", seen.zone.kind.clone().map(Value::String)),
            ] {
                if let Some(value) = value.filter(|_| wanted.contains(field)) {
                    fields.insert(field, text(&value));
                }
            }
            ZoneState {
                id: self.traits.id.clone(),
                activation: seen.activation(),
                contents: seen.contents(),
                name_servers: seen.zone.name_servers.clone().unwrap_or_default(),
                ..ZoneState::default()
            }
        };
        if has(&|it| it == Endpoint::Incoming) {
            self.read_primaries(wish, state.contents, &mut fields).await?;
        }
        if has(&|it| it == Endpoint::Dnssec) || is_going {
            let dnssec = self.dnssec().await?;
            fields.insert(DNSSEC, if is_off(&dnssec.state) { "Off" } else { "On" });
            state.dnssec = Some(dnssec);
        }
        if has(&|it| matches!(it, Endpoint::Hold(_))) || is_going {
            let hold: ApiHold = self.get_part("hold", "Zone Write").await?;
            let includes = match &hold.include_subdomains {
                Some(Value::String(text)) => text == "true",
                Some(Value::Bool(is_included)) => *is_included,
                Some(_) | None => false,
            };
            fields.insert("hold.enabled", hold.hold.unwrap_or_default().to_string());
            fields.insert("hold.includeSubdomains", includes.to_string());
        }
        if has(&|it| matches!(it, Endpoint::DnsSettings(_))) {
            let settings: Value = self.get_part("dns_settings", "Zone DNS Settings Read").await?;
            for (field, endpoint) in &endpoints {
                if let Endpoint::DnsSettings(path) = endpoint
                    && let Some(value) = at(&settings, path)
                {
                    fields.insert(*field, text(value));
                }
            }
        }
        let mut raw: BTreeMap<&str, Value> = BTreeMap::new();
        for (field, endpoint) in &endpoints {
            let Endpoint::Setting(id, path) = endpoint else { continue };
            if !raw.contains_key(id) {
                let setting: ApiSetting =
                    self.get_part(&format!("settings/{}", query_text(id)), "Zone Settings Read").await?;
                raw.insert(id, setting.value.or(setting.enabled).unwrap_or(Value::Null));
            }
            let value = raw.get(id).and_then(|value| path.map_or(Some(value), |path| at(value, path)));
            if let Some(value) = value {
                fields.insert(*field, text(value));
            }
        }
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) =
            raw.into_iter().map(|(id, value)| (id.to_owned(), value)).collect();
        state.fields = fields;
        Ok(state)
    }

    /// Reads the zone, unless that was done a short time ago and nothing of it is managed; a zone that is not active is
    /// looked at by Cloudflare as often as its plan allows.
    async fn look_at_zone(&self, is_managed: bool, asks: Asks) -> Result<(), ProviderError> {
        let (is_due, must_ask) = {
            let seen = self.seen();
            let is_active = seen.activation() == Activation::Active;
            let must_ask = !is_active
                && asks == Asks::Provider
                && seen.asked_at.is_none_or(|asked| asked.elapsed() >= seen.pace());
            (is_managed || !is_active || seen.read_at.elapsed() >= LOOK, must_ask)
        };
        if must_ask {
            self.ask_for_activation().await;
        }
        if !is_due {
            return Ok(());
        }
        let path = format!("/zones/{}", query_text(&self.traits.id));
        let act = format!("reading zone {}", self.domain);
        match self.client.read::<ApiZone>(path, Purpose::Scan).await {
            Ok(Reply { result, .. }) => {
                let mut seen = self.seen();
                (seen.zone, seen.read_at) = (result, Instant::now());
                Ok(())
            }
            Err(failure) => Err(self.explain(&act, &failure).await),
        }
    }

    /// That it is refused, or comes too often, is no trouble: Cloudflare looks by itself as well.
    async fn ask_for_activation(&self) {
        self.seen().asked_at = Some(Instant::now());
        let path = format!("/zones/{}/activation_check", query_text(&self.traits.id));
        let request = Request { method: Method::PUT, path, body: None, purpose: Purpose::Scan };
        if let Err(failure) = self.client.send::<Value>(&request).await {
            tracing::debug!(zone = %self.domain, ?failure, "asking Cloudflare to look at the delegation");
        }
    }

    async fn dnssec(&self) -> Result<Dnssec, ProviderError> {
        let dnssec: ApiDnssec = self.get_part("dnssec", "DNS Read").await?;
        let state = dnssec.status.unwrap_or_else(|| "disabled".into());
        let ds = match (dnssec.key_tag, dnssec.digest) {
            (Some(key_tag), Some(digest)) => Some(Ds {
                key_tag,
                algorithm: dnssec.algorithm.and_then(|text| text.parse().ok()).unwrap_or_default(),
                digest_type: dnssec.digest_type.and_then(|text| text.parse().ok()).unwrap_or_default(),
                digest: digest.to_uppercase(),
            }),
            _ => None,
        };
        let ds = ds.into_iter().filter(|_| !is_off(&state)).collect();
        Ok(Dnssec { is_complete: state == "active", state, ds })
    }

    async fn get_part<T: serde::de::DeserializeOwned>(
        &self,
        part: &str,
        permission: &str,
    ) -> Result<T, ProviderError> {
        let act = format!("reading {part} of zone {}", self.domain);
        let path = format!("/zones/{}/{part}", query_text(&self.traits.id));
        let reply: Result<Reply<T>, _> = self.client.read(path, Purpose::Scan).await;
        reply.map(|reply| reply.result).map_err(|failure| explain(&act, permission, &failure))
    }

    pub(in crate::cloudflare) fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the next look read the zone.
    pub(super) fn forget_zone(&self) {
        let mut seen = self.seen();
        if let Some(long_ago) = Instant::now().checked_sub(LOOK) {
            seen.read_at = long_ago;
        }
    }

    /// The account of the zone, if Cloudflare says it.
    pub(super) fn account(&self) -> Option<String> {
        self.seen().zone.account.as_ref().map(|account| account.id.clone())
    }
}

fn is_off(state: &str) -> bool {
    matches!(state, "disabled" | "pending-disabled")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activation(status: &str, days_ago: i64) -> Activation {
        let created = Timestamp::now().checked_sub((days_ago * 24).hours()).unwrap();
        let zone = serde_json::json!({
            "id": "1", "name": "example.com", "status": status, "created_on": created.to_string(),
        });
        Seen::now(serde_json::from_value(zone).unwrap()).activation()
    }

    #[test]
    fn a_pending_zone_has_28_days_and_is_warned_of_from_day_21() {
        for status in ["initializing", "pending"] {
            for (days, is_near_then) in [(0, false), (20, false), (21, true), (27, true)] {
                let Activation::Pending { deadline, is_near } = activation(status, days) else {
                    panic!("{status} is not pending")
                };
                assert_eq!(is_near, is_near_then, "{status}, day {days}");
                let deadline: Timestamp = deadline.unwrap().parse().unwrap();
                let left = deadline.duration_since(Timestamp::now()).as_hours();
                assert!((left - (28 - days) * 24).abs() <= 1, "{left} hours on day {days}");
            }
        }
        assert_eq!(activation("active", 40), Activation::Active);
        assert_eq!(activation("moved", 40), Activation::Moved);
    }
}
