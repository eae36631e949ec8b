{{/* Generated from crates/api/src/rbac.rs by `make gen`; do not edit. */}}

{{- define "zonekeeper.rules.cluster" }}
{{- $kinds := .Values.sources.kinds }}
# Reads what people wish, and confirms by a fresh read that a holder is gone before its record goes.
- apiGroups: ["zonekeeper.dev"]
  resources:
  - dnsproviders
  - dnszones
  - recordsets
  - addresssources
  verbs: [get, list, watch]
# Sets and removes its finalizers.
- apiGroups: ["zonekeeper.dev"]
  resources:
  - dnsproviders
  - dnszones
  - recordsets
  verbs: [patch]
# Keeps the delegation of a DNSZone in its parent as RecordSets beside the DNSZone, if that asks for it; it deletes only those that it made.
- apiGroups: ["zonekeeper.dev"]
  resources:
  - recordsets
  verbs: [create, delete]
# Writes statuses by server-side apply.
- apiGroups: ["zonekeeper.dev"]
  resources:
  - dnsproviders/status
  - dnszones/status
  - recordsets/status
  - addresssources/status
  verbs: [patch]
# Judges grants by namespace labels, sees namespaces end, and takes kube-system's UID as the owner id.
- apiGroups: [""]
  resources:
  - namespaces
  verbs: [get, list, watch]
# Tells what happened to an object beside that object; patch counts a repeated Event.
- apiGroups: ["events.k8s.io"]
  resources:
  - events
  verbs: [create, patch]
{{- if or (has "Service" $kinds) (has "HTTPRoute" $kinds) (has "Gateway" $kinds) (has "GRPCRoute" $kinds) (has "TLSRoute" $kinds) (has "TCPRoute" $kinds) (has "UDPRoute" $kinds) (has "Node" $kinds) (has "Pod" $kinds) }}
# Publishes them where a DNSZone's sources list the kind; Nodes and Pods also where a Service needs their addresses.
- apiGroups: [""]
  resources:
  {{- if or (has "Service" $kinds) (has "HTTPRoute" $kinds) (has "Gateway" $kinds) (has "GRPCRoute" $kinds) (has "TLSRoute" $kinds) (has "TCPRoute" $kinds) (has "UDPRoute" $kinds) }}
  - services
  {{- end }}
  {{- if or (has "Service" $kinds) (has "Node" $kinds) (has "Pod" $kinds) }}
  - nodes
  {{- end }}
  {{- if or (has "Service" $kinds) (has "Pod" $kinds) }}
  - pods
  {{- end }}
  verbs: [get, list, watch]
{{- end }}
{{- if or (has "Service" $kinds) }}
# Finds the addresses behind a headless Service.
- apiGroups: ["discovery.k8s.io"]
  resources:
  - endpointslices
  verbs: [get, list, watch]
{{- end }}
{{- if or (has "Ingress" $kinds) }}
# Publishes them where a DNSZone's sources list the kind.
- apiGroups: ["networking.k8s.io"]
  resources:
  - ingresses
  verbs: [get, list, watch]
{{- end }}
{{- if or (has "HTTPRoute" $kinds) (has "Gateway" $kinds) (has "GRPCRoute" $kinds) (has "TLSRoute" $kinds) (has "TCPRoute" $kinds) (has "UDPRoute" $kinds) }}
# Publishes routes where a DNSZone's sources list the kind, at the addresses of their Gateways.
- apiGroups: ["gateway.networking.k8s.io"]
  resources:
  - gateways
  {{- if or (has "HTTPRoute" $kinds) (has "GRPCRoute" $kinds) (has "TLSRoute" $kinds) (has "TCPRoute" $kinds) (has "UDPRoute" $kinds) }}
  - listenersets
  {{- end }}
  {{- if or (has "HTTPRoute" $kinds) }}
  - httproutes
  {{- end }}
  {{- if or (has "GRPCRoute" $kinds) }}
  - grpcroutes
  {{- end }}
  {{- if or (has "TLSRoute" $kinds) }}
  - tlsroutes
  {{- end }}
  {{- if or (has "TCPRoute" $kinds) }}
  - tcproutes
  {{- end }}
  {{- if or (has "UDPRoute" $kinds) }}
  - udproutes
  {{- end }}
  verbs: [get, list, watch]
{{- end }}
# Tells deleted objects from those that go with their definition, whose records stay.
- apiGroups: ["apiextensions.k8s.io"]
  resources:
  - customresourcedefinitions
  verbs: [get]
{{- if or (has "DNSEndpoint" $kinds) }}
# Publishes them where a DNSZone's sources list the kind.
- apiGroups: ["externaldns.k8s.io"]
  resources:
  - dnsendpoints
  verbs: [get, list, watch]
{{- end }}
{{- if or (has "DNSEndpoint" $kinds) }}
# Says on a DNSEndpoint what became of it.
- apiGroups: ["externaldns.k8s.io"]
  resources:
  - dnsendpoints/status
  verbs: [patch]
{{- end }}
{{- end }}

{{- define "zonekeeper.rules.ownNamespace" }}
{{- $kinds := .Values.sources.kinds }}
# Follows the Secrets that our objects name, each by itself.
- apiGroups: [""]
  resources:
  - secrets
  verbs: [get, list, watch]
# Makes the marker key once; it never changes or deletes a Secret.
- apiGroups: [""]
  resources:
  - secrets
  verbs: [create]
# Elects the replica that leads, and says where `zonekeeper status` can ask it.
- apiGroups: ["coordination.k8s.io"]
  resources:
  - leases
  verbs: [get, create, update]
{{- end }}

{{- define "zonekeeper.rules.secretReader" }}
{{- $kinds := .Values.sources.kinds }}
# Credentials, marker keys and headers that are kept outside the operator's namespace.
- apiGroups: [""]
  resources:
  - secrets
  verbs: [get, list, watch]
{{- end }}

{{- define "zonekeeper.rules.view" }}
{{- $kinds := .Values.sources.kinds }}
# People see what is wished and what became of it; credentials are in Secrets, which this does not show.
- apiGroups: ["zonekeeper.dev"]
  resources:
  - dnsproviders
  - dnszones
  - recordsets
  - addresssources
  verbs: [get, list, watch]
{{- end }}

{{- define "zonekeeper.rules.edit" }}
{{- $kinds := .Values.sources.kinds }}
# People write records, and zones where a DNSProvider allows their namespace.
- apiGroups: ["zonekeeper.dev"]
  resources:
  - dnszones
  - recordsets
  - addresssources
  verbs: [create, update, patch, delete, deletecollection]
{{- end }}
