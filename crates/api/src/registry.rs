//! How a provider's records remember whose they are.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::references::{EncryptionKeyReference, MarkerKeyReference};

/// How ownership is kept at the provider.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Registry {
    /// `Comment`: a marker in the record's comment (Cloudflare only, its default). `TXT`: ExternalDNS's TXT records
    /// (default elsewhere). `None`: only the status of RecordSets remembers (default for builtin).
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub registry_type: Option<RegistryType>,
    /// Who we are at the provider; default: the UID of the kube-system namespace. Two clusters that share a zone
    /// need different ones.
    #[serde(default, rename = "ownerID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r#"^[^\s",=]+$"#))]
    pub owner_id: Option<String>,
    /// The Secret with the key that signs markers, under `current`; `previous` still verifies. The operator creates
    /// it when no zone shows our owner id yet.
    #[serde(default)]
    pub marker_key_secret_ref: MarkerKeyReference,
    /// Settings of the TXT registry.
    #[serde(default)]
    pub txt: TxtRegistry,
    /// Owner ids that are now ours: ExternalDNS's, or our own from before the cluster was rebuilt. Their markers are
    /// trusted and rewritten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50), inner(length(min = 1, max = 253)))]
    pub take_over_from: Vec<String>,
}

/// `Comment`: a marker in the record's comment (Cloudflare only, its default). `TXT`: ExternalDNS's TXT records (default
/// elsewhere). `None`: only the status of RecordSets remembers (default for builtin).
// For an optional enum, kube puts this text in place of the field's.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryType {
    /// In the comment of each record.
    Comment,
    /// In TXT records beside the set, as ExternalDNS writes them.
    #[serde(rename = "TXT")]
    Txt,
    /// Nowhere at the provider.
    None,
}

/// Settings of the TXT registry; the same as ExternalDNS's flags of these names.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!(has(self.prefix) && self.prefix != '' && has(self.suffix) && self.suffix != '')")
    .message("set either prefix or suffix, not both"))]
pub struct TxtRegistry {
    /// Text before the marker's name; may contain `%{record_type}`. Excludes `suffix`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 200))]
    pub prefix: String,
    /// Text after the first label of the marker's name; may contain `%{record_type}`. Excludes `prefix`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 200))]
    pub suffix: String,
    /// What stands for `*` in the names of markers of wildcards.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub wildcard_replacement: String,
    /// Adds a signature to our markers; ExternalDNS skips it.
    #[serde(default)]
    pub signed: bool,
    /// The Secret with the AES key that encrypts markers as ExternalDNS does; absent: plain text.
    #[serde(
        default,
        deserialize_with = "EncryptionKeyReference::or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub encryption_key_secret_ref: Option<EncryptionKeyReference>,
}
