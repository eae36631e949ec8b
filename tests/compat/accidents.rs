//! What happens in clusters, to both programs at once: ExternalDNS loses records, Zonekeeper writes nothing at all,
//! neither in that state nor when it is started anew in it.

use axum::http::StatusCode;
use control_plane::{DEADLINE, Options, User, eventually};
use futures::{StreamExt, stream};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use zonekeeper_tests::cluster::{Lab, objects as cluster, plane};

use crate::{
    catalogue::{self, OLD_PREFIX, PREFIX},
    front::{Front, Lie},
    objects::{gateway, ingress, parents, route, service},
    pair::Pair,
    peer::ExternalDns,
    place::{Place, is_marker},
};

const COUNT: usize = 20;
const ADDRESS: &str = "192.0.2.1";

/// Both programs with their zones full, and where the accident begins.
struct Scene<'a> {
    pair: Pair<'a>,
    ours: Place,
    /// The journals before the accident: Zonekeeper's, ExternalDNS's.
    marks: (u64, u64),
}

// === impl Scene ===

impl<'a> Scene<'a> {
    /// Lets both programs make their zones of these objects, one record of each. The operator runs.
    async fn set(pair: Pair<'a>, objects: &[Value], external_dns: &ExternalDns) -> Self {
        catalogue::install(&pair.lab.home.client(), &[], objects).await;
        let ours = Place::of(&pair.lab);
        external_dns.once().await;
        let wanted = pair.place.lines();
        assert_eq!(
            pair.place.data().len(),
            objects.iter().filter(|object| object["kind"] != "Gateway").count()
        );
        eventually("both zones are the same", DEADLINE, async || {
            if ours.lines() == wanted { Ok(()) } else { Err(ours.lines()) }
        })
        .await;
        pair.lab.wait_ready("DNSZone", "zone").await;
        let marks = (ours.mark(), pair.place.mark());
        Self { pair, ours, marks }
    }

    fn lab(&self) -> &Lab<'a> {
        &self.pair.lab
    }

    /// Nothing is written, in this state and after a restart in it.
    async fn is_survived(&self, start: impl Fn()) {
        self.nothing_is_written().await;
        self.lab().kill().await;
        start();
        self.nothing_is_written().await;
    }

    async fn nothing_is_written(&self) {
        self.lab().scan().await;
        self.lab().scan().await;
        assert_eq!(self.ours.changes_since(self.marks.0), [""; 0]);
    }

    /// Waits until ExternalDNS has read its zone twice more: a round that began after this call is over.
    async fn external_dns_looks(&self) {
        let mark = self.pair.place.mark();
        let reads = || {
            self.pair
                .place
                .sim
                .journal_since(mark)
                .iter()
                .filter(|entry| entry.path.ends_with("/dns_records"))
                .count()
        };
        eventually("ExternalDNS looks", DEADLINE, async || if reads() >= 2 { Ok(()) } else { Err(reads()) })
            .await;
    }

    /// How many records ExternalDNS has deleted, markers aside.
    fn lost(&self) -> usize {
        let changes = self.pair.place.changes_since(self.marks.1);
        changes.iter().filter(|change| change.starts_with("- ") && !is_marker(change)).count()
    }

    /// Waits until an object says that its targets are not known.
    async fn is_told(&self, kind: &str, name: &str) {
        eventually(&format!("{kind} {name}: TargetsUnknown"), DEADLINE, async || {
            let events = self.lab().events(kind, name).await;
            if events.iter().any(|event| event.reason == "TargetsUnknown") { Ok(()) } else { Err(events) }
        })
        .await;
    }
}

fn name_of(number: usize) -> String {
    format!("n{number:03}")
}

fn ingresses(lab: &Lab<'_>, count: usize) -> Vec<Value> {
    (0..count).map(|number| ingress(lab, &name_of(number), ADDRESS)).collect()
}

fn services(lab: &Lab<'_>, count: usize, prefix: &str) -> Vec<Value> {
    (0..count).map(|number| service(lab, &format!("s-{}", name_of(number)), prefix, ADDRESS)).collect()
}

/// Routes, and the Gateway of all of them.
fn routes(lab: &Lab<'_>, count: usize) -> Vec<Value> {
    let routes = (0..count).map(|number| route(lab, &name_of(number)));
    [gateway(lab, ADDRESS)].into_iter().chain(routes).collect()
}

#[tokio::test]
async fn load_balancers_without_a_status() {
    let pair = Pair::on(plane::with_published_definitions().await, "emptied", &["Service", "Ingress"]).await;
    let external_dns = pair.external_dns();
    let objects = [ingresses(&pair.lab, COUNT / 2), services(&pair.lab, COUNT / 2, PREFIX)].concat();
    pair.lab.run();
    let scene = Scene::set(pair, &objects, &external_dns).await;
    for object in &objects {
        let (kind, name) = (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
        scene.lab().patch_status(kind, name, json!({"status": {"loadBalancer": {"ingress": null}}})).await;
        scene.is_told(kind, name).await;
    }
    external_dns.once().await;
    assert_eq!(scene.lost(), COUNT);
    scene.is_survived(|| scene.lab().run()).await;
    // When the load balancers are back, nothing is missing and nothing is written.
    stream::iter(&objects)
        .for_each_concurrent(8, |object| async { catalogue::put(&scene.lab().home.client(), object).await })
        .await;
    scene.nothing_is_written().await;
}

#[tokio::test]
async fn a_gateway_without_addresses() {
    let pair = Pair::on(plane::with_published_definitions().await, "gateway", &["HTTPRoute"]).await;
    let external_dns = pair.external_dns();
    let objects = routes(&pair.lab, COUNT);
    pair.lab.run();
    let scene = Scene::set(pair, &objects, &external_dns).await;
    scene.lab().patch_status("Gateway", "edge", json!({"status": {"addresses": null}})).await;
    for number in 0..COUNT {
        scene.is_told("HTTPRoute", &name_of(number)).await;
    }
    external_dns.once().await;
    assert_eq!(scene.lost(), COUNT);
    scene.is_survived(|| scene.lab().run()).await;
}

#[tokio::test]
async fn a_route_that_became_invalid() {
    let pair = Pair::on(plane::with_published_definitions().await, "invalid", &["HTTPRoute"]).await;
    let external_dns = pair.external_dns();
    let objects = routes(&pair.lab, COUNT);
    pair.lab.run();
    let scene = Scene::set(pair, &objects, &external_dns).await;
    let name = name_of(7);
    let refused = parents("False", "UnsupportedValue");
    scene.lab().patch_status("HTTPRoute", &name, json!({"status": refused})).await;
    scene.is_told("HTTPRoute", &name).await;
    external_dns.once().await;
    assert_eq!(scene.lost(), 1);
    scene.is_survived(|| scene.lab().run()).await;
}

#[tokio::test]
async fn a_prefix_that_is_read_no_more() {
    let pair = Pair::on(plane::with_published_definitions().await, "prefix", &["Service"]).await;
    let before = pair.external_dns().with(&["--enable-legacy-annotation-prefix"]);
    let objects = services(&pair.lab, COUNT, OLD_PREFIX);
    pair.lab.run();
    let scene = Scene::set(pair, &objects, &before).await;
    let narrowed = json!({"kinds": ["Service"], "dialects": ["zonekeeper"]});
    scene.lab().apply(&scene.pair.zone().with("sources", narrowed)).await;
    scene.lab().wait_reason("DNSZone", "zone", "Held").await;
    scene.pair.external_dns().once().await;
    assert_eq!(scene.lost(), COUNT);
    scene.is_survived(|| scene.lab().run()).await;
}

/// While the operator runs: all 60 are seen before any is judged.
#[tokio::test]
async fn sixty_of_a_hundred_deleted_while_it_runs() {
    let pair = Pair::on(plane::with_published_definitions().await, "sixty-live", &["Ingress"]).await;
    let external_dns = pair.external_dns();
    let objects = ingresses(&pair.lab, 100);
    pair.lab.run();
    let scene = Scene::set(pair, &objects, &external_dns).await;
    for number in 0..60 {
        scene.lab().delete("Ingress", &name_of(number)).await;
    }
    scene.lab().wait("DNSZone", "zone", "60 are held", |zone| zone["status"]["plan"]["held"] == 60).await;
    external_dns.once().await;
    assert_eq!(scene.lost(), 60);
    scene.is_survived(|| scene.lab().run()).await;
}

#[tokio::test]
async fn sixty_of_a_hundred_deleted_at_once() {
    let pair = Pair::on(plane::with_published_definitions().await, "sixty", &["Ingress"]).await;
    let external_dns = pair.external_dns();
    let objects = ingresses(&pair.lab, 100);
    pair.lab.run();
    let scene = Scene::set(pair, &objects, &external_dns).await;
    // While it is down.
    scene.lab().kill().await;
    let lab = scene.lab();
    stream::iter(0..60)
        .for_each_concurrent(8, |number| async move { lab.delete("Ingress", &name_of(number)).await })
        .await;
    scene.lab().run();
    scene.lab().wait("DNSZone", "zone", "60 are held", |zone| zone["status"]["plan"]["held"] == 60).await;
    external_dns.once().await;
    assert_eq!(scene.lost(), 60);
    scene.is_survived(|| scene.lab().run()).await;
}

/// What both programs make of a lie about so many Ingresses: ExternalDNS deletes this many records.
async fn lied_to(name: &str, lie: Lie, count: usize, losses: usize) {
    let plane = plane::with_published_definitions().await;
    let pair = Pair::on(plane, name, &["Ingress"]).await;
    // Only evidence is to save the records, not the guard.
    pair.lab.apply(&pair.zone().with("guard", json!({"maxDeletePercent": 100}))).await;
    let front = Front::start(plane, &User::zonekeeper(), "ingresses").await;
    let other = Front::start(plane, &User::admin(), "ingresses").await;
    let external_dns = pair.external_dns_through(other.kubeconfig());
    let objects = ingresses(&pair.lab, count);
    pair.lab.run_through(&front.kubeconfig());
    let scene = Scene::set(pair, &objects, &external_dns).await;
    let child = external_dns.run();
    scene.external_dns_looks().await;
    for front in [&front, &other] {
        front.tell(lie);
        front.was_believed().await;
    }
    scene.external_dns_looks().await;
    eventually("ExternalDNS has done its worst", DEADLINE, async || {
        if scene.lost() >= losses { Ok(()) } else { Err(scene.lost()) }
    })
    .await;
    scene.nothing_is_written().await;
    // Started anew it hears nothing else.
    scene.lab().kill().await;
    front.tell(lie);
    scene.lab().run_through(&front.kubeconfig());
    front.was_believed().await;
    scene.nothing_is_written().await;
    assert_eq!(scene.lost(), losses);
    drop(child);
    // The truth costs nothing either.
    front.tell(Lie::None);
    scene.nothing_is_written().await;
}

#[tokio::test]
async fn an_api_server_that_answers_with_errors() {
    lied_to("errors", Lie::Error(StatusCode::INTERNAL_SERVER_ERROR), COUNT, 0).await;
}

#[tokio::test]
async fn an_api_server_that_is_not_available() {
    lied_to("unavailable", Lie::Error(StatusCode::SERVICE_UNAVAILABLE), COUNT, 0).await;
}

#[tokio::test]
async fn an_api_server_that_answers_with_empty_lists() {
    lied_to("empty-lists", Lie::EmptyLists, COUNT, COUNT).await;
}

#[tokio::test]
async fn an_api_server_that_answers_with_empty_lists_about_more_than_are_read_one_by_one() {
    lied_to("many-empty-lists", Lie::EmptyLists, 60, 60).await;
}

#[tokio::test]
async fn rights_that_were_revoked() {
    let own = plane::own(Options::default()).await;
    let pair = Pair::on(&own, "revoked", &["Ingress"]).await;
    let objects = ingresses(&pair.lab, COUNT);
    let reader = json!([{"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["get", "list", "watch"]}]);
    let role = |rules: Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "external-dns"}, "rules": rules});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "external-dns"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "external-dns"},
        "subjects": [{"kind": "User", "name": User::nobody(1).name(), "apiGroup": "rbac.authorization.k8s.io"}],
    });
    for object in [role(reader), binding] {
        cluster::apply(own.client(), &object).await.unwrap();
    }
    let external_dns = pair.external_dns_through(own.kubeconfig(&User::nobody(1)).unwrap());
    pair.lab.run();
    let scene = Scene::set(pair, &objects, &external_dns).await;
    cluster::apply(own.client(), &role(json!([]))).await.unwrap();
    let roles = cluster::api(own.client(), "ClusterRole", "");
    let mut ours = cluster::json(&roles.get("zonekeeper").await.unwrap());
    ours["rules"].as_array_mut().unwrap().retain(|rule| rule["apiGroups"] != json!(["networking.k8s.io"]));
    let rules = json!({"rules": ours["rules"]});
    roles.patch("zonekeeper", &PatchParams::default(), &Patch::Merge(&rules)).await.unwrap();
    let child = external_dns.run();
    scene.is_survived(|| scene.lab().run()).await;
    scene
        .lab()
        .wait("DNSZone", "zone", "it says so", |zone| zone["status"].to_string().contains("SourceForbidden"))
        .await;
    scene.nothing_is_written().await;
    external_dns.says("failed to sync").await;
    assert_eq!(scene.lost(), 0);
    drop(child);
}
