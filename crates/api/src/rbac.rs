//! The rights that the operator needs, in one list, and those of people; the chart's roles are made of them.

use crate::{GROUP, sources::SourceKind};

/// Where the manifests in `deploy` put the operator.
pub const NAMESPACE: &str = "zonekeeper-system";

/// The operator's ServiceAccount, and the name of the roles that it has.
pub const SERVICE_ACCOUNT: &str = "zonekeeper";

/// Where a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// In all namespaces, and for kinds that have none.
    Cluster,
    /// In the operator's own namespace.
    OwnNamespace,
}

/// What may be done with some resources, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The API group; empty is the core group.
    pub group: &'static str,
    /// Resources, with `/status` for the subresource.
    pub resources: &'static [&'static str],
    /// Verbs of the API.
    pub verbs: &'static [&'static str],
    /// Who needs it for what, in a sentence.
    pub why: &'static str,
}

const READ: &[&str] = &["get", "list", "watch"];

/// All that the operator may do. Secrets of other namespaces are not here: see [`SECRET_READER`].
pub const OPERATOR: &[(Scope, Rule)] = &[
    (
        Scope::Cluster,
        Rule {
            group: GROUP,
            resources: &["dnsproviders", "dnszones", "recordsets", "addresssources"],
            verbs: &["get", "list", "watch"],
            why: "Reads what people wish, and confirms by a fresh read that a holder is gone before its record goes.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: GROUP,
            resources: &["dnsproviders", "dnszones", "recordsets"],
            verbs: &["patch"],
            why: "Sets and removes its finalizers.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: GROUP,
            resources: &["recordsets"],
            verbs: &["create", "delete"],
            why: "Keeps the delegation of a DNSZone in its parent as RecordSets beside the DNSZone, if that asks for it; it deletes only those that it made.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: GROUP,
            resources: &[
                "dnsproviders/status",
                "dnszones/status",
                "recordsets/status",
                "addresssources/status",
            ],
            verbs: &["patch"],
            why: "Writes statuses by server-side apply.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: "",
            resources: &["namespaces"],
            verbs: &["get", "list", "watch"],
            why: "Judges grants by namespace labels, sees namespaces end, and takes kube-system's UID as the owner id.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: "events.k8s.io",
            resources: &["events"],
            verbs: &["create", "patch"],
            why: "Tells what happened to an object beside that object; patch counts a repeated Event.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: "",
            resources: &["services", "nodes", "pods"],
            verbs: READ,
            why: "Publishes them where a DNSZone's sources list the kind; Nodes and Pods also where a Service needs their addresses.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: "discovery.k8s.io",
            resources: &["endpointslices"],
            verbs: READ,
            why: "Finds the addresses behind a headless Service.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: "networking.k8s.io",
            resources: &["ingresses"],
            verbs: READ,
            why: "Publishes them where a DNSZone's sources list the kind.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: "gateway.networking.k8s.io",
            resources: &[
                "gateways",
                "listenersets",
                "httproutes",
                "grpcroutes",
                "tlsroutes",
                "tcproutes",
                "udproutes",
            ],
            verbs: READ,
            why: "Publishes routes where a DNSZone's sources list the kind, at the addresses of their Gateways.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: "apiextensions.k8s.io",
            resources: &["customresourcedefinitions"],
            verbs: &["get"],
            why: "Tells deleted objects from those that go with their definition, whose records stay.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: "externaldns.k8s.io",
            resources: &["dnsendpoints"],
            verbs: READ,
            why: "Publishes them where a DNSZone's sources list the kind.",
        },
    ),
    (
        Scope::Cluster,
        Rule {
            group: "externaldns.k8s.io",
            resources: &["dnsendpoints/status"],
            verbs: &["patch"],
            why: "Says on a DNSEndpoint what became of it.",
        },
    ),
    (
        Scope::OwnNamespace,
        Rule {
            group: "",
            resources: &["secrets"],
            verbs: &["get", "list", "watch"],
            why: "Follows the Secrets that our objects name, each by itself.",
        },
    ),
    (
        Scope::OwnNamespace,
        Rule {
            group: "",
            resources: &["secrets"],
            verbs: &["create"],
            why: "Makes the marker key once; it never changes or deletes a Secret.",
        },
    ),
    (
        Scope::OwnNamespace,
        Rule {
            group: "coordination.k8s.io",
            resources: &["leases"],
            verbs: &["get", "create", "update"],
            why: "Elects the replica that leads, and says where `zonekeeper status` can ask it.",
        },
    ),
];

/// What users bind in a namespace whose Secrets the operator is to read.
pub const SECRET_READER: &[Rule] = &[Rule {
    group: "",
    resources: &["secrets"],
    verbs: &["get", "list", "watch"],
    why: "Credentials, marker keys and headers that are kept outside the operator's namespace.",
}];

/// Joins Kubernetes's own roles `view`, `edit` and `admin`.
pub const VIEW: &[Rule] = &[Rule {
    group: GROUP,
    resources: &["dnsproviders", "dnszones", "recordsets", "addresssources"],
    verbs: &["get", "list", "watch"],
    why: "People see what is wished and what became of it; credentials are in Secrets, which this does not show.",
}];

/// Joins Kubernetes's own roles `edit` and `admin`. DNSProviders stay with cluster administrators: a change of one
/// decides where its credentials are sent.
pub const EDIT: &[Rule] = &[Rule {
    group: GROUP,
    resources: &["dnszones", "recordsets", "addresssources"],
    verbs: &["create", "update", "patch", "delete", "deletecollection"],
    why: "People write records, and zones where a DNSProvider allows their namespace.",
}];

/// The ClusterRole with [`VIEW`].
pub const VIEW_CLUSTER_ROLE: &str = "zonekeeper-view";

/// The ClusterRole with [`EDIT`].
pub const EDIT_CLUSTER_ROLE: &str = "zonekeeper-edit";

/// The operator's rules of one scope.
pub fn operator_rules(scope: Scope) -> impl Iterator<Item = &'static Rule> {
    OPERATOR.iter().filter(move |(at, _)| *at == scope).map(|(_, rule)| rule)
}

/// What a source kind needs: the kind itself, and where the addresses of its objects come from. Group and resource.
pub const fn resources_of(kind: SourceKind) -> &'static [(&'static str, &'static str)] {
    const GATEWAY_API: &str = "gateway.networking.k8s.io";
    match kind {
        SourceKind::Service => {
            &[("", "services"), ("", "nodes"), ("", "pods"), ("discovery.k8s.io", "endpointslices")]
        }
        SourceKind::Ingress => &[("networking.k8s.io", "ingresses")],
        // An address of a Gateway may be the name of a Service.
        SourceKind::Gateway => &[(GATEWAY_API, "gateways"), ("", "services")],
        SourceKind::HttpRoute => &[
            (GATEWAY_API, "httproutes"),
            (GATEWAY_API, "gateways"),
            (GATEWAY_API, "listenersets"),
            ("", "services"),
        ],
        SourceKind::GrpcRoute => &[
            (GATEWAY_API, "grpcroutes"),
            (GATEWAY_API, "gateways"),
            (GATEWAY_API, "listenersets"),
            ("", "services"),
        ],
        SourceKind::TlsRoute => &[
            (GATEWAY_API, "tlsroutes"),
            (GATEWAY_API, "gateways"),
            (GATEWAY_API, "listenersets"),
            ("", "services"),
        ],
        SourceKind::TcpRoute => &[
            (GATEWAY_API, "tcproutes"),
            (GATEWAY_API, "gateways"),
            (GATEWAY_API, "listenersets"),
            ("", "services"),
        ],
        SourceKind::UdpRoute => &[
            (GATEWAY_API, "udproutes"),
            (GATEWAY_API, "gateways"),
            (GATEWAY_API, "listenersets"),
            ("", "services"),
        ],
        SourceKind::DnsEndpoint => {
            &[("externaldns.k8s.io", "dnsendpoints"), ("externaldns.k8s.io", "dnsendpoints/status")]
        }
        SourceKind::Node => &[("", "nodes")],
        SourceKind::Pod => &[("", "pods"), ("", "nodes")],
    }
}

/// The source kinds that need a resource; none means that the operator always needs it.
pub fn kinds_that_need(group: &str, resource: &str) -> Vec<SourceKind> {
    let needs = |kind: &SourceKind| resources_of(*kind).contains(&(group, resource));
    SourceKind::all().iter().copied().filter(needs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = &'static Rule> {
        OPERATOR.iter().map(|(_, rule)| rule).chain(SECRET_READER).chain(VIEW).chain(EDIT)
    }

    #[test]
    fn nothing_about_secrets_holds_in_the_whole_cluster() {
        assert!(operator_rules(Scope::Cluster).all(|rule| !rule.resources.contains(&"secrets")));
    }

    #[test]
    fn no_rule_has_a_wildcard_and_each_says_why() {
        for rule in all() {
            assert!(!rule.group.contains('*'), "{rule:?}");
            assert!(rule.resources.iter().chain(rule.verbs).all(|word| !word.contains('*')), "{rule:?}");
            assert!(rule.why.ends_with('.'), "{rule:?}");
        }
    }

    #[test]
    fn the_operator_deletes_only_what_it_can_make() {
        for (_, rule) in OPERATOR.iter().filter(|(_, rule)| rule.verbs.contains(&"delete")) {
            assert_eq!((rule.resources, rule.verbs), (&["recordsets"][..], &["create", "delete"][..]));
        }
        for (_, rule) in OPERATOR {
            assert!(!rule.verbs.contains(&"deletecollection"), "{rule:?}");
        }
    }

    #[test]
    fn every_kind_of_ours_is_read_and_its_status_written() {
        for crd in crate::crds() {
            let plural = crd.spec.names.plural;
            let status = format!("{plural}/status");
            let has = |resource: &str, verb: &str| {
                operator_rules(Scope::Cluster)
                    .any(|rule| rule.resources.contains(&resource) && rule.verbs.contains(&verb))
            };
            assert!(has(&plural, "watch") && has(&status, "patch"), "{plural}");
        }
    }

    #[test]
    fn every_resource_that_a_source_kind_needs_is_granted() {
        for kind in SourceKind::all() {
            for (group, resource) in resources_of(*kind) {
                let grants = |rule: &Rule| rule.group == *group && rule.resources.contains(resource);
                assert!(operator_rules(Scope::Cluster).any(grants), "{}: {resource}", kind.as_str());
            }
        }
    }

    #[test]
    fn rights_follow_the_kinds_that_need_them() {
        let of = |group, resource| {
            kinds_that_need(group, resource).into_iter().map(SourceKind::as_str).collect::<Vec<_>>()
        };
        assert_eq!(of("", "pods"), ["Service", "Pod"]);
        assert_eq!(of("networking.k8s.io", "ingresses"), ["Ingress"]);
        assert_eq!(of(GROUP, "recordsets"), [""; 0]);
        assert_eq!(of("", "namespaces"), [""; 0]);
    }
}
