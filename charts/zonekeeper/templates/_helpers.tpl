{{- define "zonekeeper.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* All objects have this name, those without a namespace too: releases never meet. */}}
{{- define "zonekeeper.fullname" -}}
{{- $name := include "zonekeeper.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "zonekeeper.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "zonekeeper.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "zonekeeper.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "zonekeeper.selectorLabels" -}}
app.kubernetes.io/name: {{ include "zonekeeper.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "zonekeeper.labels" -}}
{{ include "zonekeeper.selectorLabels" . }}
{{ include "zonekeeper.aboutLabels" . }}
{{- end }}

{{- define "zonekeeper.aboutLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels and annotations of an object: dict "root" $ "labels" {} "annotations" {}. */}}
{{- define "zonekeeper.metadata" -}}
{{- $own := merge (dict) (.labels | default dict) (include "zonekeeper.labels" .root | fromYaml) -}}
labels:
  {{- toYaml $own | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "zonekeeper.image" -}}
{{- $name := ternary .Values.image.repository (printf "%s/%s" .Values.image.registry .Values.image.repository) (empty .Values.image.registry) }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $name .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $name (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Custom objects can only be made once the API server has their kinds; Helm looks before it installs anything. */}}
{{- define "zonekeeper.hasKinds" -}}
{{- if and (.Capabilities.APIVersions.Has "zonekeeper.dev/v1alpha1/DNSProvider") (.Capabilities.APIVersions.Has "zonekeeper.dev/v1alpha1/DNSZone") }}yes{{ end }}
{{- end }}

{{/* Metrics of this release, read by a ServiceMonitor or by a PodMonitor. */}}
{{- define "zonekeeper.job" -}}
job=~"(.*/)?{{ include "zonekeeper.fullname" . }}"
{{- end }}

{{/* Ports and addresses of the RFC 2136 servers in `providers`, as egress rules. */}}
{{- define "zonekeeper.serverRules" -}}
{{- $rules := list }}
{{- range $name, $spec := .Values.providers }}
{{- with $spec.rfc2136 }}
{{- $default := ternary "853" "53" (eq (default "TCP" .transport) "TLS") }}
{{- range .servers }}
{{- $port := $default }}
{{- $host := . }}
{{- if regexMatch "^\\[.*\\](:[0-9]+)?$" . }}
{{- $host = regexReplaceAll "^\\[(.*)\\].*$" . "${1}" }}
{{- $port = regexReplaceAll "^\\[.*\\]:?" . "" | default $default }}
{{- else if regexMatch "^[^:]+:[0-9]+$" . }}
{{- $host = regexReplaceAll ":[0-9]+$" . "" }}
{{- $port = regexReplaceAll "^.*:" . "" }}
{{- end }}
{{- $rule := dict "ports" (list (dict "protocol" "TCP" "port" (int $port))) }}
{{- if regexMatch "^[0-9.]+$" $host }}
{{- $_ := set $rule "to" (list (dict "ipBlock" (dict "cidr" (printf "%s/32" $host)))) }}
{{- else if contains ":" $host }}
{{- $_ := set $rule "to" (list (dict "ipBlock" (dict "cidr" (printf "%s/128" $host)))) }}
{{- end }}
{{- $rules = append $rules $rule }}
{{- end }}
{{- end }}
{{- end }}
{{- with uniq $rules }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* What both monitors say of their endpoint. */}}
{{- define "zonekeeper.endpoint" -}}
{{- $endpoint := dict }}
{{- range tuple "interval" "scrapeTimeout" "relabelings" "metricRelabelings" }}
{{- if index $ . }}
{{- $_ := set $endpoint . (index $ .) }}
{{- end }}
{{- end }}
{{- if $endpoint }}
{{- toYaml $endpoint }}
{{- end }}
{{- end }}
