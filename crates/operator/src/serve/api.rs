//! Who asks for what, over HTTP: to every client on the same machine or Pod, elsewhere as far as the caller may read.
//!
//! Names and values of other namespaces are not for every Pod. On a loopback address the way there is the proof: a
//! port-forward needs its right. On any other address a bearer token is asked for (TokenReview), and a row is shown to
//! those who may list its object's kind in its namespace (SubjectAccessReview).

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use anyhow::Context;
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use futures::{StreamExt, stream};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use tokio::sync::Semaphore;

use zonekeeper_model::overview::{self, Overview, Row};

use crate::serve::Ear;

/// How many questions to the API server are under way at once, for all who ask.
const AT_ONCE: usize = 8;
const PAGE: &str =
    "Zonekeeper. GET /api/v1/records shows who asks for which records, as `zonekeeper status` does.\n";

/// What a request is answered from.
struct StatusOutbox {
    ear: Arc<Ear>,
    /// Asks who the caller is; none on a loopback address.
    reviewer: Option<Reviewer>,
}

/// Asks the API server who the caller is, and what it may read.
struct Reviewer {
    client: Client,
    turns: Semaphore,
}

/// A kind, and a namespace or all of them.
type Place = (String, String);

/// An answer that is not the one that was asked for.
type Refusal = (StatusCode, String);

/// Serves until the process ends.
pub async fn serve(listen: SocketAddr, ear: Arc<Ear>, client: Client) -> anyhow::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(listen)
        .await
        .with_context(|| format!("listening on {listen}; change --api-listen"))?;
    let served = listener.local_addr()?;
    let is_private = served.ip().to_canonical().is_loopback();
    let reviewer = (!is_private).then(|| Reviewer { client, turns: Semaphore::new(AT_ONCE) });
    let router = Router::new()
        .route("/", get(page))
        .route(overview::PATH, get(records))
        .with_state(Arc::new(StatusOutbox { ear, reviewer }));
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "the HTTP server of the API ended");
        }
    });
    Ok(served)
}

async fn page(State(outbox): State<Arc<StatusOutbox>>, headers: HeaderMap) -> Response {
    match outbox.admit(&headers).await {
        Ok(_) => PAGE.into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn records(State(outbox): State<Arc<StatusOutbox>>, headers: HeaderMap) -> Response {
    match outbox.records(&headers).await {
        Ok(overview) => Json(overview).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

// === impl StatusOutbox ===

impl StatusOutbox {
    async fn records(&self, headers: &HeaderMap) -> Result<Overview, Refusal> {
        let user = self.admit(headers).await?;
        let waits = || (StatusCode::SERVICE_UNAVAILABLE, "this replica waits for its turn\n".to_owned());
        let overview = self.ear.ask().await.ok_or_else(waits)?;
        match (&self.reviewer, user) {
            (Some(reviewer), Some(user)) => reviewer.visible(&user, overview).await,
            (None, None) => Ok(overview),
            // A reviewer always finds a user, or refuses.
            (Some(_), None) | (None, Some(_)) => Err(unauthorized()),
        }
    }

    /// Who asks; not known on a loopback address.
    async fn admit(&self, headers: &HeaderMap) -> Result<Option<UserInfo>, Refusal> {
        match &self.reviewer {
            None if is_local(headers) => Ok(None),
            None => Err((StatusCode::FORBIDDEN, "ask for localhost or an IP address\n".into())),
            Some(reviewer) => {
                let token = bearer(headers).ok_or_else(unauthorized)?;
                reviewer.user(token).await.map(Some)
            }
        }
    }
}

// === impl Reviewer ===

impl Reviewer {
    async fn user(&self, token: &str) -> Result<UserInfo, Refusal> {
        let spec = TokenReviewSpec { token: Some(token.to_owned()), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let turn = self.turns.acquire().await;
        let answer =
            Api::<TokenReview>::all(self.client.clone()).create(&PostParams::default(), &review).await;
        drop(turn);
        let status = answer.map_err(|error| unable(&error))?.status.unwrap_or_default();
        let is_known = status.authenticated.unwrap_or(false);
        status.user.filter(|_| is_known).ok_or_else(unauthorized)
    }

    /// The rows whose objects this user may list.
    async fn visible(&self, user: &UserInfo, mut overview: Overview) -> Result<Overview, Refusal> {
        let place = |row: &Row| (row.source.kind.clone(), row.source.namespace.clone());
        let rows = overview.records.iter();
        let kinds: BTreeSet<Place> = rows.map(|row| (row.source.kind.clone(), String::new())).collect();
        let everywhere = self.permitted(user, kinds).await?;
        let is_everywhere = |kind: &String| everywhere.contains(&(kind.clone(), String::new()));
        let rows = overview.records.iter().filter(|row| !is_everywhere(&row.source.kind));
        let places: BTreeSet<Place> =
            rows.map(place).filter(|(_, namespace)| !namespace.is_empty()).collect();
        let here = self.permitted(user, places).await?;
        let is_visible = |row: &Row| is_everywhere(&row.source.kind) || here.contains(&place(row));
        overview.records.retain(is_visible);
        Ok(overview)
    }

    /// Those of these places that the user may list.
    async fn permitted(&self, user: &UserInfo, places: BTreeSet<Place>) -> Result<BTreeSet<Place>, Refusal> {
        let mut asked = stream::FuturesUnordered::new();
        for place in places {
            asked.push(async move { (self.may_list(user, &place.0, &place.1).await, place) });
        }
        let mut permitted = BTreeSet::new();
        while let Some((may, place)) = asked.next().await {
            if may? {
                permitted.insert(place);
            }
        }
        Ok(permitted)
    }

    async fn may_list(&self, user: &UserInfo, kind: &str, namespace: &str) -> Result<bool, Refusal> {
        let Some((group, resource)) = resource(kind) else { return Ok(false) };
        let attributes = ResourceAttributes {
            group: Some(group.into()),
            resource: Some(resource.into()),
            verb: Some("list".into()),
            namespace: Some(namespace.into()),
            ..ResourceAttributes::default()
        };
        let spec = SubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            user: user.username.clone(),
            uid: user.uid.clone(),
            groups: user.groups.clone(),
            extra: user.extra.clone(),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let turn = self.turns.acquire().await;
        let api = Api::<SubjectAccessReview>::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await;
        drop(turn);
        Ok(answer.map_err(|error| unable(&error))?.status.is_some_and(|status| status.allowed))
    }
}

/// The group and resource of a kind that a row can come from.
fn resource(kind: &str) -> Option<(&'static str, &'static str)> {
    const GATEWAY: &str = "gateway.networking.k8s.io";
    Some(match kind {
        "RecordSet" => (zonekeeper_api::GROUP, "recordsets"),
        "Service" => ("", "services"),
        "Node" => ("", "nodes"),
        "Pod" => ("", "pods"),
        "Ingress" => ("networking.k8s.io", "ingresses"),
        "Gateway" => (GATEWAY, "gateways"),
        "HTTPRoute" => (GATEWAY, "httproutes"),
        "GRPCRoute" => (GATEWAY, "grpcroutes"),
        "TLSRoute" => (GATEWAY, "tlsroutes"),
        "TCPRoute" => (GATEWAY, "tcproutes"),
        "UDPRoute" => (GATEWAY, "udproutes"),
        "DNSEndpoint" => ("externaldns.k8s.io", "dnsendpoints"),
        _ => return None,
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Whether a browser meant this server: a page elsewhere whose name was pointed at a loopback address did not.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return true };
    let without_port =
        host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = without_port.map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

fn unauthorized() -> Refusal {
    (StatusCode::UNAUTHORIZED, "a bearer token of the cluster is needed\n".into())
}

/// The API server did not say who the caller is.
fn unable(error: &kube::Error) -> Refusal {
    tracing::warn!(%error, "the API server does not review those who ask; bind system:auth-delegator to the operator");
    let message =
        "the operator can't review tokens; bind ClusterRole system:auth-delegator to its ServiceAccount\n";
    (StatusCode::SERVICE_UNAVAILABLE, message.into())
}

#[cfg(test)]
mod tests {
    use zonekeeper_api::SourceKind;

    use super::*;

    #[test]
    fn a_page_elsewhere_does_not_reach_a_loopback_server() {
        for (host, expected) in [
            ("127.0.0.1:8081", true),
            ("localhost:8081", true),
            ("LOCALHOST", true),
            ("[::1]:8081", true),
            ("evil.example.com:8081", false),
            ("127.0.0.1.evil.example.com", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            assert_eq!(is_local(&headers), expected, "{host}");
        }
    }

    #[test]
    fn every_kind_that_is_published_has_its_resource() {
        for kind in SourceKind::all() {
            assert!(resource(kind.as_str()).is_some(), "{}", kind.as_str());
        }
        assert!(resource("RecordSet").is_some());
    }
}
