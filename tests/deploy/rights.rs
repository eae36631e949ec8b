//! The operator's rights: those in the list, and no others.

use std::collections::BTreeSet;

use control_plane::{ControlPlane, User};
use k8s_openapi::api::authorization::v1::{SelfSubjectRulesReview, SelfSubjectRulesReviewSpec};
use kube::{Api, api::PostParams};
use zonekeeper_api::rbac::{self, NAMESPACE, Rule, Scope};

use crate::kubectl::{Kubectl, eventually_is, installed};

/// Group, resource and verb.
type Right = (String, String, String);

/// What somebody may do in a namespace, as the API server sees it.
async fn rights(plane: &ControlPlane, user: &User, namespace: &str) -> BTreeSet<Right> {
    let reviews: Api<SelfSubjectRulesReview> = Api::all(plane.client_as(user));
    let spec = SelfSubjectRulesReviewSpec { namespace: Some(namespace.into()) };
    let review = SelfSubjectRulesReview { spec, ..Default::default() };
    let status = reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap();
    let mut rights = BTreeSet::new();
    for rule in status.resource_rules {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                rights.extend(rule.verbs.iter().map(|verb| (group.clone(), resource.clone(), verb.clone())));
            }
        }
    }
    rights
}

fn listed(scopes: &[Scope]) -> BTreeSet<Right> {
    let of_rule = |rule: &'static Rule| {
        rule.resources.iter().flat_map(move |resource| {
            rule.verbs.iter().map(move |verb| (rule.group.into(), (*resource).into(), (*verb).into()))
        })
    };
    scopes.iter().flat_map(|scope| rbac::operator_rules(*scope)).flat_map(of_rule).collect()
}

#[tokio::test]
async fn the_operator_has_exactly_the_rights_in_the_list() {
    let (plane, _) = installed().await;
    let everybody = rights(plane, &User::nobody(8), NAMESPACE).await;
    for (namespace, scopes) in
        [(NAMESPACE, &[Scope::Cluster, Scope::OwnNamespace][..]), ("default", &[Scope::Cluster])]
    {
        eventually_is(&format!("the rights in {namespace}"), listed(scopes), async || {
            rights(plane, &User::zonekeeper(), namespace).await.difference(&everybody).cloned().collect()
        })
        .await;
    }
}

#[tokio::test]
async fn the_operator_may_not_do_what_it_does_not_need() {
    let (plane, _) = installed().await;
    let kubectl = Kubectl::new(plane, &User::zonekeeper());
    let can = async |question: &[&str]| kubectl.run(&[&["auth", "can-i"], question].concat()).await.code == 0;
    for question in [
        &["watch", "secrets", "--namespace", NAMESPACE][..],
        &["create", "secrets", "--namespace", NAMESPACE],
        &["update", "leases.coordination.k8s.io", "--namespace", NAMESPACE],
        &["patch", "recordsets.zonekeeper.dev", "--subresource=status", "--all-namespaces"],
        // Those that it makes for others: delegations, PTR records, resolved targets.
        &["create", "recordsets.zonekeeper.dev", "--all-namespaces"],
        &["delete", "recordsets.zonekeeper.dev", "--all-namespaces"],
        &["get", "namespace/kube-system"],
    ] {
        eventually_is(&question.join(" "), true, async || can(question).await).await;
    }
    for question in [
        &["get", "secrets", "--namespace", "default"][..],
        &["list", "secrets", "--namespace", "kube-system"],
        &["list", "secrets", "--all-namespaces"],
        &["watch", "secrets", "--all-namespaces"],
        &["create", "secrets", "--namespace", "default"],
        &["update", "secrets", "--namespace", NAMESPACE],
        &["patch", "secrets", "--namespace", NAMESPACE],
        &["delete", "secrets", "--namespace", NAMESPACE],
        &["get", "configmaps", "--namespace", NAMESPACE],
        &["patch", "services", "--all-namespaces"],
        &["patch", "ingresses.networking.k8s.io", "--all-namespaces"],
        &["create", "pods", "--namespace", NAMESPACE],
        &["create", "pods", "--subresource=exec", "--namespace", NAMESPACE],
        &["create", "serviceaccounts", "--subresource=token", "--namespace", NAMESPACE],
        &["patch", "deployments.apps", "--namespace", NAMESPACE],
        &["patch", "nodes"],
        &["patch", "dnsendpoints.externaldns.k8s.io", "--all-namespaces"],
        &["patch", "namespaces"],
        &["update", "recordsets.zonekeeper.dev", "--all-namespaces"],
        &["deletecollection", "recordsets.zonekeeper.dev", "--all-namespaces"],
        &["delete", "dnszones.zonekeeper.dev", "--all-namespaces"],
        &["delete", "dnsproviders.zonekeeper.dev"],
        &["patch", "addresssources.zonekeeper.dev", "--all-namespaces"],
        &["patch", "customresourcedefinitions.apiextensions.k8s.io"],
        &["create", "rolebindings.rbac.authorization.k8s.io", "--namespace", NAMESPACE],
        &["bind", "clusterroles.rbac.authorization.k8s.io"],
        &["impersonate", "users"],
        &["create", "leases.coordination.k8s.io", "--namespace", "kube-system"],
        &["delete", "leases.coordination.k8s.io", "--namespace", NAMESPACE],
        &["list", "events.events.k8s.io", "--all-namespaces"],
    ] {
        assert!(!can(question).await, "{}", question.join(" "));
    }
}
