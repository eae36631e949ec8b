//! A DNSProvider in the terms of the crates below: which backend, which credentials, which registry.

use std::{net::SocketAddr, time::Duration};

use kube::ResourceExt;
use secrecy::SecretString;
use zonekeeper_api::{DNSProvider, RegistryType};
use zonekeeper_kernel::{
    holder::OwnerId,
    marker::{
        Form, Registry, comment::CommentForm, crypto::EncryptionKey, key::MarkerKeys, txt::TxtForm,
        txt_names::TxtNames,
    },
    name::Name,
};
use zonekeeper_providers::{
    builtin::TransferPeer,
    cloudflare::{self, budget::Rate},
    rfc2136,
};

use crate::declare::{self, BadField};

/// Where secrets come from.
pub trait Credentials {
    /// The bytes under a key of a Secret.
    fn secret(&self, namespace: Option<&str>, name: &str, key: &str) -> Option<Vec<u8>>;

    /// Whether there is such a Secret, whatever it holds.
    fn has_secret(&self, namespace: Option<&str>, name: &str) -> bool;

    /// A Cloudflare token from elsewhere, where no Secret holds one.
    fn fallback_token(&self) -> Option<String>;

    /// The owner id where the manifest names none.
    fn default_owner(&self) -> Option<String>;

    /// The marker key where no Secret holds one.
    fn default_marker_key(&self) -> Option<Vec<u8>>;

    /// Whether statuses of objects remember what is ours.
    fn has_statuses(&self) -> bool;
}

/// How to reach a provider, and how it remembers ownership.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// The object's name.
    pub name: String,
    /// How to reach it.
    pub backend: Backend,
    owner: Option<OwnerId>,
    take_over_from: Vec<OwnerId>,
    keys: MarkerKeys,
    form: Form,
}

/// How to reach a provider.
#[derive(Debug, Clone)]
pub enum Backend {
    /// Cloudflare.
    Cloudflare(cloudflare::Settings),
    /// Servers that take dynamic updates.
    Rfc2136(rfc2136::Settings),
    /// The server inside this process.
    Builtin {
        /// Where it listens.
        listen: SocketAddr,
        /// Who may transfer zones.
        allow_transfer: Vec<TransferPeer>,
    },
}

/// Reads a DNSProvider and its secrets.
pub fn provider_settings(
    object: &DNSProvider,
    credentials: &dyn Credentials,
) -> Result<ProviderSettings, BadField> {
    let spec = &object.spec;
    let backend = backend(object, credentials)?;
    let registry = &spec.registry;
    let is_builtin = matches!(backend, Backend::Builtin { .. });
    let registry_type = registry.registry_type.unwrap_or(match &backend {
        Backend::Cloudflare(_) => RegistryType::Comment,
        Backend::Rfc2136(_) => RegistryType::Txt,
        Backend::Builtin { .. } => RegistryType::None,
    });
    if registry_type == RegistryType::None && !is_builtin && !credentials.has_statuses() {
        let message =
            "None is refused without a cluster: nothing would remember what is ours; use Comment or TXT";
        return Err(BadField::new("spec.registry.type", message));
    }
    let owner = registry.owner_id.clone().filter(|id| !id.is_empty()).or_else(|| credentials.default_owner());
    if owner.is_none() && registry_type != RegistryType::None {
        let message = "is missing; choose an id for this folder and keep it in Git, or give --owner-id";
        return Err(BadField::new("spec.registry.ownerID", message));
    }
    let key_reference = &registry.marker_key_secret_ref;
    let key = |name: &str| {
        credentials
            .secret(key_reference.namespace.as_deref(), &key_reference.name, name)
            .map(|bytes| bytes.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(bytes))
    };
    let is_signed =
        registry_type == RegistryType::Comment || (registry_type == RegistryType::Txt && registry.txt.signed);
    let has_key = |key: &Option<Vec<u8>>| key.as_ref().is_some_and(|key| !key.is_empty());
    if is_signed
        && credentials.has_secret(key_reference.namespace.as_deref(), &key_reference.name)
        && !has_key(&key("current"))
    {
        // An empty key would sign what everybody can sign.
        let message = format!(
            "Secret {} has no key `current`, or an empty one; put the key there that signed the markers, or delete the Secret if there are none",
            key_reference.name
        );
        return Err(BadField::new("spec.registry.markerKeySecretRef", message));
    }
    let current = key("current").or_else(|| credentials.default_marker_key()).filter(|key| !key.is_empty());
    let previous = key("previous").filter(|key| !key.is_empty());
    let keys = MarkerKeys::new(current.as_deref(), previous.as_deref());
    if registry.txt.signed && !keys.is_set() && !credentials.has_statuses() {
        let message = "needs a marker key; add the Secret of markerKeySecretRef, or give --marker-key-file";
        return Err(BadField::new("spec.registry.txt.signed", message));
    }
    let form = match registry_type {
        RegistryType::Comment => Form::Comment(CommentForm { limit: 0 }),
        RegistryType::Txt => Form::Txt(txt_form(object, credentials)?),
        RegistryType::None => Form::None,
    };
    Ok(ProviderSettings {
        name: object.name_any(),
        backend,
        owner: owner.map(|id| OwnerId::new(&id)),
        take_over_from: registry.take_over_from.iter().map(|id| OwnerId::new(id)).collect(),
        keys,
        form,
    })
}

// === impl ProviderSettings ===

impl ProviderSettings {
    /// The registry of one zone there.
    pub fn registry(&self, domain: &Name, comment_limit: Option<usize>) -> Registry {
        let form = match &self.form {
            Form::Comment(_) => Form::Comment(CommentForm { limit: comment_limit.unwrap_or(100) }),
            other => other.clone(),
        };
        Registry {
            domain: domain.clone(),
            owner: self.owner.clone().unwrap_or_else(|| OwnerId::new("")),
            take_over_from: self.take_over_from.clone(),
            keys: self.keys.clone(),
            form,
        }
    }

    /// Our id there.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_ref().map(OwnerId::as_str)
    }

    /// Whether our own id is one that is taken over: its markers are trusted without their signature.
    pub fn takes_itself_over(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| self.take_over_from.contains(owner))
    }

    /// Whether markers there can't be read without a key, and there is none.
    pub fn lacks_key(&self) -> bool {
        let is_signed = match &self.form {
            Form::Comment(_) => true,
            Form::Txt(form) => form.signed,
            Form::None => false,
        };
        is_signed && !self.keys.is_set()
    }

    /// Whether zones there live inside this process.
    pub fn is_builtin(&self) -> bool {
        matches!(self.backend, Backend::Builtin { .. })
    }
}

fn backend(object: &DNSProvider, credentials: &dyn Credentials) -> Result<Backend, BadField> {
    let spec = &object.spec;
    if let Some(builtin) = &spec.builtin {
        let listen = builtin.listen.parse().map_err(|_| {
            BadField::new("spec.builtin.listen", format!("{:?} is no address:port", builtin.listen))
        })?;
        let peer = |(index, text): (usize, &String)| {
            text.parse::<TransferPeer>()
                .map_err(|error| BadField::new(format!("spec.builtin.allowTransfer[{index}]"), error))
        };
        let allow_transfer = builtin.allow_transfer.iter().enumerate().map(peer).collect::<Result<_, _>>()?;
        return Ok(Backend::Builtin { listen, allow_transfer });
    }
    if let Some(declared) = &spec.cloudflare {
        let reference = &declared.api_token_secret_ref;
        let from_secret =
            |key: &str| credentials.secret(reference.namespace.as_deref(), &reference.name, key);
        let token = from_secret(&reference.key)
            .or_else(|| if reference.key == "apiToken" { from_secret("apiKey") } else { None })
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .or_else(|| credentials.fallback_token());
        let Some(token) = token.filter(|token| !token.trim().is_empty()) else {
            let (name, key) = (&reference.name, &reference.key);
            let message = match credentials.has_statuses() {
                true => format!("Secret {name} has no key {key}; put the API token there"),
                false => format!(
                    "no Secret {name} with key {key} in the folder, and CLOUDFLARE_API_TOKEN is not set; do one of the two"
                ),
            };
            return Err(BadField::new("spec.cloudflare.apiTokenSecretRef", message));
        };
        let window = spec.rate_limit.window.to_std().unwrap_or(Duration::from_secs(300));
        return Ok(Backend::Cloudflare(cloudflare::Settings {
            base_url: declared.base_url.clone(),
            account: Some(declared.account_id.clone()).filter(|id| !id.is_empty()),
            rate: Rate { requests: spec.rate_limit.requests as usize, window },
            ..cloudflare::Settings::new(SecretString::from(token))
        }));
    }
    if let Some(declared) = &spec.rfc2136 {
        return Ok(Backend::Rfc2136(declare::rfc2136::settings(declared, credentials)?));
    }
    let message = "is not available in this version; use cloudflare, rfc2136 or builtin";
    Err(BadField::new("spec.webhook", message))
}

fn txt_form(object: &DNSProvider, credentials: &dyn Credentials) -> Result<TxtForm, BadField> {
    let txt = &object.spec.registry.txt;
    let names = TxtNames::new(&txt.prefix, &txt.suffix, &txt.wildcard_replacement)
        .map_err(|error| BadField::new("spec.registry.txt", error))?;
    let field = "spec.registry.txt.encryptionKeySecretRef";
    let encryption = match &txt.encryption_key_secret_ref {
        None => None,
        Some(reference) => {
            let key = credentials
                .secret(reference.namespace.as_deref(), &reference.name, &reference.key)
                .ok_or_else(|| {
                    BadField::new(field, format!("no Secret {} with key {}", reference.name, reference.key))
                })?;
            let key = if key.len() == 32 { &*key } else { key.trim_ascii_end() };
            Some(EncryptionKey::new(key).map_err(|error| BadField::new(field, error))?)
        }
    };
    Ok(TxtForm { names, signed: txt.signed, encryption })
}
