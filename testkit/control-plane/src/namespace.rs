//! A namespace per test, which leaves its state behind where the test fails.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{Event, Namespace as Object},
};
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DeleteParams, PostParams},
};

use crate::{dump, plane::ControlPlane, user::User};

static NUMBER: AtomicUsize = AtomicUsize::new(1);

/// A namespace of one test. Where the test panics, what is in it goes to `target/control-plane`.
///
/// It is not deleted: it goes with the control plane.
pub struct Namespace<'a> {
    plane: &'a ControlPlane,
    name: String,
    client: Client,
    kinds: Vec<ApiResource>,
}

// === impl Namespace ===

impl<'a> Namespace<'a> {
    #[allow(clippy::panic, reason = "without a namespace no test can go on")]
    pub(crate) async fn create(plane: &'a ControlPlane, prefix: &str) -> Self {
        let name = format!("{prefix}-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let client = plane.client();
        let mut object = Object::default();
        object.metadata.name = Some(name.clone());
        if let Err(error) = Api::all(client.clone()).create(&PostParams::default(), &object).await {
            panic!("creating namespace {name}: {error}");
        }
        Self { plane, name, client, kinds: vec![ApiResource::erase::<Event>(&())] }
    }

    /// Names a kind of which all objects are written down where the test panics; Events always are.
    #[must_use]
    pub fn dumping<K: Resource<DynamicType = ()>>(mut self) -> Self {
        self.kinds.push(ApiResource::erase::<K>(&()));
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The administrator's client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Objects of that kind in it, for the administrator.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client(), &self.name)
    }

    /// Objects of that kind in it, for a user.
    pub fn api_as<K>(&self, user: &User) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.plane.client_as(user), &self.name)
    }

    /// Asks for its deletion; only kube-controller-manager carries it out.
    pub async fn delete(&self) -> kube::Result<()> {
        let all: Api<Object> = Api::all(self.client());
        all.delete(&self.name, &DeleteParams::default()).await.map(drop)
    }
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            match dump::write(self.plane, &self.name, &self.kinds) {
                Ok(folder) => eprintln!("objects and logs are in {}", folder.display()),
                Err(error) => eprintln!("objects and logs could not be written: {error:#}"),
            }
        }
    }
}
