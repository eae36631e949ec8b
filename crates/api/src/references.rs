//! References from one object to another, each with the defaults of its place.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    shape::{NAMESPACE, OBJECT_NAME, SECRET_KEY},
    wellknown::{DEFAULT_MARKER_KEY_SECRET, SECRET_API_TOKEN, SECRET_ENCRYPTION_KEY},
};

/// The key of a Secret that holds a Cloudflare API token.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TokenSecretReference {
    /// Namespace of the Secret; default: the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE))]
    pub namespace: Option<String>,
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
    /// Key in the Secret; `apiKey` is read where `apiToken` is absent.
    #[serde(default = "api_token")]
    #[schemars(length(min = 1, max = 253), regex(pattern = SECRET_KEY))]
    pub key: String,
}

/// The key of a Secret that holds an AES key.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
// CEL reserves the word `namespace`; Kubernetes escapes it.
#[x_kube(validation = Rule::new("has(self.name) || !has(self.__namespace__)")
    .message("set the name of the Secret too, or leave the whole reference out"))]
pub struct EncryptionKeyReference {
    /// Namespace of the Secret; default: the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE))]
    pub namespace: Option<String>,
    /// Name of the Secret; `{}` in place of a reference means none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
    /// Key in the Secret: 32 bytes, raw or in base64.
    #[serde(default = "encryption_key")]
    #[schemars(length(min = 1, max = 253), regex(pattern = SECRET_KEY))]
    pub key: String,
}

/// A Secret, all of whose keys have fixed names.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
// CEL reserves the word `namespace`; Kubernetes escapes it.
#[x_kube(validation = Rule::new("has(self.name) || !has(self.__namespace__)")
    .message("set the name of the Secret too, or leave the whole reference out"))]
pub struct SecretReference {
    /// Namespace of the Secret; default: the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE))]
    pub namespace: Option<String>,
    /// Name of the Secret; `{}` in place of a reference means none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

/// The Secret with the key that signs markers: keys `current` and `previous`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct MarkerKeyReference {
    /// Namespace of the Secret; default: the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE))]
    pub namespace: Option<String>,
    /// Name of the Secret.
    #[serde(default = "marker_key")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

/// A Secret in the same namespace.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LocalSecretReference {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

/// The provider of a zone.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ProviderReference {
    /// Kind of the provider.
    #[serde(default)]
    pub kind: ProviderKind,
    /// Name of the provider; default: the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: Option<String>,
}

/// Kinds that a zone can name as its provider.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProviderKind {
    /// The only kind so far.
    #[default]
    DNSProvider,
}

/// A DNSZone.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub struct ZoneReference {
    /// Namespace of the DNSZone; default: the object's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE))]
    pub namespace: Option<String>,
    /// Name of the DNSZone.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

/// An AddressSource.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub struct AddressSourceReference {
    /// Name of the AddressSource.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
    /// Namespace of the AddressSource; default: the object's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE))]
    pub namespace: Option<String>,
}

// === impl SecretReference ===

impl SecretReference {
    /// Reads an optional reference; one without a name is none.
    pub(crate) fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(Option::<Self>::deserialize(deserializer)?.filter(|reference| !reference.name.is_empty()))
    }
}

// === impl EncryptionKeyReference ===

impl EncryptionKeyReference {
    /// Reads an optional reference; one without a name is none.
    pub(crate) fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(Option::<Self>::deserialize(deserializer)?.filter(|reference| !reference.name.is_empty()))
    }
}

// === impl MarkerKeyReference ===

impl Default for MarkerKeyReference {
    fn default() -> Self {
        Self { namespace: None, name: marker_key() }
    }
}

fn api_token() -> String {
    SECRET_API_TOKEN.into()
}

fn encryption_key() -> String {
    SECRET_ENCRYPTION_KEY.into()
}

fn marker_key() -> String {
    DEFAULT_MARKER_KEY_SECRET.into()
}
