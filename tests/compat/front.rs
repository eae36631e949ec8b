//! A front of the API server that can lie about one kind: errors in place of answers, or lists without items.

use std::{
    collections::BTreeSet,
    net::Ipv4Addr,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{
        HeaderValue, Method, StatusCode,
        header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST},
    },
    response::{IntoResponse, Response},
};
use control_plane::{ControlPlane, DEADLINE, User, eventually};
use futures::StreamExt;
use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::watch};

/// What clients are told about the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// Nothing but the truth.
    None,
    /// Every read is answered with this status.
    Error(StatusCode),
    /// Lists have no items; reads by name are true.
    EmptyLists,
}

/// Speaks HTTP without TLS, and to the API server as one user; ends with the test's runtime.
pub struct Front {
    port: u16,
    folder: TempDir,
    teller: Teller,
}

#[derive(Clone)]
struct Teller {
    client: Client,
    /// As in paths: `ingresses`.
    resource: &'static str,
    lie: Arc<watch::Sender<Lie>>,
    /// The paths that were lied about since the lie began.
    told: Arc<Mutex<BTreeSet<String>>>,
}

// === impl Front ===

impl Front {
    pub async fn start(plane: &ControlPlane, user: &User, resource: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (lie, told) = (Arc::new(watch::Sender::new(Lie::None)), Arc::default());
        let teller = Teller { client: plane.client_as(user), resource, lie, told };
        let router = Router::new().fallback(answer).with_state(teller.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, folder: tempfile::tempdir().expect("a folder"), teller }
    }

    /// A kubeconfig that leads here; whose token it is, the front knows.
    pub fn kubeconfig(&self) -> PathBuf {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "front", "cluster": {"server": format!("http://127.0.0.1:{}", self.port)}}],
            "users": [{"name": "user", "user": {}}],
            "contexts": [{"name": "front", "context": {"cluster": "front", "user": "user"}}],
            "current-context": "front",
        });
        let path = self.folder.path().join("kubeconfig");
        std::fs::write(&path, config.to_string()).expect("written");
        path
    }

    /// Tells this from now on; watches end, so that everybody asks again.
    pub fn tell(&self, lie: Lie) {
        self.teller.told.lock().expect("no panic").clear();
        self.teller.lie.send_replace(lie);
    }

    /// Waits until somebody has been lied to.
    pub async fn was_believed(&self) {
        eventually("somebody asks", DEADLINE, async || {
            if self.teller.told.lock().expect("no panic").is_empty() { Err(()) } else { Ok(()) }
        })
        .await;
    }
}

// === impl Teller ===

impl Teller {
    fn note(&self, path: &str) {
        self.told.lock().expect("no panic").insert(path.to_owned());
    }

    fn was_told(&self, path: &str) -> bool {
        self.told.lock().expect("no panic").contains(path)
    }
}

async fn answer(State(teller): State<Teller>, request: Request) -> Response {
    let (path, query) =
        (request.uri().path().to_owned(), request.uri().query().unwrap_or_default().to_owned());
    let is_read = request.method() == Method::GET;
    let is_about = path.split('/').any(|part| part == teller.resource) && is_read;
    let is_list = path.ends_with(teller.resource);
    let is_watch = query.contains("watch=true") || query.contains("watch=1");
    let lie = *teller.lie.borrow();
    match lie {
        Lie::Error(status) if is_about => {
            teller.note(&path);
            failure(status, "InternalError")
        }
        // Who wants its list in a watch, or goes on from before, is made to list.
        Lie::EmptyLists if is_about && is_watch && query.contains("sendInitialEvents=true") => {
            failure(StatusCode::UNPROCESSABLE_ENTITY, "Invalid")
        }
        Lie::EmptyLists if is_about && is_watch && !teller.was_told(&path) => {
            failure(StatusCode::GONE, "Expired")
        }
        Lie::EmptyLists if is_about && is_list && !is_watch => {
            let answer = pass(&teller, request).await;
            teller.note(&path);
            emptied(answer).await
        }
        Lie::None | Lie::Error(_) | Lie::EmptyLists => pass(&teller, request).await,
    }
}

/// The API server's own answer; it ends when the lie changes.
async fn pass(teller: &Teller, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    parts.headers.remove(HOST);
    parts.headers.remove(AUTHORIZATION);
    // Only JSON can be emptied here.
    if parts
        .headers
        .get(ACCEPT)
        .is_some_and(|accept| accept.as_bytes().windows(8).any(|word| word == b"protobuf"))
    {
        parts.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    }
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        return failure(StatusCode::BAD_REQUEST, "BadRequest");
    };
    let mut lie = teller.lie.subscribe();
    match teller.client.send(Request::from_parts(parts, body.into())).await {
        Ok(answer) => {
            let (head, body) = answer.into_parts();
            let ended = async move { drop(lie.changed().await) };
            let body = Body::new(body).into_data_stream().take_until(Box::pin(ended));
            Response::from_parts(head, Body::from_stream(body))
        }
        Err(_) => failure(StatusCode::BAD_GATEWAY, "InternalError"),
    }
}

async fn emptied(answer: Response) -> Response {
    let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.expect("a list");
    let mut list: Value = serde_json::from_slice(&body).expect("JSON");
    list["items"] = json!([]);
    ([(CONTENT_TYPE, "application/json")], list.to_string()).into_response()
}

fn failure(code: StatusCode, reason: &str) -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "told by the test", "reason": reason, "code": code.as_u16(),
    });
    (code, [(CONTENT_TYPE, "application/json")], status.to_string()).into_response()
}
