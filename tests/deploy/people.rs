//! The roles for people, as Kubernetes's own roles take them in.

use control_plane::{ControlPlane, Options, User};

use crate::kubectl::{Kubectl, eventually_is};

#[tokio::test]
async fn who_may_view_or_edit_a_namespace_may_view_or_edit_our_kinds_in_it() {
    let plane = ControlPlane::start(Options { controller_manager: true }).await.unwrap();
    let admin = Kubectl::new(&plane, &User::admin());
    for file in ["namespace.yaml", "crds", "rbac"] {
        admin.run(&["apply", "-f", &format!("deploy/{file}")]).await.succeeds();
    }
    for (role, user) in [("view", User::nobody(1)), ("edit", User::nobody(2)), ("admin", User::nobody(3))] {
        let (role, user) = (format!("--clusterrole={role}"), format!("--user={}", user.name()));
        let name = role.trim_start_matches("--clusterrole=");
        admin.run(&["create", "rolebinding", name, "--namespace", "default", &role, &user]).await.succeeds();
    }
    let of_ours = ["recordsets.zonekeeper.dev", "dnszones.zonekeeper.dev", "addresssources.zonekeeper.dev"];
    for (user, writes) in [(User::nobody(1), false), (User::nobody(2), true), (User::nobody(3), true)] {
        let kubectl = Kubectl::new(&plane, &user);
        let can = async |verb: &str, resource: &str, namespace: &str| {
            kubectl.run(&["auth", "can-i", verb, resource, "--namespace", namespace]).await.code == 0
        };
        for resource in of_ours {
            let what = format!("{} and {resource}", user.name());
            eventually_is(&what, (true, writes), async || {
                (can("list", resource, "default").await, can("create", resource, "default").await)
            })
            .await;
            assert!(!can("list", resource, "kube-system").await, "{what}");
        }
        assert!(!can("create", "dnsproviders.zonekeeper.dev", "default").await, "{}", user.name());
    }
}
