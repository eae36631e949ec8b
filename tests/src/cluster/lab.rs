//! A lab per test: a simulator with its own zone, namespaces, a provider under its own controller name, and the
//! operator as a process. Many labs share one control plane and do not meet.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    canary,
    manifest::{Manifest, records},
};
use cloudflare_sim::{Config, Plan, Sim};
use control_plane::{ControlPlane, Namespace, User, eventually};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use zonekeeper_api::{AddressSource, DNSZone, RecordSet};

use super::{
    looks::{condition, is_current},
    objects::{self, json as as_json},
    operator::{Operator, log_of},
    plane,
};

/// Only a failing test waits that long.
pub const DEADLINE: Duration = Duration::from_secs(40);

const LEVEL: &str = "zonekeeper=debug,info";

static REQUEST: AtomicUsize = AtomicUsize::new(1);

pub struct Lab<'a> {
    plane: &'a ControlPlane,
    /// The operator's namespace, and that of the zone.
    pub home: Namespace<'a>,
    pub sim: Sim,
    /// The zone's id at the simulator.
    pub zone: String,
    /// Its domain; every lab has another.
    pub domain: String,
    pub token: String,
    operator: Mutex<Option<Operator>>,
    log: PathBuf,
}

impl Lab<'static> {
    /// Secret, provider and zone are there, and the operator runs.
    pub async fn new(name: &str) -> Self {
        let lab = Self::ready_to_run(name).await;
        lab.run();
        lab
    }

    /// Secret, provider and zone are there; the operator does not run yet.
    pub async fn ready_to_run(name: &str) -> Self {
        let lab = Self::bare(name).await;
        lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
        lab.apply(&lab.provider()).await;
        lab.apply(&lab.dns_zone()).await;
        lab
    }

    /// Nothing but a namespace and a simulator.
    pub async fn bare(name: &str) -> Self {
        Lab::bare_on(plane::shared().await, name).await
    }
}

impl<'a> Lab<'a> {
    /// Nothing but a namespace and a simulator, on a control plane of your own.
    pub async fn bare_on(plane: &'a ControlPlane, name: &str) -> Self {
        let home = plane.namespace(name).await;
        let home = home.dumping::<DNSZone>().dumping::<RecordSet>().dumping::<AddressSource>();
        let sim = Sim::start(Config::unlimited()).await.expect("the simulator starts");
        let domain = format!("{}.example.com", home.name());
        let zone = sim.zone(&domain, Plan::Pro);
        let token = canary::token(&sim);
        let log = log_of(home.name());
        let lab = Self { plane, home, sim, zone, domain, token, operator: Mutex::new(None), log };
        lab.let_operator_into(lab.home.name()).await;
        lab
    }

    /// Grants the operator what it has in its own namespace.
    async fn let_operator_into(&self, namespace: &str) {
        for mut object in plane::shipped("rbac/own-namespace.yaml") {
            object["metadata"]["namespace"] = namespace.into();
            objects::apply(self.home.client(), &object).await.expect("the API server takes it");
        }
    }

    /// Lets the operator read Secrets in a namespace, as its condition asks people to.
    pub async fn let_read_secrets(&self, namespace: &str) {
        let object = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "zonekeeper-secret-reader", "namespace": namespace},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "zonekeeper-secret-reader",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "zonekeeper", "namespace": "zonekeeper-system"}],
        });
        objects::apply(self.home.client(), &object).await.expect("the API server takes it");
    }

    // === The operator ===

    /// Starts the operator.
    pub fn run(&self) {
        self.run_with(&[]);
    }

    pub fn run_with(&self, arguments: &[&str]) {
        self.run_at(LEVEL, arguments);
    }

    /// Starts the operator with a log level.
    pub fn run_at(&self, level: &str, arguments: &[&str]) {
        self.start(level, &self.kubeconfig(), &self.with_own(arguments));
    }

    /// Starts the operator with fail points: a file in that folder, called like a task, makes the next one panic.
    pub fn run_failing(&self, folder: &Path) {
        let points = [("ZONEKEEPER_FAIL_POINTS", folder)];
        let operator =
            Operator::start_with(&self.kubeconfig(), &self.with_own(&[]), LEVEL, &self.log, &points);
        *self.operator.lock().expect("one test, one thread") = Some(operator);
    }

    /// Starts the operator with a kubeconfig of the test's own.
    pub fn run_through(&self, kubeconfig: &Path) {
        self.start(LEVEL, kubeconfig, &self.with_own(&[]));
    }

    /// Starts the operator without a controller name of the lab's own.
    pub fn run_plainly(&self, arguments: &[&str]) {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        self.start(LEVEL, &self.kubeconfig(), &arguments);
    }

    fn with_own(&self, arguments: &[&str]) -> Vec<String> {
        let own = ["--namespace", self.home.name(), "--controller-name", &self.controller()];
        let own = [&own[..], &["--allow-address-source", "127.0.0.0/8"]].concat();
        // Nothing is asked outside of this machine.
        let own = if arguments.contains(&"--resolver") {
            own
        } else {
            [&own[..], &["--resolver", "127.0.0.1:9"]].concat()
        };
        own.iter().chain(arguments).map(ToString::to_string).collect()
    }

    fn kubeconfig(&self) -> PathBuf {
        self.plane.kubeconfig(&User::zonekeeper()).expect("a kubeconfig")
    }

    fn start(&self, level: &str, kubeconfig: &Path, arguments: &[String]) {
        let operator = Operator::start(kubeconfig, arguments, level, &self.log);
        *self.operator.lock().expect("one test, one thread") = Some(operator);
    }

    /// Ends the operator at once.
    pub async fn kill(&self) {
        let operator = self.operator.lock().expect("one test, one thread").take();
        operator.expect("it runs").kill().await;
    }

    pub async fn metrics(&self) -> String {
        self.serves("/metrics").await.expect("metrics")
    }

    /// What the operator serves to everybody under a path.
    pub async fn serves(&self, path: &str) -> reqwest::Result<String> {
        let operator = self.operator.lock().expect("one test, one thread").take().expect("it runs");
        let served = operator.serves(path).await;
        if let Ok(text) = &served {
            canary::assert_hidden(path, text);
        }
        *self.operator.lock().expect("one test, one thread") = Some(operator);
        served
    }

    /// The most memory that the operator ever had, in bytes.
    pub fn most_memory(&self) -> u64 {
        let operator = self.operator.lock().expect("one test, one thread");
        let id = operator.as_ref().expect("it runs").id();
        let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it lives");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak");
        let kibibytes = peak.trim().trim_end_matches("kB").trim();
        kibibytes.parse::<u64>().expect("a number") << 10
    }

    /// Everything that the operator printed.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("UTF-8")
    }

    pub fn plane(&self) -> &'a ControlPlane {
        self.plane
    }

    // === Manifests ===

    pub fn controller(&self) -> String {
        format!("zonekeeper.dev/{}", self.home.name())
    }

    /// The provider; it is called like the lab's namespace.
    pub fn provider(&self) -> Manifest {
        let secret = json!({"name": "cloudflare", "namespace": self.home.name()});
        let spec = json!({
            "cloudflare": {"baseURL": self.sim.base_url(), "apiTokenSecretRef": secret},
            "controllerName": self.controller(),
        });
        Manifest(json!({
            "apiVersion": "zonekeeper.dev/v1alpha1",
            "kind": "DNSProvider",
            "metadata": {"name": self.home.name()},
            "spec": spec,
        }))
    }

    /// The zone, called `zone`.
    pub fn dns_zone(&self) -> Manifest {
        self.zone_of(&self.domain).named("zone")
    }

    /// A DNSZone of another domain, called like it.
    pub fn zone_of(&self, domain: &str) -> Manifest {
        crate::manifest::zone(domain).with("providerRef", json!({"name": self.home.name()}))
    }

    /// A RecordSet under the zone; `@` is the zone itself. It is called like its name.
    pub fn records(&self, name: &str, rtype: &str, values: &[&str]) -> Manifest {
        let called = name.replace('*', "any").replace('@', "apex").replace(['.', '_'], "-");
        records(&self.at(name), rtype, values).named(called.trim_start_matches('-'))
    }

    /// An A record under the zone.
    pub fn a(&self, name: &str, value: &str) -> Manifest {
        self.records(name, "A", &[value])
    }

    /// A full name under the zone.
    pub fn at(&self, name: &str) -> String {
        match name {
            "@" => self.domain.clone(),
            name => format!("{name}.{}", self.domain),
        }
    }

    // === Objects; a name without a namespace is in the lab's own ===

    /// Applies an object; panics where the API server refuses it.
    pub async fn apply(&self, manifest: &Manifest) -> Value {
        self.try_apply(manifest).await.unwrap_or_else(|error| panic!("{}: {error}", manifest.0))
    }

    pub async fn try_apply(&self, manifest: &Manifest) -> kube::Result<Value> {
        let mut object = manifest.0.clone();
        if object["kind"] != "DNSProvider" && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = self.home.name().into();
        }
        // Only this lab's operator asks it.
        if object["kind"] == "AddressSource" && object["spec"]["controllerName"].is_null() {
            object["spec"]["controllerName"] = self.controller().into();
        }
        objects::apply(self.home.client(), &object).await
    }

    /// Applies an object that must be refused, and returns why.
    pub async fn refused(&self, manifest: &Manifest) -> String {
        match self.try_apply(manifest).await {
            Ok(object) => panic!("accepted: {object}"),
            Err(error) => error.to_string(),
        }
    }

    /// Applies an object and waits until it is Ready.
    pub async fn ready(&self, manifest: &Manifest) -> Value {
        let (kind, name) = self.applied(manifest).await;
        self.wait_ready(&kind, &name).await
    }

    /// Applies an object, waits until it is not Ready for this reason, and returns the message.
    pub async fn not_ready(&self, manifest: &Manifest, reason: &str) -> String {
        let (kind, name) = self.applied(manifest).await;
        self.wait_reason(&kind, &name, reason).await
    }

    async fn applied(&self, manifest: &Manifest) -> (String, String) {
        let object = self.apply(manifest).await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]));
        (text(&manifest.0["kind"]), format!("{namespace}/{name}"))
    }

    pub async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let (namespace, name) = self.split(name);
        let found = objects::api(self.home.client(), kind, namespace).get_opt(name).await;
        let found = found.expect("the API server answers").as_ref().map(as_json);
        if let Some(object) = found.as_ref().filter(|_| kind != "Secret") {
            canary::assert_hidden(&format!("{kind} {namespace}/{name}"), &object.to_string());
        }
        found
    }

    pub async fn delete(&self, kind: &str, name: &str) {
        let (namespace, name) = self.split(name);
        let api = objects::api(self.home.client(), kind, namespace);
        api.delete(name, &DeleteParams::default()).await.expect("the API server deletes");
    }

    /// Merges a patch.
    pub async fn patch(&self, kind: &str, name: &str, patch: Value) -> Value {
        let (namespace, name) = self.split(name);
        let api = objects::api(self.home.client(), kind, namespace);
        let parameters = PatchParams { field_manager: Some("test-patch".into()), ..PatchParams::default() };
        let patched = api.patch(name, &parameters, &Patch::Merge(&patch)).await;
        as_json(&patched.expect("the API server takes the patch"))
    }

    /// Merges a patch of the status, as the controller of that kind does.
    pub async fn patch_status(&self, kind: &str, name: &str, patch: Value) {
        let (namespace, name) = self.split(name);
        let api = objects::api(self.home.client(), kind, namespace);
        let patched = api.patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        patched.expect("the API server takes the patch");
    }

    pub async fn annotate(&self, kind: &str, name: &str, annotation: &str, value: &str) {
        self.patch(kind, name, json!({"metadata": {"annotations": {annotation: value}}})).await;
    }

    /// Writes a Secret with these keys and no others.
    pub async fn put_secret(&self, name: &str, data: &[(&str, &str)]) {
        let (namespace, name) = self.split(name);
        let encoded = |value: &str| data_encoding::BASE64.encode(value.as_bytes());
        let data: BTreeMap<&str, String> = data.iter().map(|(key, value)| (*key, encoded(value))).collect();
        let metadata = json!({"name": name, "namespace": namespace});
        let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data});
        objects::apply(self.home.client(), &object).await.expect("the API server takes it");
    }

    /// A namespace with these labels, of which nobody else has the name.
    pub async fn tenant(&self, labels: Value) -> Namespace<'a> {
        let tenant = self.plane.namespace(&format!("{}-tenant", self.home.name())).await;
        self.patch("Namespace", tenant.name(), json!({"metadata": {"labels": labels}})).await;
        tenant.dumping::<RecordSet>().dumping::<DNSZone>().dumping::<AddressSource>()
    }

    fn split<'b>(&'b self, name: &'b str) -> (&'b str, &'b str) {
        name.split_once('/').unwrap_or((self.home.name(), name))
    }

    // === Waiting ===

    pub async fn wait(&self, kind: &str, name: &str, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{kind} {name}: {what}"), DEADLINE, async || match self.get(kind, name).await {
            Some(object) if is_it(&object) => Ok(object),
            other => Err(other.map(|object| format!("{:#} {:#}", object["spec"], object["status"]))),
        })
        .await
    }

    pub async fn wait_ready(&self, kind: &str, name: &str) -> Value {
        self.wait(kind, name, "Ready", |object| is_current(object) && condition(object, "Ready").is("True"))
            .await
    }

    /// Waits until it is not Ready for this reason, and returns the message.
    pub async fn wait_reason(&self, kind: &str, name: &str, reason: &str) -> String {
        self.wait_condition(kind, name, "Ready", "False", reason).await
    }

    /// Waits for a condition with this status and reason, and returns its message.
    pub async fn wait_condition(
        &self,
        kind: &str,
        name: &str,
        which: &str,
        is: &str,
        reason: &str,
    ) -> String {
        let is_it = |object: &Value| {
            let condition = condition(object, which);
            is_current(object) && condition.is(is) && condition.reason == reason
        };
        let object = self.wait(kind, name, &format!("{which}={is} {reason}"), is_it).await;
        condition(&object, which).message
    }

    pub async fn wait_gone(&self, kind: &str, name: &str) {
        eventually(&format!("{kind} {name}: gone"), DEADLINE, async || match self.get(kind, name).await {
            None => Ok(()),
            Some(object) => Err(format!("{:#} {:#}", object["metadata"]["finalizers"], object["status"])),
        })
        .await;
    }

    /// Waits until the zone has these records, no others.
    pub async fn wait_contents(&self, expected: &[&str]) {
        eventually("the zone's contents", DEADLINE, async || match self.contents() {
            found if found == expected => Ok(()),
            found => Err(found),
        })
        .await;
    }

    /// Has the zone read and compared, and waits until that is done: what was to happen has happened.
    pub async fn scan(&self) {
        self.scan_of("zone").await;
    }

    pub async fn scan_of(&self, zone: &str) {
        let value = format!("request-{}", REQUEST.fetch_add(1, Ordering::Relaxed));
        self.annotate("DNSZone", zone, "reconcile.fluxcd.io/requestedAt", &value).await;
        self.wait("DNSZone", zone, "scanned", |object| object["status"]["lastHandledReconcileAt"] == *value)
            .await;
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let last: Vec<&str> = log.lines().rev().take(30).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            eprintln!("the end of {}:\n{}", self.log.display(), last.join("\n"));
            eprintln!("the zone: {:#?}", self.contents());
        } else {
            canary::assert_hidden("the log", &fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}
