{{/* Name of the objects in the release's namespace. */}}
{{- define "mooring.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if contains "mooring" $release -}}{{ $release | trunc 50 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-mooring" ($release | trunc 42 | trimSuffix "-") }}{{- end -}}
{{- end -}}
{{- end }}

{{/* Name of the objects without a namespace: unique in the cluster, because no namespace has a dot. */}}
{{- define "mooring.clusterName" -}}
{{- $name := include "mooring.fullname" . -}}
{{- if eq $name .Release.Namespace -}}{{ $name }}{{- else -}}{{ printf "%s.%s" $name .Release.Namespace }}{{- end -}}
{{- end }}

{{- define "mooring.selector" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/instance: {{ include "mooring.fullname" . }}
{{- end }}

{{- define "mooring.labels" -}}
{{ include "mooring.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* metadata of an object: include "mooring.metadata" (dict "root" . "name" ... "namespace" ... "labels" ... "annotations" ...) */}}
{{- define "mooring.metadata" -}}
name: {{ .name }}
{{- with .namespace }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "mooring.labels" .root | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (default (dict) .annotations) (default (dict) .root.Values.annotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "mooring.serviceAccount" -}}
{{- default (include "mooring.fullname" .) .Values.serviceAccount.name -}}
{{- end }}

{{/* User name of Mooring's account. */}}
{{- define "mooring.account" -}}
{{- printf "system:serviceaccount:%s:%s" .Release.Namespace (include "mooring.serviceAccount" .) -}}
{{- end }}

{{- define "mooring.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end }}

{{- define "mooring.tls" -}}
{{- if ne .Values.tls.mode "off" }}true{{ end -}}
{{- end }}

{{- define "mooring.tlsSecret" -}}
{{- default (printf "%s-tls" (include "mooring.fullname" .)) .Values.tls.secret -}}
{{- end }}

{{/* Names of the certificate, as a JSON list. */}}
{{- define "mooring.dnsNames" -}}
{{- $name := include "mooring.fullname" . -}}
{{- $service := printf "%s.%s" $name .Release.Namespace -}}
{{- $names := list (printf "%s.svc" $service) (printf "%s.svc.%s" $service .Values.tls.clusterDomain) $service $name "localhost" -}}
{{- concat $names .Values.tls.dnsNames | uniq | toJson -}}
{{- end }}

{{- define "mooring.url" -}}
{{- $tls := include "mooring.tls" . -}}
{{- $port := int .Values.service.port -}}
{{- $usual := ternary 443 80 (not (empty $tls)) -}}
{{- printf "%s://%s.%s.svc" (ternary "https" "http" (not (empty $tls))) (include "mooring.fullname" .) .Release.Namespace -}}
{{- if and $port (ne $port $usual) -}}{{ printf ":%d" $port }}{{- end -}}
{{- end }}

{{- define "mooring.priorityClass" -}}
{{- if .Values.priorityClass.name -}}{{ .Values.priorityClass.name }}
{{- else if .Values.priorityClass.create -}}{{ include "mooring.clusterName" . }}{{- end -}}
{{- end }}

{{- define "mooring.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ ternary "HTTPS" "HTTP" (not (empty (include "mooring.tls" .root))) }}
{{ toYaml .times }}
{{- end }}

{{/* Affinity of the pods, as JSON. */}}
{{- define "mooring.affinity" -}}
{{- $affinity := deepCopy .Values.affinity -}}
{{- if and (ne .Values.antiAffinity "none") (not (hasKey $affinity "podAntiAffinity")) -}}
{{- $selector := dict "matchLabels" (include "mooring.selector" . | fromYaml) -}}
{{- $term := dict "labelSelector" $selector "topologyKey" "kubernetes.io/hostname" -}}
{{- if eq .Values.antiAffinity "required" -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) -}}
{{- else -}}
{{- $weighed := dict "weight" 100 "podAffinityTerm" $term -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list $weighed)) -}}
{{- end -}}
{{- end -}}
{{- toJson $affinity -}}
{{- end }}

{{/* Placement of pods: of the replicas and of the hook. */}}
{{- define "mooring.placement" -}}
{{- $selector := merge (dict) .Values.nodeSelector -}}
{{- if .Values.nodePool -}}
{{- $_ := set $selector .Values.nodePoolLabel .Values.nodePool -}}
{{- end -}}
{{- with $selector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "mooring.priorityClass" . }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
