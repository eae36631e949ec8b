//! Namespaces: a name of their own, really deleted, dumped on failure.

use std::{fs, path::Path, process, thread};

use control_plane::{ControlPlane, DEADLINE, Options, eventually};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{Api, api::PostParams};

use crate::settings;

#[tokio::test]
async fn every_namespace_has_a_name_of_its_own() {
    let plane = ControlPlane::shared().await;
    let (one, other) = tokio::join!(plane.namespace("same"), plane.namespace("same"));
    assert_ne!(one.name(), other.name());
    one.api::<ConfigMap>().create(&PostParams::default(), &settings()).await.unwrap();
    assert_eq!(other.api::<ConfigMap>().get_opt("settings").await.unwrap(), None);
}

#[tokio::test]
async fn the_controller_manager_deletes_a_namespace_and_what_is_in_it() {
    let plane = ControlPlane::start(Options { controller_manager: true }).await.unwrap();
    let namespace = plane.namespace("doomed").await.dumping::<ConfigMap>();
    namespace.api::<ConfigMap>().create(&PostParams::default(), &settings()).await.unwrap();
    namespace.delete().await.unwrap();
    let all: Api<Namespace> = Api::all(namespace.client());
    eventually("the namespace is gone", DEADLINE, async || {
        all.get_opt(namespace.name()).await.unwrap().map_or(Ok(()), Err)
    })
    .await;
    assert_eq!(namespace.api::<ConfigMap>().get_opt("settings").await.unwrap(), None);
}

#[test]
fn a_panicking_test_leaves_objects_and_logs() {
    let failing = thread::spawn(|| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let plane = ControlPlane::shared().await;
            let namespace = plane.namespace("failing").await.dumping::<ConfigMap>();
            namespace.api::<ConfigMap>().create(&PostParams::default(), &settings()).await.unwrap();
            let name = namespace.name().to_owned();
            std::panic::panic_any(name)
        })
    });
    let name = *failing.join().unwrap_err().downcast::<String>().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = target.join(format!("control-plane/{}-{name}", process::id()));
    assert!(fs::read_to_string(folder.join("configmaps.yaml")).unwrap().contains("name: settings"));
    for file in ["events.yaml", "etcd.log", "kube-apiserver.log"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    fs::remove_dir_all(folder).unwrap();
}
