{{/* The recovery sidecar, a container of the agent's pods. */}}
{{- define "mainstay.sidecar" -}}
{{- with .Values.sidecar -}}
- name: recovery
  {{- include "mainstay.containerImage" $ | nindent 2 }}
  command: [/usr/bin/mainstay-recovery]
  args:
    - --metrics-url=http://127.0.0.1:{{ $.Values.agent.metricsPort }}/metrics
    - --startup-delay={{ .startupDelay }}
    - --max-unhealthy={{ .maxUnhealthy }}
    - --log-format={{ $.Values.log.format }}
    - --log-level={{ $.Values.log.level }}
    {{- with .extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .counters }}
    - --counters
    {{- toYaml . | nindent 4 }}
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
