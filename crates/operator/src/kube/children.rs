//! Objects that are made for objects of ours: created, applied, deleted, and never over an object of others.

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

use crate::runner::tasks::{self, Task};

/// Writes a child, and says what became of it.
pub async fn write(child: ChildRef, write: ChildWrite, client: Client) -> Event {
    let api = api(&child, client);
    let work = async {
        match write {
            ChildWrite::Create(manifest) => create(&api, &child.name, manifest).await.map(Some),
            ChildWrite::Apply(manifest) => apply(&api, &child.name, &manifest).await.map(Some),
            ChildWrite::Delete(uid, leaving) => {
                if leaving == Leaving::Nothing && child.kind == RecordSet::kind(&()) {
                    clean_up(&api, &child.name, &uid).await?;
                }
                delete(&api, &child.name, uid).await.map(|()| None)
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

/// An apply would take over an object that came a moment ago; a create fails. Whose the fields are is then forgotten, so
/// that the applies that follow own them alone, and can take them away again.
async fn create(api: &Api<DynamicObject>, name: &str, manifest: Value) -> kube::Result<DynamicObject> {
    let object: DynamicObject = serde_json::from_value(manifest.clone()).map_err(kube::Error::SerdeError)?;
    let parameters = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
    let created = api.create(&parameters, &object).await?;
    let uid = created.metadata.uid;
    // Its finalizer may be set in between, by our own watch of it: it must be this object, not this version of it.
    let forget = json!({ "metadata": { "managedFields": [{}], "uid": uid } });
    api.patch(name, &PatchParams::default(), &Patch::Merge(&forget)).await?;
    let mut manifest = manifest;
    manifest["metadata"]["uid"] = json!(uid);
    apply(api, name, &manifest).await
}

async fn apply(api: &Api<DynamicObject>, name: &str, manifest: &Value) -> kube::Result<DynamicObject> {
    api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(manifest)).await
}

/// Has a RecordSet take its record along when it goes, whatever it says of its deletion.
async fn clean_up(api: &Api<DynamicObject>, name: &str, uid: &str) -> kube::Result<()> {
    let policy = json!({ "metadata": { "uid": uid }, "spec": { "deletionPolicy": DeletionPolicy::Delete } });
    match api.patch(name, &PatchParams::default(), &Patch::Merge(&policy)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn delete(api: &Api<DynamicObject>, name: &str, uid: String) -> kube::Result<()> {
    let preconditions = Some(Preconditions { uid: Some(uid), resource_version: None });
    match api.delete(name, &DeleteParams { preconditions, ..DeleteParams::default() }).await {
        Ok(_) => Ok(()),
        // It is gone, or it is another one by now.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(error),
    }
}
