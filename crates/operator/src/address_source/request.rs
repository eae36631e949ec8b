//! One request of an AddressSource, with the redirects that it leads to.
//!
//! Guarantees: every host is judged where it is connected to, also after a redirect; headers and bodies, which may be
//! secret, go to the scheme, host and port of the `url` and nowhere else.

use std::{net::IpAddr, str::FromStr, time::Duration};

use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{HeaderMap, HeaderName, HeaderValue, LOCATION},
    redirect::Policy,
};
use zonekeeper_api::{HttpMethod, HttpSource};
use zonekeeper_providers::tls;

use super::{
    SecretHeaders,
    network::{self, Reachable},
};

/// For all redirects together.
const TIME: Duration = Duration::from_secs(10);
const SIZE: usize = 64 * 1024;
const REDIRECTS: usize = 5;
/// Headers of the manifest that say nothing of who asks.
const HARMLESS: [&str; 3] = ["accept", "accept-language", "user-agent"];

/// What the service answers.
pub async fn answer(
    source: &HttpSource,
    secret_headers: SecretHeaders,
    reachable: &Reachable,
) -> Result<String, String> {
    let asking = asked(source, secret_headers, reachable);
    let too_late = || format!("did not answer within {} s", TIME.as_secs());
    tokio::time::timeout(TIME, asking).await.unwrap_or_else(|_| Err(too_late()))
}

async fn asked(
    source: &HttpSource,
    secret_headers: SecretHeaders,
    reachable: &Reachable,
) -> Result<String, String> {
    let home = Url::parse(&source.url).map_err(|error| format!("is not a URL: {error}"))?;
    let declared = source.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    let headers = headers(declared.chain(secret_headers))?;
    let client = client(reachable).map_err(|error| error.to_string())?;
    let (mut url, mut method, mut body) = (home.clone(), method(source.method), source.body.clone());
    for _ in 0..=REDIRECTS {
        check(&url, reachable)?;
        let is_home = url.origin() == home.origin();
        let mut headers = headers.clone();
        if !is_home {
            let foreign: Vec<HeaderName> =
                headers.keys().filter(|name| !HARMLESS.contains(&name.as_str())).cloned().collect();
            foreign.iter().for_each(|name| drop(headers.remove(name)));
            if !body.is_empty() {
                return Err("redirects a request with a body to another host; write that one as url".into());
            }
        }
        let mut request = client.request(method.clone(), url.clone()).headers(headers);
        if !body.is_empty() {
            request = request.body(body.clone());
        }
        let response = request.send().await.map_err(transport)?;
        let Some(next) = redirected(&response, &url)? else { return text(response).await };
        // RFC 9110, 15.4: the first three become a plain GET, as every client has it.
        if matches!(response.status().as_u16(), 301..=303) && method != Method::GET {
            (method, body) = (Method::GET, String::new());
        }
        url = next;
    }
    Err("redirects too often".into())
}

/// Where a response leads; nowhere if it is one to read.
fn redirected(response: &Response, from: &Url) -> Result<Option<Url>, String> {
    if !matches!(response.status().as_u16(), 301..=303 | 307 | 308) {
        return Ok(None);
    }
    let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
    let target = target.ok_or("redirects to nowhere")?;
    from.join(target).map(Some).map_err(|_| "redirects to what is not a URL".to_owned())
}

fn headers(all: impl Iterator<Item = (String, String)>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in all {
        let name =
            HeaderName::from_str(&name).map_err(|_| format!("header {name:?} is not a header name"))?;
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| format!("the value of header {name} can't be sent"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// A client of its own per request: neither connections nor look-ups outlive the check of their target.
fn client(reachable: &Reachable) -> reqwest::Result<Client> {
    tls::set_up();
    Client::builder()
        .timeout(TIME)
        .no_proxy()
        .user_agent(concat!("zonekeeper/", env!("CARGO_PKG_VERSION")))
        // Each is judged here, and stripped of what is not its own.
        .redirect(Policy::none())
        .referer(false)
        .dns_resolver(std::sync::Arc::new(reachable.clone()))
        .build()
}

/// Names are checked when they are resolved; addresses in the URL are never resolved, so they are checked here.
fn check(url: &Url, reachable: &Reachable) -> Result<(), String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{} is not http or https", url.scheme()));
    }
    let address = match url.host() {
        Some(url::Host::Ipv4(address)) => IpAddr::V4(address),
        Some(url::Host::Ipv6(address)) => IpAddr::V6(address),
        Some(url::Host::Domain(_)) => return Ok(()),
        None => return Err("has no host".into()),
    };
    if reachable.permits(address) { Ok(()) } else { Err(network::refusal(&address.to_string())) }
}

async fn text(mut response: Response) -> Result<String, String> {
    if response.status() != StatusCode::OK {
        return Err(format!("answered HTTP {}", response.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(transport)? {
        body.extend_from_slice(&chunk);
        if body.len() > SIZE {
            return Err(format!("answered more than {} KiB", SIZE / 1024));
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn transport(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("did not answer within {} s", TIME.as_secs());
    }
    let error = error.without_url();
    let mut message = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        message = inner.to_string();
        source = inner.source();
    }
    message
}

fn method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}
