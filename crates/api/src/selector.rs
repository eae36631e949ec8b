//! Which namespaces a grant is for, as in the Gateway API.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Namespaces, by rule.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(self.from == 'Selector') == has(self.selector)")
    .message("set selector together with from: Selector, and leave it out otherwise"))]
pub struct NamespaceSelection {
    /// `Same`: the object's own namespace, for a DNSProvider that of the credentials' Secret, else the operator's.
    /// `All`: every namespace. `Selector`: those that `selector` matches.
    #[serde(default)]
    pub from: NamespacesFrom,
    /// Labels of the namespaces; with `from: Selector` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// The rule by which namespaces are chosen.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum NamespacesFrom {
    /// The object's own namespace.
    #[default]
    Same,
    /// Every namespace.
    All,
    /// Namespaces with certain labels.
    Selector,
}
