//! Whether a token works, and which zones it shows.

use std::{collections::BTreeMap, sync::PoisonError};

use serde::Deserialize;
use zonekeeper_kernel::name::Name;

use crate::{
    ProviderError, Standing,
    cloudflare::{
        ApiZone, Cloudflare,
        api::{Failure, Reply},
        budget::Purpose,
        explain::explain,
        query_text,
    },
};

/// The largest page of zones (2026-11).
const ZONES_PER_PAGE: usize = 50;

/// What Cloudflare says of a token.
#[derive(Debug, Deserialize)]
struct ApiToken {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    expires_on: Option<String>,
}

// === impl Cloudflare ===

impl Cloudflare {
    /// Verifies the token and lists the zones that it shows.
    ///
    /// Guarantees: yes means that Cloudflare called the token active.
    pub(super) async fn check_token(&self) -> Result<Standing, ProviderError> {
        let as_user = self.verify("/user/tokens/verify".into()).await;
        // A token that is valid for single zones only may be refused here (2026-11): its zones are found by name.
        let zones = match self.list_zones().await {
            Ok(zones) => Some(zones),
            Err(Failure::Refused { .. }) => None,
            Err(failure) => return Err(explain("listing zones", &failure)),
        };
        let token = match as_user {
            Ok(token) => token,
            Err(refusal @ Failure::Refused { .. }) => {
                let seen = zones.iter().flatten().find_map(|zone| zone.account.as_ref());
                let account = self.account.as_deref().or(seen.map(|account| account.id.as_str()));
                // A token of an account is unknown among the user's own.
                let Some(account) = account.filter(|_| self.account.is_some() || zones.is_some()) else {
                    return Err(explain("verifying the token", &refusal));
                };
                self.verify(format!("/accounts/{}/tokens/verify", query_text(account)))
                    .await
                    .map_err(|_| explain("verifying the token", &refusal))?
            }
            Err(failure) => return Err(explain("verifying the token", &failure)),
        };
        match token.status.as_deref() {
            None | Some("active") => {}
            Some(status) => {
                return Err(ProviderError::Credentials {
                    message: format!("the Cloudflare API token is {status}; put a new one into the Secret"),
                });
            }
        }
        let mut listed: Option<Vec<(String, String)>> = zones
            .as_ref()
            .map(|zones| zones.iter().map(|zone| (zone.name.clone(), zone.id.clone())).collect());
        listed.iter_mut().for_each(|zones| zones.sort());
        self.remember(zones.unwrap_or_default());
        Ok(Standing { zones: listed, expires: token.expires_on })
    }

    /// The zones of a name that the last check saw; asked a second time, it does not know.
    pub(super) fn take_seen(&self, domain: &Name) -> Option<Vec<ApiZone>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.remove(domain.as_str())
    }

    fn remember(&self, zones: Vec<ApiZone>) {
        let mut by_name: BTreeMap<String, Vec<ApiZone>> = BTreeMap::new();
        for zone in zones {
            if let Ok(name) = Name::parse(&zone.name) {
                by_name.entry(name.as_str().to_owned()).or_default().push(zone);
            }
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = by_name;
    }

    async fn verify(&self, path: String) -> Result<ApiToken, Failure> {
        let reply: Reply<ApiToken> = self.client.read(path, Purpose::Change).await?;
        Ok(reply.result)
    }

    async fn list_zones(&self) -> Result<Vec<ApiZone>, Failure> {
        let mut zones = Vec::new();
        for page in 1.. {
            let path = format!("/zones?per_page={ZONES_PER_PAGE}&page={page}");
            let reply: Reply<Vec<ApiZone>> = self.client.read(path, Purpose::Change).await?;
            let received = reply.result.len();
            zones.extend(reply.result);
            let is_last = match reply.info.and_then(|info| info.total_pages) {
                Some(pages) => page >= pages.max(1),
                None => received < ZONES_PER_PAGE,
            };
            if is_last {
                break;
            }
        }
        Ok(zones)
    }
}

/// Whether the rights that a zone shows lack the one to change records; unknown words are no proof.
pub(super) fn lacks_edit(rights: &[String]) -> bool {
    let has = |right: &str| rights.iter().any(|shown| shown == right);
    has("#dns_records:read") && !has("#dns_records:edit")
}
