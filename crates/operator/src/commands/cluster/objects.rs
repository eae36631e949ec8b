//! The object that a command is about: found, read and changed with the rights of the person who asks.

use anyhow::{Context, anyhow, bail};
use clap::Args;
use k8s_openapi::NamespaceResourceScope;
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use zonekeeper_api::{AddressSource, DNSProvider, DNSZone, RecordSet, rbac};

use crate::commands::cluster::connect::{self, KubeconfigOptions};

/// The field manager of what people change by these commands.
const MANAGER: &str = "zonekeeper-cli";

/// Flags of commands on one object.
#[derive(Debug, Args)]
pub struct ObjectOptions {
    #[command(flatten)]
    kubeconfig: KubeconfigOptions,
    /// The namespace of the object; default: the kubeconfig context's, else `default`.
    #[arg(short, long)]
    namespace: Option<String>,
}

/// A kind of ours, as people name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Provider,
    Zone,
    RecordSet,
    AddressSource,
}

/// A cluster, and the namespace that is meant where a name has none.
pub struct Cluster {
    client: Client,
    namespace: String,
}

/// An object, by its kind and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub kind: Named,
    /// None for what lies in no namespace.
    pub namespace: Option<String>,
    pub name: String,
}

// === impl Named ===

impl Named {
    const ALL: [Self; 4] = [Self::Provider, Self::Zone, Self::RecordSet, Self::AddressSource];

    /// How the API server serves it.
    pub fn resource(self) -> ApiResource {
        match self {
            Self::Provider => ApiResource::erase::<DNSProvider>(&()),
            Self::Zone => ApiResource::erase::<DNSZone>(&()),
            Self::RecordSet => ApiResource::erase::<RecordSet>(&()),
            Self::AddressSource => ApiResource::erase::<AddressSource>(&()),
        }
    }

    fn short(self) -> &'static str {
        match self {
            Self::Provider => "zkp",
            Self::Zone => "zkz",
            Self::RecordSet => "rrset",
            Self::AddressSource => "zka",
        }
    }

    /// A kind as kubectl takes it: `dnszone`, `dnszones`, `DNSZone`, `zkz`, `dnszones.zonekeeper.dev`.
    fn parse(word: &str) -> Option<Self> {
        let word = word.to_lowercase();
        let word = word.strip_suffix(".zonekeeper.dev").unwrap_or(&word);
        Self::ALL.into_iter().find(|kind| {
            let resource = kind.resource();
            [&*resource.kind.to_lowercase(), &resource.plural, kind.short()].contains(&word)
        })
    }
}

// === impl ObjectOptions ===

impl ObjectOptions {
    /// The way to the cluster.
    pub async fn connect(&self) -> anyhow::Result<Cluster> {
        let config = self.kubeconfig.config().await?;
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        Ok(Cluster { client: connect::client(config)?, namespace })
    }
}

// === impl Cluster ===

impl Cluster {
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A DNSZone by `NAME` or `NAMESPACE/NAME`.
    pub fn zone(&self, text: &str) -> anyhow::Result<Reference> {
        self.reference(Named::Zone, text)
    }

    /// An object by `KIND/NAME` or `KIND/NAMESPACE/NAME`.
    pub fn object(&self, text: &str) -> anyhow::Result<Reference> {
        let Some((kind, name)) = text.split_once('/') else {
            bail!("{text:?} names no kind; write KIND/NAME, such as dnszone/example-com");
        };
        let kind = Named::parse(kind).with_context(|| {
            let kinds = Named::ALL.map(|kind| kind.resource().kind.to_lowercase());
            format!("there is no kind {kind:?}; use one of {}", kinds.join(", "))
        })?;
        self.reference(kind, name)
    }

    fn reference(&self, kind: Named, text: &str) -> anyhow::Result<Reference> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (namespace.to_owned(), name),
            None => (self.namespace.clone(), text),
        };
        if name.is_empty() || namespace.is_empty() || name.contains('/') {
            bail!("{text:?} is no name of an object; write NAME or NAMESPACE/NAME");
        }
        let namespace = (kind != Named::Provider).then_some(namespace);
        Ok(Reference { kind, namespace, name: name.to_owned() })
    }

    /// The object as it is.
    pub async fn get(&self, reference: &Reference) -> anyhow::Result<DynamicObject> {
        self.api(reference).get(&reference.name).await.map_err(|error| reference.explain(error, "get"))
    }

    /// The object as it is, as one of our kinds.
    pub async fn get_as<K>(&self, reference: &Reference) -> anyhow::Result<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        let namespace = reference.namespace.as_deref().unwrap_or(&self.namespace);
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        api.get(&reference.name).await.map_err(|error| reference.explain(error, "get"))
    }

    /// Merges a patch into the object.
    pub async fn patch(&self, reference: &Reference, patch: &Value) -> anyhow::Result<DynamicObject> {
        let parameters = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        let patched = self.api(reference).patch(&reference.name, &parameters, &Patch::Merge(patch)).await;
        patched.map_err(|error| reference.explain(error, "patch"))
    }

    /// Where objects of this kind are.
    pub fn api(&self, reference: &Reference) -> Api<DynamicObject> {
        let resource = reference.kind.resource();
        match &reference.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

// === impl Reference ===

impl Reference {
    /// What went wrong with this object, and what to do next.
    fn explain(&self, error: kube::Error, verb: &str) -> anyhow::Error {
        let code = match &error {
            kube::Error::Api(status) => status.code,
            _other => 0,
        };
        let resource = self.kind.resource();
        let place = self.namespace.as_ref().map(|namespace| format!(" in namespace {namespace}"));
        let place = place.unwrap_or_default();
        match code {
            404 => anyhow!(
                "{self} does not exist; `kubectl get {} --all-namespaces` lists those that do",
                resource.plural
            ),
            403 => {
                let role = match verb {
                    "get" => rbac::VIEW_CLUSTER_ROLE,
                    _write => rbac::EDIT_CLUSTER_ROLE,
                };
                anyhow!(
                    "you may not {verb} {}{place}; ask for the ClusterRole {role} there ({self})",
                    resource.plural
                )
            }
            _other => anyhow::Error::new(error).context(format!("{verb} {self}")),
        }
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = self.kind.resource().kind;
        match &self.namespace {
            Some(namespace) => write!(formatter, "{kind} {namespace}/{}", self.name),
            None => write!(formatter, "{kind} {}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_named_as_kubectl_takes_it() {
        for word in ["dnszone", "DNSZone", "dnszones", "zkz", "dnszones.zonekeeper.dev"] {
            assert_eq!(Named::parse(word), Some(Named::Zone), "{word}");
        }
        assert_eq!(Named::parse("rrset"), Some(Named::RecordSet));
        assert_eq!(Named::parse("service"), None);
    }
}
