{{/* The recovery sidecar, a container of the agent's pods. */}}
{{- define "mainstay.sidecar" -}}
{{- with .Values.sidecar -}}
- name: recovery
  {{- include "mainstay.containerImage" $ | nindent 2 }}
  command: [/usr/bin/mainstay-recovery]
  {{- with .extraArgs }}
  args: {{- toYaml . | nindent 4 }}
  {{- end }}
  env:
    - name: NODE_NAME
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    - name: ENABLE_RECOVERY
      value: {{ .enableRecovery | quote }}
    {{- with .extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  resources: {{- toYaml .resources | nindent 4 }}
  securityContext: {{- include "mainstay.tightSecurityContext" $ | nindent 4 }}
{{- end }}
{{- end -}}
