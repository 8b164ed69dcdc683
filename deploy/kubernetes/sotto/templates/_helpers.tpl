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

{{- /* Variables that say where a secret is, one for each of its keys: NAME_FILE for `name`. */}}
{{- define "sotto.secret-files" -}}
{{- range .names }}
- name: {{ . | upper | replace "-" "_" }}_FILE
  value: /run/secrets/sotto/{{ . }}
{{- end }}
{{- end }}

{{- define "sotto.features" -}}
- name: IMAGE_GENERATION
  value: {{ ternary "on" "off" .Values.features.imageGeneration | quote }}
- name: SPEECH_SYNTHESIS
  value: {{ ternary "on" "off" .Values.features.speechSynthesis | quote }}
{{- end }}

{{- define "sotto.environment" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "sotto.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "sotto.selector" . | nindent 6 }}
{{- end }}

{{- /* What control runs with, as the server and as the job that migrates. */}}
{{- define "sotto.control-environment" -}}
- name: CONTROL_ORIGIN
  value: {{ .Values.origins.control | quote }}
- name: CONFIDENTIAL_ORIGIN
  value: {{ .Values.origins.broker | quote }}
{{- include "sotto.secret-files" (dict "names" (list "database-url" "redis-url" "ticket-sealing-key" "settlement-mac-key" "account-ref-key" "session-secret")) }}
{{- end }}
