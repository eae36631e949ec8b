//! What a document is: ours, a Secret or Namespace, a source object, a list of such, another project's, or ours with a mistake.

use zonekeeper_api::{API_VERSION, GROUP, SourceKind};
use zonekeeper_model::sources::kinds;
use zonekeeper_sources::object::Kind;

use crate::folder::schema::{KINDS, unknown_field};

/// How far a group may be from ours, in letters, and still be taken for a mistake.
const NEAR: usize = 2;
/// The same for one of our own kinds.
const NEAR_FOR_OUR_KIND: usize = 5;

/// What a document is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sort {
    /// One of our kinds.
    Ours(&'static str),
    Secret,
    Namespace,
    /// A kind that zones can publish, or that publishing looks at.
    Source(Kind),
    /// A list; its items may leave out what they are if the list says so.
    List(Option<Item>),
    /// Another project's.
    Other,
    /// Meant for us, and mistyped: which field, and what to do.
    Mistyped(&'static str, String),
}

/// What the items of a list are, by the list's own word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub version: String,
    pub kind: String,
}

/// What a document with this apiVersion and kind is.
pub fn sort_of(version: &str, kind: &str) -> Sort {
    let ours = KINDS.into_iter().find(|known| *known == kind);
    let listed = kind.strip_suffix("List").and_then(|item| KINDS.into_iter().find(|known| *known == item));
    let group = version.split_once('/').map_or("", |(group, _)| group);
    match (group, kind) {
        ("", "Secret") => Sort::Secret,
        ("", "Namespace") => Sort::Namespace,
        ("", "SecretList") => list_of("v1", "Secret"),
        ("", "NamespaceList") => list_of("v1", "Namespace"),
        (_, "List") if version == "v1" => Sort::List(None),
        (_, "List") => Sort::Mistyped("apiVersion", format!("{version:?} has no List; use v1")),
        (GROUP, _) if version != API_VERSION => {
            Sort::Mistyped("apiVersion", format!("{version:?} is not served; use {API_VERSION}"))
        }
        (GROUP, _) => match (ours, listed) {
            (Some(kind), _) => Sort::Ours(kind),
            (None, Some(item)) => list_of(API_VERSION, item),
            (None, None) => {
                Sort::Mistyped("kind", unknown_field(kind, KINDS.into_iter()).replace("field", "kind"))
            }
        },
        (_, _) if is_mistyped(version, group, ours.or(listed).is_some()) => {
            Sort::Mistyped("apiVersion", format!("{version:?} is not known; use {API_VERSION}"))
        }
        (_, _) => source_of(version, group, kind),
    }
}

fn list_of(version: &str, kind: &str) -> Sort {
    Sort::List(Some(Item { version: version.to_owned(), kind: kind.to_owned() }))
}

/// A source object, or a list of them; versions differ between servers, so the group decides.
fn source_of(version: &str, group: &str, kind: &str) -> Sort {
    let published = SourceKind::all().iter().map(|kind| Kind::Source(*kind));
    let mut kinds = published.chain([Kind::EndpointSlice, Kind::ListenerSet]);
    let found = kinds.find(|known| {
        kinds::row(*known).group == group && kind.strip_suffix("List").unwrap_or(kind) == known.as_str()
    });
    match found {
        Some(found) if found.as_str() == kind => Sort::Source(found),
        Some(found) => list_of(version, found.as_str()),
        None => Sort::Other,
    }
}

/// Whether an apiVersion was meant to be ours. Other projects have kinds of the same names: those of the core group
/// alone are certain to be a mistake.
fn is_mistyped(version: &str, group: &str, is_our_kind: bool) -> bool {
    let version = version.trim().to_lowercase();
    let distance = |text: &str, ours: &str| strsim::damerau_levenshtein(&text.trim().to_lowercase(), ours);
    let near = if is_our_kind { NEAR_FOR_OUR_KIND } else { NEAR };
    if group.is_empty() {
        return is_our_kind || distance(&version, GROUP) <= NEAR || distance(&version, API_VERSION) <= NEAR;
    }
    distance(group, GROUP) <= near || (is_our_kind && version.contains("zonekeeper"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_versions_of_ours_are_never_taken_for_somebody_elses() {
        let versions = [
            "zonekeeper.dev/v1alpha2",
            "zonekeeper.dev/v1",
            "zonekeeper.dev/v1alpha1/",
            "zonekeeper.dev/",
            "zonekeeper.dev",
            "zonekeeper.dev:v1alpha1",
            "zonekeper.dev/v1alpha1",
            "Zonekeeper.dev/v1alpha1",
            "zone-keeper.dev/v1alpha1",
            "zonekeeper.dve/v1alpha1",
            "zonekeeper.io/v1alpha1",
            "zonekeeper/v1alpha1",
            "dns.zonekeeper.dev/v1alpha1",
            " zonekeeper.dev/v1alpha1",
            "v1alpha1",
            "v1",
        ];
        for version in versions {
            for kind in KINDS {
                assert!(
                    matches!(sort_of(version, kind), Sort::Mistyped("apiVersion", _)),
                    "{version} {kind}"
                );
                let list = format!("{kind}List");
                assert!(
                    matches!(sort_of(version, &list), Sort::Mistyped("apiVersion", _)),
                    "{version} {list}"
                );
            }
        }
        for kind in ["Recordset", "recordset", "Record", "DNSZonelist", "Secret", "ConfigMap"] {
            assert!(matches!(sort_of(API_VERSION, kind), Sort::Mistyped("kind", _)), "{kind}");
        }
        assert!(matches!(sort_of("zonekeper.dev/v1alpha1", "Recordset"), Sort::Mistyped("apiVersion", _)));
        assert!(matches!(sort_of("zonekeeper.dev/v1alpha1", "List"), Sort::Mistyped("apiVersion", _)));
    }

    #[test]
    fn kinds_of_other_projects_are_theirs_even_under_our_names() {
        let others = [
            ("bindy.firestoned.io/v1alpha1", "DNSZone"),
            ("dns.gcp.upbound.io/v1beta1", "RecordSet"),
            ("cloudflare-operator.io/v1", "Zone"),
            ("timekeeper.dev/v1", "Clock"),
            ("apps/v1", "DeploymentList"),
            ("v1", "ConfigMap"),
        ];
        for (version, kind) in others {
            assert_eq!(sort_of(version, kind), Sort::Other, "{version} {kind}");
        }
        assert_eq!(sort_of("v1", "List"), Sort::List(None));
        assert_eq!(sort_of(API_VERSION, "RecordSetList"), list_of(API_VERSION, "RecordSet"));
    }

    #[test]
    fn source_objects_are_known_by_their_group() {
        let route = Kind::Source(SourceKind::HttpRoute);
        for (version, kind, is) in [
            ("v1", "Service", Sort::Source(Kind::Source(SourceKind::Service))),
            ("networking.k8s.io/v1", "Ingress", Sort::Source(Kind::Source(SourceKind::Ingress))),
            ("gateway.networking.k8s.io/v1beta1", "HTTPRoute", Sort::Source(route)),
            (
                "externaldns.k8s.io/v1alpha1",
                "DNSEndpoint",
                Sort::Source(Kind::Source(SourceKind::DnsEndpoint)),
            ),
            ("discovery.k8s.io/v1", "EndpointSlice", Sort::Source(Kind::EndpointSlice)),
            ("networking.k8s.io/v1", "IngressList", list_of("networking.k8s.io/v1", "Ingress")),
            ("networking.k8s.io/v1", "NetworkPolicy", Sort::Other),
            ("traefik.io/v1alpha1", "Ingress", Sort::Other),
            ("serving.knative.dev/v1", "Service", Sort::Other),
        ] {
            assert_eq!(sort_of(version, kind), is, "{version} {kind}");
        }
    }
}
