//! Creates the key that signs markers.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Client, api::PostParams};
use zonekeeper_api::wellknown::SECRET_MARKER_CURRENT;

use zonekeeper_model::{Event, Key};
use zonekeeper_providers::fence::Fence;

use crate::{
    kube::fenced::fenced,
    runner::tasks::{self, Task},
};

const KEY_BYTES: usize = 32;

/// Creates the Secret with a new key, and answers the model.
pub async fn create(client: Client, key: Key, fence: Arc<dyn Fence>) -> Event {
    let create = async { create_secret(client, &key, &fence).await };
    let made = tasks::caught(Task::Write, create).await;
    let made = made.unwrap_or_else(|| Err(Task::Write.error().to_string()));
    Event::KeyMade(key, made)
}

async fn create_secret(client: Client, key: &Key, fence: &Arc<dyn Fence>) -> Result<(), String> {
    let mut bytes = [0_u8; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness: {error}"))?;
    let text = data_encoding::BASE64.encode(&bytes);
    let secret = Secret {
        metadata: ObjectMeta {
            namespace: Some(key.0.clone()),
            name: Some(key.1.clone()),
            ..Default::default()
        },
        data: Some(BTreeMap::from([(SECRET_MARKER_CURRENT.to_owned(), ByteString(text.into_bytes()))])),
        ..Secret::default()
    };
    let api: Api<Secret> = Api::namespaced(client, &key.0);
    match fenced(fence, api.create(&PostParams::default(), &secret)).await {
        Ok(_) => Ok(()),
        // It was made in between, and comes with its watch.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
