{{/* Texts of the agent's config files by file name. They lie in one folder, so that a name is there once. */}}
{{- define "mainstay.agentTexts" -}}
{{- $texts := dict -}}
{{- $kinds := dict "rulePacks" .rulePacks "monitors.log" .monitors.log "monitors.plugin" .monitors.plugin "monitors.stats" .monitors.stats -}}
{{- range $kind, $given := $kinds -}}
{{- range $file, $text := $given.inline -}}
{{- if hasKey $texts $file -}}
{{- fail (printf "agent.%s.inline: %s is there twice; all texts lie in one folder: give it another name" $kind $file) -}}
{{- end -}}
{{- $_ := set $texts $file $text -}}
{{- end -}}
{{- end -}}
{{- toYaml $texts -}}
{{- end -}}

{{/* --flag=FILES: those that are named, then those whose text is given; nothing without any. Takes (list flag named given). */}}
{{- define "mainstay.filesFlag" -}}
{{- $files := index . 1 | default list -}}
{{- range $file, $_ := last . -}}
{{- $files = append $files (printf "/inline/%s" $file) -}}
{{- end -}}
{{- with $files -}}
- --{{ first $ }}={{ join "," . }}
{{- end -}}
{{- end -}}
