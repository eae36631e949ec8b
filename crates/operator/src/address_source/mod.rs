//! AddressSource: addresses that are written down, or that services on the network tell us.

mod extract;
mod network;

use std::{net::IpAddr, str::FromStr, time::Duration};

use reqwest::{
    Method, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use zonekeeper_api::{AddressFamily, AddressSourceSpec, HttpMethod, HttpSource};

pub use network::Reachable;

const TIME: Duration = Duration::from_secs(10);
const SIZE: usize = 64 * 1024;
const REDIRECTS: usize = 5;
const UNPUBLISHABLE: &str = "answered with an unspecified, loopback, link-local, multicast or broadcast address, which nobody could reach";

/// Headers of one request, by the position of its source.
pub type SecretHeaders = Vec<(String, String)>;

/// The addresses of a source, one per family that it looks for.
///
/// `secret_headers` finds the headers that a Secret adds to the source at a position.
pub async fn addresses(
    spec: &AddressSourceSpec,
    reachable: &Reachable,
    secret_headers: impl Fn(&HttpSource) -> Result<SecretHeaders, String>,
) -> Result<Vec<IpAddr>, String> {
    if !spec.static_addresses.is_empty() {
        let written = |text: &String| match text.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() => Err(format!("{text} is nobody's address")),
            Ok(address) => Ok(address),
            Err(_) => Err(format!("{text:?} is not an IP address")),
        };
        return spec.static_addresses.iter().map(written).collect();
    }
    let mut found: Vec<IpAddr> = Vec::new();
    let mut errors = Vec::new();
    for source in &spec.http {
        if spec.families.iter().all(|family| found.iter().any(|address| is_of(*family, *address))) {
            break;
        }
        let asked = match secret_headers(source) {
            Ok(headers) => ask(source, headers, reachable).await,
            Err(error) => Err(error),
        };
        match asked {
            Ok(address) if spec.families.iter().any(|family| is_of(*family, address)) => found.push(address),
            Ok(_) => errors.push(format!("{} gave an address of another family", source.url)),
            Err(error) => errors.push(format!("{}: {error}", source.url)),
        }
    }
    if found.is_empty() { Err(errors.join("; ")) } else { Ok(found) }
}

async fn ask(
    source: &HttpSource,
    secret_headers: SecretHeaders,
    reachable: &Reachable,
) -> Result<IpAddr, String> {
    let url = Url::parse(&source.url).map_err(|error| format!("is not a URL: {error}"))?;
    check(&url, reachable)?;
    let client = client(reachable).map_err(|error| error.to_string())?;
    let mut headers = HeaderMap::new();
    let declared = source.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    for (name, value) in declared.chain(secret_headers) {
        let name =
            HeaderName::from_str(&name).map_err(|_| format!("header {name:?} is not a header name"))?;
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| format!("the value of header {name} can't be sent"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let mut request = client.request(method(source.method), url).headers(headers);
    if !source.body.is_empty() {
        request = request.body(source.body.clone());
    }
    let response = request.send().await.map_err(transport)?;
    if response.status() != reqwest::StatusCode::OK {
        return Err(format!("answered HTTP {}", response.status().as_u16()));
    }
    let text = limited_text(response).await?;
    let address = extract::address(&text, source.jq.as_deref(), source.regex.as_deref())?;
    if is_publishable(address) { Ok(address) } else { Err(UNPUBLISHABLE.into()) }
}

/// A client of its own per request: neither connections nor look-ups outlive the check of their target.
fn client(reachable: &Reachable) -> reqwest::Result<reqwest::Client> {
    let on_redirect = {
        let reachable = reachable.clone();
        Policy::custom(move |attempt| {
            if attempt.previous().len() > REDIRECTS {
                return attempt.error("redirects too often");
            }
            match check(attempt.url(), &reachable) {
                Ok(()) => attempt.follow(),
                Err(error) => attempt.error(error),
            }
        })
    };
    reqwest::Client::builder()
        .timeout(TIME)
        .no_proxy()
        .user_agent(concat!("zonekeeper/", env!("CARGO_PKG_VERSION")))
        .redirect(on_redirect)
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

async fn limited_text(mut response: reqwest::Response) -> Result<String, String> {
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
    let mut message = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        message = inner.to_string();
        source = inner.source();
    }
    message
}

/// Whether an address can be somebody's: private ones can, those of a service that has lost its way can't.
fn is_publishable(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let is_of_no_network = v4.octets()[0] == 0;
            !(is_of_no_network
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast())
        }
        IpAddr::V6(v6) => {
            !(v6.is_unspecified() || v6.is_loopback() || v6.is_unicast_link_local() || v6.is_multicast())
        }
    }
}

fn is_of(family: AddressFamily, address: IpAddr) -> bool {
    match family {
        AddressFamily::V4 => address.is_ipv4(),
        AddressFamily::V6 => address.is_ipv6(),
    }
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
