{{/* Labels by which pods are selected. Argument: dict "root" $ "component" NAME. */}}
{{- define "heatlite.selector" -}}
app.kubernetes.io/name: heatlite
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of all objects; the same argument. */}}
{{- define "heatlite.labels" -}}
{{ include "heatlite.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Arguments of every program: the file, and the values of `set`. Argument: $. */}}
{{- define "heatlite.options" -}}
- --config-file
- /etc/heatlite/config/heatlite.conf
{{- range .Values.set }}
- --set
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* What all pods have. Argument: $. */}}
{{- define "heatlite.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 8004
  runAsGroup: 8004
  fsGroup: 8004
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: config
    secret: {secretName: {{ .Values.configSecret | quote }}, defaultMode: 0440}
  - name: tmp
    emptyDir: {medium: Memory, sizeLimit: 64Mi}
{{- end }}

{{/* What all containers have. Argument: $. */}}
{{- define "heatlite.container" -}}
image: {{ printf "%s:%s" .Values.image.repository (toString .Values.image.tag) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: config, mountPath: /etc/heatlite/config, readOnly: true}
  - {name: tmp, mountPath: /tmp}
{{- end }}
