{{- define "ai-prompt-shell.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "ai-prompt-shell.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ai-prompt-shell.labels" -}}
{{ include "ai-prompt-shell.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* The names of the service within the cluster, and more that the values give. */ -}}
{{- define "ai-prompt-shell.hosts" -}}
{{- $name := include "ai-prompt-shell.fullname" . -}}
{{- $inNamespace := printf "%s.%s" $name .Release.Namespace -}}
{{- printf "%s,%s,%s.svc,%s.svc.cluster.local" $name $inNamespace $inNamespace $inNamespace -}}
{{- with .Values.env.ALLOWED_HOSTS }},{{ . }}{{ end -}}
{{- end -}}

{{- /* The service refuses to start without these; a wrong release is told before it is installed. */ -}}
{{- define "ai-prompt-shell.check" -}}
{{- $tokens := or (hasKey .Values.secretEnv "API_TOKENS") (hasKey .Values.env "API_TOKENS_FILE") (hasKey .Values.env "AUTH_ISSUER") -}}
{{- if and (hasKey .Values.secretEnv "API_TOKENS") (hasKey .Values.env "API_TOKENS_FILE") -}}
{{- fail "secretEnv.API_TOKENS and env.API_TOKENS_FILE: expected one of them, got both" -}}
{{- end -}}
{{- if and (hasKey .Values.env "AUTH") $tokens -}}
{{- fail "env.AUTH and secretEnv.API_TOKENS, env.API_TOKENS_FILE or env.AUTH_ISSUER: expected one of them, got both" -}}
{{- end -}}
{{- if not (or (hasKey .Values.env "AUTH") $tokens) -}}
{{- fail "secretEnv.API_TOKENS: expected a Secret with the tokens, or env.API_TOKENS_FILE with a volume that has them, or env.AUTH_ISSUER, or env.AUTH: \"off\" to let in everyone who can reach the service" -}}
{{- end -}}
{{- if not (or (hasKey .Values.env "REDIS_URL") (hasKey .Values.secretEnv "REDIS_URL") (hasKey .Values.env "STORE_DIR")) -}}
{{- fail "env.REDIS_URL, secretEnv.REDIS_URL or env.STORE_DIR: expected one of them, got none" -}}
{{- end -}}
{{- end -}}
