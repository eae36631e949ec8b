//! Requests about zones and records that are not there any more.

use zonekeeper_kernel::name::Name;

use crate::{
    ProviderError,
    cloudflare::{
        ApiZone,
        api::{ApiError, Client, Failure, Reply},
        budget::Purpose,
        explain::explain,
        query_text,
    },
};

/// Why a request about a zone failed: for a zone that was removed Cloudflare answers as for one that the token may not
/// see (403, code 10000; seen in the field, 2026-11).
pub(super) async fn explain_zone(
    client: &Client,
    domain: &Name,
    id: &str,
    act: &str,
    failure: &Failure,
) -> ProviderError {
    let error = explain(act, failure);
    match error {
        ProviderError::Credentials { .. } if is_gone(client, domain, id).await => not_found(act),
        other => other,
    }
}

/// Whether the token works, and shows no zone of this name with this id.
pub(super) async fn is_gone(client: &Client, domain: &Name, id: &str) -> bool {
    let path = format!("/zones?name={}&per_page=50", query_text(domain.as_str()));
    let shown: Result<Reply<Vec<ApiZone>>, Failure> = client.read(path, Purpose::Change).await;
    shown.is_ok_and(|reply| reply.result.iter().all(|zone| zone.id != id))
}

pub(super) fn not_found(act: &str) -> ProviderError {
    let message = format!(
        "{act}: the token works, and shows this zone no more; add it at Cloudflare again, or give the token Zone:Read for it"
    );
    ProviderError::ZoneNotFound { message }
}

/// Which HTTP status comes with 81044 is not documented (2026-11).
pub(super) fn is_missing(status: u16, errors: &[ApiError]) -> bool {
    status == 404 || errors.iter().any(|error| error.code == 81044)
}
