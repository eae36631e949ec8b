//! Kubernetes objects that read as prose: `records("www.example.com", "A", &["192.0.2.1"]).with("ttl", 300)`.

use serde_json::{Map, Value, json};

/// A Kubernetes object; JSON is YAML too.
#[derive(Debug, Clone)]
pub struct Manifest(pub Value);

fn object(kind: &str, name: &str, spec: Value) -> Manifest {
    Manifest(json!({
        "apiVersion": "zonekeeper.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }))
}

/// A RecordSet that is called like its name and type: `www-example-com-a`.
pub fn records(name: &str, rtype: &str, values: &[&str]) -> Manifest {
    let called = format!("{}-{rtype}", name.replace('*', "any").replace(['.', '_'], "-")).to_lowercase();
    let spec = json!({"name": name, "type": rtype, "values": values});
    object("RecordSet", called.trim_start_matches('-'), spec)
}

/// A DNSZone that is called like its domain.
pub fn zone(domain: &str) -> Manifest {
    object("DNSZone", &domain.replace('.', "-"), json!({"domain": domain}))
}

/// A DNSProvider with Cloudflare at this address, as the owner `folder`.
pub fn provider(base_url: &str) -> Manifest {
    let cloudflare = json!({"baseURL": base_url, "apiTokenSecretRef": {"name": "cloudflare"}});
    object("DNSProvider", "cloudflare", json!({"cloudflare": cloudflare, "registry": {"ownerID": "folder"}}))
}

/// A DNSProvider inside the program, on a free port.
pub fn builtin() -> Manifest {
    object("DNSProvider", "builtin", json!({"builtin": {"listen": "127.0.0.1:0"}}))
}

pub fn address_source(name: &str, spec: Value) -> Manifest {
    object("AddressSource", name, spec)
}

pub fn secret(name: &str, key: &str, value: &str) -> Manifest {
    Manifest(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {key: value}}),
    )
}

pub fn namespace(name: &str, label: (&str, &str)) -> Manifest {
    let metadata = json!({"name": name, "labels": {label.0: label.1}});
    Manifest(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
}

impl Manifest {
    pub fn named(mut self, name: &str) -> Self {
        self.0["metadata"]["name"] = name.into();
        self
    }

    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.0["metadata"]["namespace"] = namespace.into();
        self
    }

    pub fn labelled(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["labels"][key] = value.into();
        self
    }

    pub fn annotated(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][key] = value.into();
        self
    }

    /// Sets a field of the spec by its path: `cloudflare.proxied`.
    pub fn with(mut self, path: &str, value: impl Into<Value>) -> Self {
        let mut at = &mut self.0["spec"];
        for step in path.split('.') {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[step];
        }
        *at = value.into();
        self
    }

    pub fn without(mut self, field: &str) -> Self {
        self.0["spec"].as_object_mut().expect("a spec").remove(field);
        self
    }
}
