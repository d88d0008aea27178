{{/* Annotations of what exists only while an uninstall runs; takes the weight. */}}
{{- define "mainstay.releaseHook" -}}
helm.sh/hook: pre-delete,post-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
