//! The page about rights, written from the list in `crates/api/src/rbac.rs`.

use zonekeeper_api::{
    rbac::{
        self, EDIT, EDIT_CLUSTER_ROLE, NAMESPACE, Rule, SECRET_READER, SERVICE_ACCOUNT, Scope, VIEW,
        VIEW_CLUSTER_ROLE,
    },
    wellknown::SECRET_READER_CLUSTER_ROLE,
};

/// The whole page.
pub fn markdown() -> String {
    let mut page = String::from(
        "<!-- Generated from crates/api by `cargo run -p xtask -- gen`; do not edit. -->\n\n# Rights\n\n",
    );
    page.push_str(&format!(
        "What `deploy/rbac` and the Helm chart grant, and why. The operator runs as ServiceAccount `{NAMESPACE}/{SERVICE_ACCOUNT}`; it has these \
         rights and no others, and the tests run it under exactly these.\n"
    ));
    section(
        &mut page,
        "The operator, in the whole cluster",
        &format!("ClusterRole `{SERVICE_ACCOUNT}`. Nothing about Secrets is in it."),
        rbac::operator_rules(Scope::Cluster),
    );
    section(
        &mut page,
        "The operator, in its own namespace",
        &format!("Role `{NAMESPACE}/{SERVICE_ACCOUNT}`."),
        rbac::operator_rules(Scope::OwnNamespace),
    );
    let command = format!(
        "ClusterRole `{SECRET_READER_CLUSTER_ROLE}`, which only you bind. If a DNSProvider, a DNSZone or an AddressSource names a Secret \
         outside the operator's namespace, allow it there:\n\n    kubectl create rolebinding {SECRET_READER_CLUSTER_ROLE} --namespace \
         NAMESPACE --clusterrole {SECRET_READER_CLUSTER_ROLE} --serviceaccount {NAMESPACE}:{SERVICE_ACCOUNT}"
    );
    section(&mut page, "Secrets of other namespaces", &command, SECRET_READER.iter());
    section(
        &mut page,
        "People who look",
        &format!("ClusterRole `{VIEW_CLUSTER_ROLE}`, aggregated to `view`, `edit` and `admin`."),
        VIEW.iter(),
    );
    section(
        &mut page,
        "People who write",
        &format!(
            "ClusterRole `{EDIT_CLUSTER_ROLE}`, aggregated to `edit` and `admin`. DNSProviders stay with cluster administrators: \
             a change of one decides where its credentials are sent."
        ),
        EDIT.iter(),
    );
    page
}

fn section<'a>(page: &mut String, title: &str, about: &str, rules: impl Iterator<Item = &'a Rule>) {
    page.push_str(&format!(
        "\n## {title}\n\n{about}\n\n| Group | Resources | Verbs | Why |\n|---|---|---|---|\n"
    ));
    for rule in rules {
        let group = if rule.group.is_empty() { "core" } else { rule.group };
        let (resources, verbs) = (rule.resources.join(", "), rule.verbs.join(", "));
        page.push_str(&format!("| {group} | {resources} | {verbs} | {} |\n", rule.why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_rule_and_the_command_that_allows_secrets() {
        let page = markdown();
        for line in [
            "| coordination.k8s.io | leases | get, create, update | Elects the replica that leads, ",
            "| core | secrets | get, list, watch |",
            "    kubectl create rolebinding zonekeeper-secret-reader --namespace NAMESPACE --clusterrole",
        ] {
            assert!(page.contains(line), "{line}");
        }
    }
}
