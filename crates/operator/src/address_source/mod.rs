//! AddressSource: addresses that are written down, or that services on the network tell us.

pub mod extract;
pub mod limits;
mod network;
mod request;
mod workers;

use std::net::IpAddr;

use reqwest::Url;
use zonekeeper_api::{AddressFamily, AddressSourceSpec, HttpSource};

use limits::Question;
pub use network::Reachable;
pub use workers::Workers;
pub use zonekeeper_model::addresses::SecretHeaders;

const UNPUBLISHABLE: &str = "answered with an unspecified, loopback, link-local, multicast or broadcast address, which no client could reach";

/// The addresses of a source of a namespace, one per family that it looks for.
///
/// `secret_headers` finds the headers that a Secret adds to the source at a position.
pub async fn addresses(
    namespace: &str,
    spec: &AddressSourceSpec,
    reachable: &Reachable,
    secret_headers: impl Fn(&HttpSource) -> Result<SecretHeaders, String>,
) -> Result<Vec<IpAddr>, String> {
    if !spec.static_addresses.is_empty() {
        let written = |text: &String| match text.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() => Err(format!("{text} is not the address of a host")),
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
            Ok(headers) => ask(namespace, source, headers, reachable).await,
            Err(error) => Err(error),
        };
        let is_found = |address: &IpAddr| found.iter().any(|known| known.is_ipv4() == address.is_ipv4());
        match asked {
            // The first service that has an address of a family says it.
            Ok(address) if is_found(&address) => {}
            Ok(address) if spec.families.iter().any(|family| is_of(*family, address)) => found.push(address),
            Ok(_) => errors.push(format!("{} gave an address of another family", shown(&source.url))),
            Err(error) => errors.push(format!("{}: {error}", shown(&source.url))),
        }
    }
    if found.is_empty() { Err(errors.join("; ")) } else { Ok(found) }
}

async fn ask(
    namespace: &str,
    source: &HttpSource,
    secret_headers: SecretHeaders,
    reachable: &Reachable,
) -> Result<IpAddr, String> {
    let answer = request::answer(source, secret_headers, reachable).await?;
    let address = match (&source.jq, &source.regex) {
        // Nothing but a comparison: no filter, no parser.
        (None, None) => extract::address(&answer, None, None)?,
        (jq, regex) => {
            let question = Question { answer, jq: jq.clone(), regex: regex.clone() };
            reachable.workers.find(namespace, &question).await?
        }
    };
    if is_publishable(address) { Ok(address) } else { Err(UNPUBLISHABLE.into()) }
}

/// A URL as messages show it: user, path and query may be secret, and other namespaces read messages.
fn shown(url: &str) -> String {
    Url::parse(url).map_or_else(|_| "a URL".into(), |url| url.origin().ascii_serialization())
}

/// Whether an address can be a host's: private ones can, unspecified or loopback ones can't.
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
