{{- define "thalweg.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "thalweg.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "thalweg.labels" -}}
{{ include "thalweg.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "thalweg.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "thalweg.name" .) -}}
{{- end -}}

{{- define "thalweg.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "thalweg.leaseName" -}}
{{- dig "lease" "name" "thalweg" .Values.settings -}}
{{- end -}}

{{- define "thalweg.leaseNamespace" -}}
{{- dig "lease" "namespace" "" .Values.settings | default .Release.Namespace -}}
{{- end -}}

{{- /* Not empty where Spark's executors are pods. */ -}}
{{- define "thalweg.executors" -}}
{{- $engine := dig "condense" "engine" "spark" .Values.settings -}}
{{- if and (eq $engine "spark") (hasPrefix "k8s://" (dig "condense" "spark_master" "" .Values.settings)) -}}
true
{{- end -}}
{{- end -}}

{{- /* Folders, never single files: only these follow a secret that is changed. A secret's name may
be too long for a volume, hence numbers. */ -}}
{{- define "thalweg.secretMounts" -}}
{{- range $number, $name := .Values.metricsSecrets }}
- {name: secret-{{ $number }}, mountPath: /etc/thalweg-secrets/{{ $name }}, readOnly: true}
{{- end }}
{{- end -}}

{{- define "thalweg.secretVolumes" -}}
{{- range $number, $name := .Values.metricsSecrets }}
- name: secret-{{ $number }}
  secret: {secretName: {{ $name | quote }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- /* The executors' pod runs where the operator's may, and as who it does. */ -}}
{{- define "thalweg.executorTemplate" -}}
{{- $pod := .Files.Get "files/executor.yaml" | fromYaml -}}
{{- $spec := pick .Values "nodeSelector" "tolerations" "imagePullSecrets" "priorityClassName" -}}
{{- $spec = set $spec "securityContext" .Values.podSecurityContext -}}
{{- /* Executors ask Prometheus themselves, so they need the same files at the same paths. */ -}}
{{- with .Values.metricsSecrets -}}
{{- $executor := index $pod.spec.containers 0 -}}
{{- $mounts := include "thalweg.secretMounts" $ | fromYamlArray -}}
{{- $_ := set $executor "volumeMounts" (concat $executor.volumeMounts $mounts) -}}
{{- $volumes := include "thalweg.secretVolumes" $ | fromYamlArray -}}
{{- $_ := set $pod.spec "volumes" (concat $pod.spec.volumes $volumes) -}}
{{- end -}}
{{- mergeOverwrite $pod (dict "spec" $spec) | toYaml -}}
{{- end -}}

{{- define "thalweg.port" -}}
{{- dig "serving" "port" 8080 .Values.settings -}}
{{- end -}}

{{- define "thalweg.proberSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-prober
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "thalweg.proberImage" -}}
{{- if .Values.prober.image.digest -}}
{{- printf "%s@%s" .Values.prober.image.repository .Values.prober.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.prober.image.repository (.Values.prober.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
