//! Faults: a second view, a pause, a death.

use std::time::Duration;

use control_plane::{ControlPlane, DEADLINE, Options, eventually, wait_for};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
};
use tokio::time::timeout;

use crate::settings;

#[tokio::test]
async fn two_apiservers_see_each_others_writes() {
    let plane = ControlPlane::shared().await;
    let second = plane.second_apiserver().await.unwrap();
    assert_ne!(plane.url(), second.url());
    let namespace = plane.namespace("views").await.dumping::<ConfigMap>();
    let here = namespace.api::<ConfigMap>();
    let there: Api<ConfigMap> = Api::namespaced(second.client(), namespace.name());
    let made = here.create(&PostParams::default(), &settings()).await.unwrap();
    let seen = wait_for(&there, "settings", |it: Option<&ConfigMap>| it.is_some()).await;
    assert_eq!(seen.metadata.uid, made.metadata.uid);
    there.delete("settings", &DeleteParams::default()).await.unwrap();
    eventually("the deletion", DEADLINE, async || {
        here.get_opt("settings").await.unwrap().map_or(Ok(()), Err)
    })
    .await;
}

#[tokio::test]
async fn a_frozen_apiserver_has_a_stale_view_until_it_thaws() {
    let plane = ControlPlane::shared().await;
    let second = plane.second_apiserver().await.unwrap();
    let namespace = plane.namespace("stale").await.dumping::<ConfigMap>();
    let here = namespace.api::<ConfigMap>();
    let there: Api<ConfigMap> = Api::namespaced(second.client(), namespace.name());
    let cached = async || there.list(&ListParams::default().match_any()).await.map(|list| list.items.len());
    assert_eq!(cached().await.unwrap(), 0);
    second.freeze();
    here.create(&PostParams::default(), &settings()).await.unwrap();
    assert_eq!(here.list(&ListParams::default()).await.unwrap().items.len(), 1);
    assert_eq!(cached().await.unwrap(), 0);
    second.thaw();
    eventually("the new object", DEADLINE, async || match cached().await {
        Ok(1) => Ok(()),
        seen => Err(seen),
    })
    .await;
}

#[tokio::test]
async fn a_paused_apiserver_is_silent_until_it_is_resumed() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let namespace = plane.namespace("paused").await;
    let maps = namespace.api::<ConfigMap>();
    plane.apiserver().pause().unwrap();
    assert!(timeout(Duration::from_millis(300), maps.get_opt("settings")).await.is_err());
    plane.apiserver().resume().unwrap();
    assert_eq!(maps.get_opt("settings").await.unwrap(), None);
}

#[tokio::test]
async fn what_was_written_survives_the_death_of_etcd_and_apiserver() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let namespace = plane.namespace("reborn").await;
    let maps = namespace.api::<ConfigMap>();
    let made = maps.create(&PostParams::default(), &settings()).await.unwrap();
    plane.apiserver().kill().unwrap();
    assert!(maps.get("settings").await.is_err());
    plane.etcd().restart().unwrap();
    plane.apiserver().restart().unwrap();
    let found = eventually("the same object", DEADLINE, async || maps.get("settings").await).await;
    assert_eq!(found.metadata.uid, made.metadata.uid);
}
