//! Objects that are made for objects of ours: created, applied, deleted, and never over an object of others.

use std::sync::Arc;

use kube::{
    Api, Client, Resource,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions},
    core::GroupVersionKind,
};
use serde_json::{Value, json};
use zonekeeper_api::{DeletionPolicy, RecordSet, wellknown::MANAGER};
use zonekeeper_model::{
    Event,
    children::{ChildRef, ChildWrite, Leaving},
};
use zonekeeper_providers::fence::Fence;

use crate::{
    kube::fenced::fenced,
    runner::tasks::{self, Task},
};

/// Writes a child, and says what became of it.
pub async fn write(child: ChildRef, write: ChildWrite, client: Client, fence: Arc<dyn Fence>) -> Event {
    let api = Children { api: api(&child, client), fence };
    let work = async {
        match write {
            ChildWrite::Create(manifest) => api.create(&child.name, manifest).await.map(Some),
            ChildWrite::Apply(manifest) => api.apply(&child.name, &manifest).await.map(Some),
            ChildWrite::Delete(uid, leaving) => {
                if leaving == Leaving::Nothing && child.kind == RecordSet::kind(&()) {
                    api.clean_up(&child.name, &uid).await?;
                }
                api.delete(&child.name, uid).await.map(|()| None)
            }
        }
    };
    let answer = match tasks::caught(Task::Write, work).await {
        Some(Ok(object)) => Ok(object.map(|object| Box::new(object.metadata))),
        Some(Err(error)) => Err(error.to_string()),
        None => Err(Task::Write.error().to_string()),
    };
    Event::ChildWritten(child, answer)
}

fn api(child: &ChildRef, client: Client) -> Api<DynamicObject> {
    let (group, version) = child.api_version.split_once('/').unwrap_or(("", &child.api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &child.kind));
    Api::namespaced_with(client, &child.namespace, &resource)
}

/// Objects of one kind in one namespace, written while the lease is held.
struct Children {
    api: Api<DynamicObject>,
    fence: Arc<dyn Fence>,
}

// === impl Children ===

impl Children {
    /// An apply would take over an object that came a moment ago; a create fails. Whose the fields are is then forgotten, so
    /// that the applies that follow own them alone, and can take them away again.
    async fn create(&self, name: &str, manifest: Value) -> kube::Result<DynamicObject> {
        let object: DynamicObject =
            serde_json::from_value(manifest.clone()).map_err(kube::Error::SerdeError)?;
        let parameters = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
        let created = fenced(&self.fence, self.api.create(&parameters, &object)).await?;
        let uid = created.metadata.uid;
        // Its finalizer may be set in between, by our own watch of it: it must be this object, not this version of it.
        let forget = json!({ "metadata": { "managedFields": [{}], "uid": uid } });
        self.merge(name, &forget).await?;
        let mut manifest = manifest;
        manifest["metadata"]["uid"] = json!(uid);
        self.apply(name, &manifest).await
    }

    async fn apply(&self, name: &str, manifest: &Value) -> kube::Result<DynamicObject> {
        let (parameters, patch) = (PatchParams::apply(MANAGER).force(), Patch::Apply(manifest));
        fenced(&self.fence, self.api.patch(name, &parameters, &patch)).await
    }

    async fn merge(&self, name: &str, patch: &Value) -> kube::Result<DynamicObject> {
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
        fenced(&self.fence, self.api.patch(name, &parameters, &patch)).await
    }

    /// Has a RecordSet take its record along when it goes, whatever it says of its deletion.
    async fn clean_up(&self, name: &str, uid: &str) -> kube::Result<()> {
        let policy =
            json!({ "metadata": { "uid": uid }, "spec": { "deletionPolicy": DeletionPolicy::Delete } });
        or_gone(self.merge(name, &policy).await)
    }

    async fn delete(&self, name: &str, uid: String) -> kube::Result<()> {
        let preconditions = Some(Preconditions { uid: Some(uid), resource_version: None });
        let parameters = DeleteParams { preconditions, ..DeleteParams::default() };
        or_gone(fenced(&self.fence, self.api.delete(name, &parameters)).await)
    }
}

/// It may be gone, or be another one by now.
fn or_gone<T>(answer: kube::Result<T>) -> kube::Result<()> {
    match answer {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(error),
    }
}
