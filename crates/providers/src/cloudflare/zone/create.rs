//! A zone created, once.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;
use zonekeeper_kernel::{name::Name, zone_change::ZoneWish};

use crate::{
    Calls, ProviderError, Removal, ZoneAccess, ZoneTraits,
    cloudflare::{
        ApiZone, Cloudflare, PAGE, Plan,
        api::{Failure, Request},
        budget::Purpose,
        capabilities::{capabilities, of_largest_plan},
        zone::{FIELDS, explain::explain, value},
    },
};

/// The zone is there already.
const EXISTS: i64 = 1061;

/// What will be true of a new zone: it is on the Free plan.
pub(in crate::cloudflare) fn traits() -> ZoneTraits {
    let plan = Plan::Free;
    ZoneTraits {
        calls_to_list: Calls::PerPage(PAGE),
        zone_fields: FIELDS,
        removal: Removal::Possible,
        ..ZoneTraits::new("", capabilities(plan.minimum_ttl(), plan.comment_limit()))
    }
}

/// What is true of a zone for which the plan allows all there is.
pub(crate) fn traits_of_largest_plan() -> ZoneTraits {
    ZoneTraits { capabilities: of_largest_plan(), ..traits() }
}

// === impl Cloudflare ===

impl Cloudflare {
    /// Creates a zone, or opens the one that was created meanwhile.
    pub(in crate::cloudflare) async fn create_zone(
        &self,
        domain: &Name,
        wish: &ZoneWish,
    ) -> Result<Arc<dyn ZoneAccess>, ProviderError> {
        let act = format!("creating zone {domain}");
        let kind = wish.fields.get("type").map_or_else(|| json!("full"), value);
        let mut body = json!({ "name": domain.as_str(), "type": kind });
        if let Some(account) = self.account_of_new_zones().await? {
            body["account"] = json!({ "id": account });
        }
        let request = Request {
            method: Method::POST,
            path: "/zones".into(),
            body: Some(body),
            purpose: Purpose::Change,
        };
        match self.client.send::<ApiZone>(&request).await {
            Ok(reply) => Ok(self.zone(domain, reply.result)),
            // An answer may be lost after the zone was made: it is looked for before it is asked for again.
            Err(Failure::Lost { .. }) => Ok(self.zone(domain, self.find(domain).await?)),
            Err(Failure::Refused { errors, .. }) if errors.iter().any(|error| error.code == EXISTS) => {
                let found = self.find(domain).await;
                Ok(self.zone(domain, found.map_err(|_| taken(domain))?))
            }
            Err(failure) => Err(explain(&act, "Zone Write", &failure)),
        }
    }

    /// The account that the DNSProvider names; else the only one that the token shows.
    async fn account_of_new_zones(&self) -> Result<Option<String>, ProviderError> {
        if let Some(account) = &self.account {
            return Ok(Some(account.clone()));
        }
        let path = "/zones?per_page=50".to_owned();
        let shown = self.client.read::<Vec<ApiZone>>(path, Purpose::Change).await;
        let mut accounts: Vec<String> = shown
            .into_iter()
            .flat_map(|reply| reply.result)
            .filter_map(|zone| Some(zone.account?.id))
            .collect();
        accounts.sort();
        accounts.dedup();
        match accounts.len() {
            0 | 1 => Ok(accounts.pop()),
            _ => Err(ProviderError::Configuration {
                message: "the token sees several accounts: set spec.cloudflare.accountID of the DNSProvider to the one in which zones are created".into(),
            }),
        }
    }
}

fn taken(domain: &Name) -> ProviderError {
    let message = format!(
        "creating zone {domain}: Cloudflare says that it exists (1061), and the token does not show it: it is in another account, or the token lacks Zone:Read for it"
    );
    ProviderError::Rejected { message }
}
