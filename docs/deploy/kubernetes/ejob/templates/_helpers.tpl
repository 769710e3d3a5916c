{{/* Labels of an object. Arguments: the context and the component. */}}
{{- define "ejob.labels" -}}
{{ include "ejob.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}

{{- define "ejob.selector" -}}
app.kubernetes.io/name: ejob
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "ejob.image" -}}
image: {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{/* Settings of each pod: no rights, and no token of the cluster. */}}
{{- define "ejob.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  # The user may read mounted secrets, whose mode is 0440.
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "ejob.security" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Variables with the address of the registry and the files of its credentials. */}}
{{- define "ejob.registry" -}}
- name: EJOB_REGISTRY
  value: {{ .Values.registry.address | quote }}
{{- range $variable, $key := .Values.registry.files }}
- name: {{ $variable }}
  value: /run/secrets/registry/{{ $key }}
{{- end }}
{{- end }}

{{/* Volume of a secret. Arguments: the name of the volume and that of the secret. */}}
{{- define "ejob.secret" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 0440
{{- end }}

{{- define "ejob.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
