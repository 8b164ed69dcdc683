{{- define "sotto.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}-{{ .plane }}
{{- end }}

{{- define "sotto.selector" -}}
app.kubernetes.io/name: sotto
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .plane }}
{{- end }}

{{- define "sotto.labels" -}}
{{ include "sotto.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "sotto.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "sotto.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "sotto.pod-security" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* The sotto.yaml of a plane. What only the other plane reads is left out, so that its change restarts only that one. */}}
{{- define "sotto.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if eq .plane "control" }}
{{- $config = omit $config "providers" "providers_file" }}
{{- else }}
{{- $config = omit $config "billing" "control" "limits" "mail" "models" "models_file" "sign_in" "sign_up" "webhooks" }}
{{- $_ := set $config.broker "attestation" (ternary "off" "configfs" (eq .Values.broker.confidential.kind "none")) }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{- /* The port of metrics of a plane. Empty: none are served. */}}
{{- define "sotto.metrics-port" -}}
{{- $port := get (get .Values.config .plane) "metrics_port" }}
{{- if and $port (ne (toString $port) "off") }}{{ $port }}{{ end }}
{{- end }}

{{- define "sotto.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "sotto.selector" . | nindent 6 }}
{{- end }}
