//! Users: what they are called, and what RBAC lets them do.

use std::process::Command;

use control_plane::{ControlPlane, DEADLINE, User, eventually};
use k8s_openapi::api::{
    core::v1::ConfigMap,
    rbac::v1::{RoleBinding, RoleRef, Subject},
};
use kube::{
    Error,
    api::{ListParams, PostParams},
};

#[tokio::test]
async fn nobody_may_do_nothing() {
    let namespace = ControlPlane::shared().await.namespace("rbac").await;
    let denied = namespace.api_as::<ConfigMap>(&User::nobody(1)).list(&ListParams::default()).await;
    let Err(Error::Api(status)) = denied else { panic!("{denied:?}") };
    assert_eq!(status.code, 403);
    assert!(status.message.contains(r#"User "nobody-1" cannot list resource "configmaps""#), "{status:?}");
}

#[tokio::test]
async fn a_binding_to_the_service_account_is_one_to_zonekeeper() {
    let namespace = ControlPlane::shared().await.namespace("rbac").await.dumping::<RoleBinding>();
    let maps = namespace.api_as::<ConfigMap>(&User::zonekeeper());
    assert!(maps.list(&ListParams::default()).await.is_err());
    let mut binding = RoleBinding {
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".into(),
            kind: "ClusterRole".into(),
            // Not "view": it is empty until kube-controller-manager aggregates it.
            name: "cluster-admin".into(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".into(),
            name: "zonekeeper".into(),
            namespace: Some("zonekeeper-system".into()),
            ..Subject::default()
        }]),
        ..RoleBinding::default()
    };
    binding.metadata.name = Some("zonekeeper".into());
    namespace.api().create(&PostParams::default(), &binding).await.unwrap();
    eventually("zonekeeper may list", DEADLINE, async || maps.list(&ListParams::default()).await).await;
}

#[tokio::test]
async fn kubectl_takes_the_kubeconfig() {
    let user = User::zonekeeper();
    let kubeconfig = ControlPlane::shared().await.kubeconfig(&user).unwrap();
    let answer = Command::new(control_plane::program("kubectl").unwrap())
        .args(["auth", "whoami", "--output", "jsonpath={.status.userInfo.username}", "--kubeconfig"])
        .arg(kubeconfig)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.stdout), user.name(), "{answer:?}");
}
