{{/* Controllers that run: those that are named, or the default ones, and those that an option brings. */}}
{{- define "signpost.controllers" -}}
{{- $names := .Values.controllers | default (list "dnsclass" "dnsrecord" "zone") }}
{{- if .Values.settings.piholeUrl }}{{- $names = append $names "ingress" }}{{- end }}
{{- if .Values.settings.piholeTargets }}{{- $names = append $names "ingress" }}{{- end }}
{{- uniq $names | toJson -}}
{{- end }}

{{/* Namespaces that are watched; with namespaced the release's own where none are named. */}}
{{- define "signpost.namespaces" -}}
{{- $own := ternary (list .Release.Namespace) list .Values.namespaced -}}
{{- .Values.namespaces | default $own | toJson -}}
{{- end }}

{{/* Namespaces of Secrets; with namespaced those that are watched where none are named. */}}
{{- define "signpost.secretNamespaces" -}}
{{- $watched := include "signpost.namespaces" . | fromJsonArray -}}
{{- .Values.secretNamespaces | default (ternary $watched list .Values.namespaced) | toJson -}}
{{- end }}
