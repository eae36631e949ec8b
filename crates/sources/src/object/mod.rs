//! Kubernetes objects, as narrow as sources need them: unknown fields are ignored, whatever version is served.

pub mod core;
pub mod endpoint;
pub mod gateway;
pub mod workload;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use zonekeeper_api::SourceKind;
use zonekeeper_kernel::{holder::Holder, zone::Labels};

use crate::{BadField, template};

/// A kind that is published, or that publishing looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A kind that zones can list.
    Source(SourceKind),
    /// discovery.k8s.io EndpointSlice.
    EndpointSlice,
    /// Gateway API ListenerSet.
    ListenerSet,
    /// core Namespace.
    Namespace,
}

/// Which object: kind, namespace (empty for none) and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub kind: Kind,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// How much of an object is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// What sources read themselves.
    Narrow,
    /// Also what templates may ask for.
    Whole,
}

/// An object as sources see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// The kind.
    pub kind: Kind,
    /// What all kinds have.
    pub meta: Meta,
    /// What its kind has.
    pub body: Body,
    /// What templates see of it, where there is one.
    pub whole: Option<Arc<Value>>,
}

/// What all objects have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Meta {
    /// The name.
    pub name: String,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// The unique id.
    pub uid: String,
    /// The number of the spec.
    pub generation: i64,
    /// When it was created, in RFC 3339.
    pub creation_timestamp: String,
    /// When it was deleted; it stays until its finalizers are gone.
    pub deletion_timestamp: Option<String>,
    /// Labels.
    pub labels: Labels,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// What one kind of object has.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A Service.
    Service(core::Service),
    /// An Ingress.
    Ingress(core::Ingress),
    /// A Gateway.
    Gateway(gateway::Gateway),
    /// A route of any kind.
    Route(gateway::Route),
    /// A ListenerSet.
    ListenerSet(gateway::ListenerSet),
    /// A DNSEndpoint.
    DnsEndpoint(endpoint::DnsEndpoint),
    /// A Node.
    Node(workload::Node),
    /// A Pod.
    Pod(workload::Pod),
    /// An EndpointSlice.
    EndpointSlice(workload::EndpointSlice),
    /// A Namespace, of which only metadata matters.
    Namespace,
}

// === impl Kind ===

impl Kind {
    /// The kind as Kubernetes spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Source(kind) => kind.as_str(),
            Self::EndpointSlice => "EndpointSlice",
            Self::ListenerSet => "ListenerSet",
            Self::Namespace => "Namespace",
        }
    }
}

// === impl ObjectRef ===

impl ObjectRef {
    /// An object by its kind, namespace and name.
    pub fn new(kind: Kind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }

    /// Who asks, exactly as ExternalDNS writes it in its `external-dns/resource` label.
    pub fn holder(&self) -> Holder {
        let kind = match self.kind {
            Kind::Source(SourceKind::DnsEndpoint) => "crd".into(),
            kind => kind.as_str().to_ascii_lowercase(),
        };
        match self.namespace.as_str() {
            "" => Holder::cluster_wide(&kind, &self.name),
            namespace => Holder::new(&kind, namespace, &self.name),
        }
    }
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.namespace.as_str() {
            "" => write!(formatter, "{} {}", self.kind.as_str(), self.name),
            namespace => write!(formatter, "{} {namespace}/{}", self.kind.as_str(), self.name),
        }
    }
}

// === impl Object ===

impl Object {
    /// Reads an object of a kind from its JSON form; nulls count as absent.
    ///
    /// An error means that the object can't be understood, which is no evidence that it wants nothing.
    pub fn read(kind: Kind, mut json: Value, keep: Keep) -> Result<Self, BadField> {
        drop_nulls(&mut json);
        drop_bookkeeping(&mut json);
        let meta = match json.get("metadata") {
            Some(meta) => part::<Meta>("metadata", meta)?,
            None => Meta::default(),
        };
        let body = match kind {
            Kind::Source(SourceKind::Service) => Body::Service(part(kind.as_str(), &json)?),
            Kind::Source(SourceKind::Ingress) => Body::Ingress(part(kind.as_str(), &json)?),
            Kind::Source(SourceKind::Gateway) => Body::Gateway(part(kind.as_str(), &json)?),
            Kind::Source(
                SourceKind::HttpRoute
                | SourceKind::GrpcRoute
                | SourceKind::TlsRoute
                | SourceKind::TcpRoute
                | SourceKind::UdpRoute,
            ) => Body::Route(part(kind.as_str(), &json)?),
            Kind::Source(SourceKind::DnsEndpoint) => Body::DnsEndpoint(part(kind.as_str(), &json)?),
            Kind::Source(SourceKind::Node) => Body::Node(part(kind.as_str(), &json)?),
            Kind::Source(SourceKind::Pod) => Body::Pod(part(kind.as_str(), &json)?),
            Kind::EndpointSlice => Body::EndpointSlice(part(kind.as_str(), &json)?),
            Kind::ListenerSet => Body::ListenerSet(part(kind.as_str(), &json)?),
            Kind::Namespace => Body::Namespace,
        };
        let whole = (keep == Keep::Whole).then(|| Arc::new(template::visible(kind, &json)));
        Ok(Self { kind, meta, body, whole })
    }

    /// Which object this is.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef::new(self.kind, &self.meta.namespace, &self.meta.name)
    }

    /// Who asks.
    pub fn holder(&self) -> Holder {
        self.reference().holder()
    }
}

// === impl Meta ===

impl Meta {
    /// Sorts objects by age; without a cluster by namespace and name.
    pub fn age(&self) -> String {
        match (self.creation_timestamp.as_str(), self.uid.as_str()) {
            ("", "") => format!("{}/{}", self.namespace, self.name),
            (created, uid) => format!("{created} {uid}"),
        }
    }
}

fn part<T: DeserializeOwned>(field: &str, json: &Value) -> Result<T, BadField> {
    T::deserialize(json).map_err(|error| BadField::new(field, error))
}

/// What tools note about an object is often larger than the object.
fn drop_bookkeeping(json: &mut Value) {
    let Some(meta) = json.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    meta.remove("managedFields");
    if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

fn drop_nulls(json: &mut Value) {
    match json {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => {
            items.retain(|value| !value.is_null());
            items.iter_mut().for_each(drop_nulls);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
