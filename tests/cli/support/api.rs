//! An API server with a few objects, as far as commands on one object need one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{Method, StatusCode, Uri},
};
use serde_json::{Value, json};

use super::Folder;

/// Objects by their path below the group; a path that is forbidden answers 403.
#[derive(Clone, Default)]
pub struct Api {
    objects: Arc<Mutex<BTreeMap<String, Value>>>,
    forbidden: Arc<Mutex<Vec<Method>>>,
}

/// The API server, and the kubeconfig that leads to it.
pub struct Cluster {
    pub api: Api,
    folder: Folder,
}

impl Cluster {
    /// Serves these DNSZones of the namespace `dns`.
    pub async fn with_zones(zones: &[Value]) -> Self {
        let api = Api::default();
        for zone in zones {
            let name = zone["metadata"]["name"].as_str().expect("a name");
            let path = format!("/apis/zonekeeper.dev/v1alpha1/namespaces/dns/dnszones/{name}");
            api.objects.lock().expect("no panic").insert(path, zone.clone());
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let server = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new().fallback(answer).with_state(api.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let folder = Folder::new();
        let context = |namespace: &str| json!({"cluster": "it", "user": "it", "namespace": namespace});
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "dns",
            "clusters": [{"name": "it", "cluster": {"server": server}}],
            "users": [{"name": "it", "user": {}}],
            "contexts": [
                {"name": "dns", "context": context("dns")},
                {"name": "elsewhere", "context": context("elsewhere")},
            ],
        });
        folder.write("kubeconfig", &kubeconfig.to_string());
        Self { api, folder }
    }

    pub fn kubeconfig(&self) -> std::path::PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Requests with this method are not allowed any more.
    pub fn forbid(&self, method: Method) {
        self.api.forbidden.lock().expect("no panic").push(method);
    }

    /// A DNSZone as it is now.
    pub fn zone(&self, name: &str) -> Value {
        let path = format!("/apis/zonekeeper.dev/v1alpha1/namespaces/dns/dnszones/{name}");
        self.api.objects.lock().expect("no panic")[&path].clone()
    }
}

async fn answer(State(api): State<Api>, method: Method, uri: Uri, body: Bytes) -> (StatusCode, Json<Value>) {
    if uri.path().ends_with("/selfsubjectreviews") {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {},
            "status": {"userInfo": {"username": "alice@example.com"}},
        });
        return (StatusCode::CREATED, Json(review));
    }
    if api.forbidden.lock().expect("no panic").contains(&method) {
        return refused(StatusCode::FORBIDDEN, "Forbidden");
    }
    let mut objects = api.objects.lock().expect("no panic");
    let Some(object) = objects.get_mut(uri.path()) else {
        return refused(StatusCode::NOT_FOUND, "NotFound");
    };
    if method == Method::PATCH {
        merge(object, &serde_json::from_slice(&body).expect("JSON"));
    }
    (StatusCode::OK, Json(object.clone()))
}

fn refused(code: StatusCode, reason: &str) -> (StatusCode, Json<Value>) {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": "no", "reason": reason, "code": code.as_u16(),
    });
    (code, Json(status))
}

/// A merge patch, by RFC 7386.
fn merge(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (field, value) in fields {
        match value {
            Value::Null => drop(object.as_object_mut().map(|object| object.remove(field))),
            value => merge(&mut object[field], value),
        }
    }
}
