//! Ingresses, Services and Gateways become records on a server.

use serde_json::json;

use crate::{
    site::Site,
    support::sources::{accept, balance, gateway, give_addresses, http_route, ingress, service},
};

/// A site whose zone takes source objects of these kinds.
async fn site_with(name: &str, kinds: &[&str]) -> Site<'static> {
    let site = Site::ready_to_run(name).await;
    site.apply(&site.dns_zone().with("sources", json!({"kinds": kinds}))).await;
    site.run();
    site
}

/// Case 59.
#[tokio::test]
async fn a_host_that_is_removed_takes_its_record_along() {
    let site = site_with("host", &["Ingress"]).await;
    site.apply(&ingress(&site, "web", &["www", "shop"])).await;
    balance(&site, "Ingress", "web", &["192.0.2.1"]).await;
    site.wait_served("www", "A", &["192.0.2.1"]).await;
    site.wait_served("shop", "A", &["192.0.2.1"]).await;
    site.apply(&ingress(&site, "web", &["www"])).await;
    site.wait_served("shop", "A", &[]).await;
    assert_eq!(site.served("a-shop", "TXT"), [""; 0], "nor its marker");
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
}

/// Case 60.
#[tokio::test]
async fn a_gateway_that_moves_takes_its_routes_along() {
    let site = site_with("gateway", &["HTTPRoute"]).await;
    let definitions = control_plane::published_definitions().expect("the Gateway API's definitions");
    site.plane().install_crds(&definitions).await.expect("the API server takes them");
    site.apply(&gateway("edge")).await;
    site.apply(&http_route(&site, "api", "edge", &["api"])).await;
    accept(&site, "HTTPRoute", "api", true).await;
    for address in ["192.0.2.7", "192.0.2.8"] {
        give_addresses(&site, "edge", &[address]).await;
        site.wait_served("api", "A", &[address]).await;
    }
}

/// Case 61.
#[tokio::test]
async fn a_load_balancer_with_two_families_has_both() {
    let site = site_with("families", &["Service"]).await;
    site.apply(&service("web", json!({"zonekeeper.dev/hostname": site.at("www")}))).await;
    balance(&site, "Service", "web", &["192.0.2.1", "2001:db8::1"]).await;
    site.wait_served("www", "A", &["192.0.2.1"]).await;
    site.wait_served("www", "AAAA", &["2001:db8::1"]).await;
}
