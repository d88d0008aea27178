{{- define "mainstay.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Of all objects: the release's name where it says mainstay already, else release-mainstay. */}}
{{- define "mainstay.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "mainstay.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "mainstay.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The helpers below take (list $ "component"). */}}
{{- define "mainstay.selector" -}}
app.kubernetes.io/name: {{ include "mainstay.name" (first .) }}
app.kubernetes.io/instance: {{ (first .).Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{- define "mainstay.labels" -}}
{{ include "mainstay.selector" . }}
app.kubernetes.io/version: {{ (first .).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (first .).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (first .).Chart.Name (first .).Chart.Version }}
{{- end -}}

{{- define "mainstay.serviceAccountName" -}}
{{- $account := (index (first .).Values (last .)).serviceAccount -}}
{{- $account.name | default (ternary (printf "%s-%s" (include "mainstay.fullname" (first .)) (last .)) "default" $account.create) -}}
{{- end -}}

{{- define "mainstay.serviceAccount" -}}
{{- $root := first . -}}
{{- $account := (index $root.Values (last .)).serviceAccount -}}
{{- if $account.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "mainstay.serviceAccountName" . }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "mainstay.labels" . | nindent 4 }}
  {{- with $account.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
{{- end -}}

{{- define "mainstay.image" -}}
{{- with .Values.image -}}
{{- with .registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- with .digest }}@{{ . }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* image and imagePullPolicy of a container. */}}
{{- define "mainstay.containerImage" -}}
image: {{ include "mainstay.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end -}}

{{/* For programs that only talk: no user 0, no capability, nothing to write to. */}}
{{- define "mainstay.tightSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* Binds a ClusterRole or Role to the component's account: (list $ component kind name). */}}
{{- define "mainstay.binding" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ index . 2 }}
  name: {{ index . 3 }}
subjects:
  - kind: ServiceAccount
    name: {{ include "mainstay.serviceAccountName" (list (first .) (index . 1)) }}
    namespace: {{ (first .).Release.Namespace }}
{{- end -}}

{{/* With tls.secretName: the flags, the mount and the volume of programs that serve. */}}
{{- define "mainstay.tlsArgs" -}}
{{- if .Values.tls.secretName }}
- --tls-cert-file=/tls/tls.crt
- --tls-private-key-file=/tls/tls.key
{{- end }}
{{- end -}}

{{- define "mainstay.tlsMount" -}}
{{- if .Values.tls.secretName }}
- {name: tls, mountPath: /tls, readOnly: true}
{{- end }}
{{- end -}}

{{- define "mainstay.tlsVolume" -}}
{{- with .Values.tls.secretName }}
- name: tls
  secret: {secretName: {{ . }}}
{{- end }}
{{- end -}}

{{/* Liveness and readiness of a container that serves /healthz; takes (list $ "port" "/path of readiness"). */}}
{{- define "mainstay.probes" -}}
{{- $scheme := ternary "HTTPS" "HTTP" (not (empty (first .).Values.tls.secretName)) -}}
livenessProbe:
  httpGet: {path: /healthz, port: {{ index . 1 }}, scheme: {{ $scheme }}}
  initialDelaySeconds: 5
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: {{ last . }}, port: {{ index . 1 }}, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end -}}
