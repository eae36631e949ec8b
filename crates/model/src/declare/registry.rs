//! How a DNSProvider remembers ownership.

use zonekeeper_api::{DNSProvider, RegistryType};
use zonekeeper_kernel::{
    holder::OwnerId,
    marker::{
        Form, Registry, comment::CommentForm, crypto::EncryptionKey, key::MarkerKeys, txt::TxtForm,
        txt_names::TxtNames,
    },
    name::Name,
};

use crate::declare::BadField;

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

/// How ownership is remembered at a provider.
#[derive(Debug, Clone)]
pub struct RegistrySettings {
    /// Whether all that is there is ours: its zones live inside this process.
    pub is_all_ours: bool,
    owner: Option<OwnerId>,
    take_over_from: Vec<OwnerId>,
    keys: MarkerKeys,
    form: Form,
}

/// Reads how a DNSProvider remembers ownership.
pub fn registry_settings(
    object: &DNSProvider,
    credentials: &dyn Credentials,
) -> Result<RegistrySettings, BadField> {
    let spec = &object.spec;
    let registry = &spec.registry;
    let is_builtin = spec.builtin.is_some();
    let registry_type = registry.registry_type.unwrap_or(match (is_builtin, &spec.cloudflare) {
        (true, _) => RegistryType::None,
        (false, Some(_)) => RegistryType::Comment,
        (false, None) => RegistryType::Txt,
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
    Ok(RegistrySettings {
        is_all_ours: is_builtin,
        owner: owner.map(|id| OwnerId::new(&id)),
        take_over_from: registry.take_over_from.iter().map(|id| OwnerId::new(id)).collect(),
        keys,
        form,
    })
}

// === impl RegistrySettings ===

impl RegistrySettings {
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
