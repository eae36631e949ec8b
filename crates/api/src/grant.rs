//! What other namespaces may ask of a zone, and which names it is limited to.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    safety::Adoption,
    selector::NamespaceSelection,
    shape::{DOMAIN_NAME, RECORD_TYPE},
};

/// A grant to other namespaces. The zone's own namespace always has all names and types.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AllowedRecords {
    /// The namespaces that it is for.
    pub namespaces: NamespaceSelection,
    /// Name patterns; `*` spans labels, and alone means all. Default: every name but the apex, wildcards,
    /// `_acme-challenge`, `_dmarc` and `_domainkey`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 255), regex(pattern = DOMAIN_NAME)))]
    pub names: Option<Vec<String>>,
    /// Record types. Default: A, AAAA, CNAME, TXT, SRV, HTTPS and SVCB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50), inner(length(max = 16), regex(pattern = RECORD_TYPE)))]
    pub types: Option<Vec<String>>,
    /// Whether values of several namespaces may form one set.
    #[serde(default)]
    pub share: bool,
    /// The most that an object from there gets, whatever it asks for: `Never`, `Identical` or `Force`. Source objects
    /// ask for `Identical`.
    #[serde(default = "never")]
    pub adoption: Adoption,
}

/// Limits on names.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct NameLimits {
    /// Name patterns that are ours to write; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 255), regex(pattern = DOMAIN_NAME)))]
    pub include: Vec<String>,
    /// Name patterns that are not, whatever `include` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 255), regex(pattern = DOMAIN_NAME)))]
    pub exclude: Vec<String>,
}

/// RecordSets that a zone takes by label.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RecordsFrom {
    /// Labels of the RecordSets.
    pub selector: LabelSelector,
}

fn never() -> Adoption {
    Adoption::Never
}
