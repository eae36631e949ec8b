//! Objects as JSON, by kind, namespace and name.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams},
};
use serde_json::Value;

/// The name under which the tests apply; never the operator's.
const MANAGER: &str = "test";

/// Objects of a kind in a namespace; the namespace of kinds without one is not looked at.
pub fn api(client: Client, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let (group, version, is_namespaced) = match kind {
        "DNSProvider" => ("zonekeeper.dev", "v1alpha1", false),
        "DNSZone" | "RecordSet" | "AddressSource" => ("zonekeeper.dev", "v1alpha1", true),
        "Namespace" => ("", "v1", false),
        "ClusterRole" | "ClusterRoleBinding" => ("rbac.authorization.k8s.io", "v1", false),
        "Role" | "RoleBinding" => ("rbac.authorization.k8s.io", "v1", true),
        "Secret" | "ServiceAccount" | "Service" | "Pod" => ("", "v1", true),
        "Node" => ("", "v1", false),
        "EndpointSlice" => ("discovery.k8s.io", "v1", true),
        "Ingress" => ("networking.k8s.io", "v1", true),
        "Gateway" | "HTTPRoute" => ("gateway.networking.k8s.io", "v1beta1", true),
        "GRPCRoute" | "TLSRoute" | "TCPRoute" | "UDPRoute" | "ListenerSet" => {
            ("gateway.networking.k8s.io", "v1", true)
        }
        "DNSEndpoint" => ("externaldns.k8s.io", "v1alpha1", true),
        "Event" => ("events.k8s.io", "v1", true),
        "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding" => {
            ("admissionregistration.k8s.io", "v1", false)
        }
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1", false),
        other => panic!("where is {other}?"),
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match is_namespaced {
        true => Api::namespaced_with(client, namespace, &resource),
        false => Api::all_with(client, &resource),
    }
}

/// Applies an object as `kubectl apply --server-side` does.
pub async fn apply(client: Client, object: &Value) -> kube::Result<Value> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let api = api(client, text("/kind"), text("/metadata/namespace"));
    let parameters = PatchParams::apply(MANAGER).force();
    let applied = api.patch(text("/metadata/name"), &parameters, &Patch::Apply(object)).await?;
    Ok(json(&applied))
}

/// An object as the API server sends it.
pub fn json(object: &DynamicObject) -> Value {
    serde_json::to_value(object).expect("an object is JSON")
}
