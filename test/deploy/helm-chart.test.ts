import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { loadConfig } from '../../src/config/config.ts'
import { hasHelm, renderChart, renderWithHelm, type Manifest, type Values } from '../helpers/helm-chart.ts'
import { checkManifest } from '../helpers/kubernetes-schemas.ts'

const CHART = 'deploy/helm/ai-prompt-shell'
const SMALLEST: Values = { env: { REDIS_URL: 'redis://redis:6379', AUTH: 'off' } }
const EVERYTHING: Values = {
  image: { repository: 'registry.example.com/ai-prompt-shell', tag: '1.2.3' },
  imagePullSecrets: [{ name: 'registry' }],
  env: { LLM_BASE_URL: 'https://api.example.com/v1', LLM_MODEL: 'a "model"', RENDER_TIMEOUT_MS: 1500, LLM_PROVIDERS_FILE: '/etc/models/models.yaml' },
  secretEnv: { REDIS_URL: { name: 'shell', key: 'redis' }, API_TOKENS: { name: 'shell', key: 'tokens' }, LLM_API_KEY: { name: 'shell', key: 'llm' }, TOOL_SECRET_CODE: { name: 'code', key: 'token' } },
  autoscaling: { enabled: false },
  replicas: 3,
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' }, tokenSecret: { name: 'shell', key: 'metrics' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  networkPolicy: {
    enabled: true,
    from: [{ namespaceSelector: { matchLabels: { team: 'ide' } } }],
    egress: [{ to: [{ podSelector: { matchLabels: { app: 'redis' } } }], ports: [{ port: 6379, protocol: 'TCP' }] }]
  },
  volumes: [{ name: 'models', configMap: { name: 'models' } }],
  volumeMounts: [{ name: 'models', mountPath: '/etc/models', readOnly: true }],
  podAnnotations: { note: 'true' },
  podLabels: { team: 'prompts' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] } }] } }
}

const CASES: ReadonlyArray<readonly [about: string, values: Values, kinds: readonly string[]]> = [
  ['the smallest release', SMALLEST, ['Deployment', 'HorizontalPodAutoscaler', 'PodDisruptionBudget', 'Service', 'ServiceAccount']],
  ['a release with everything', EVERYTHING, ['Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'PrometheusRule', 'Service', 'ServiceAccount', 'ServiceMonitor']],
  ['a release that scales by sessions, too', { ...SMALLEST, autoscaling: { targetDueSessions: 20, dueSessionsSelector: { job: 'shell' } } }, ['Deployment', 'HorizontalPodAutoscaler', 'PodDisruptionBudget', 'Service', 'ServiceAccount']],
  ['a policy of ingress only', { ...SMALLEST, networkPolicy: { enabled: true }, podDisruptionBudget: { enabled: false } }, ['Deployment', 'HorizontalPodAutoscaler', 'NetworkPolicy', 'Service', 'ServiceAccount']]
]

interface Probe { readonly httpGet: { readonly path: string } }

interface Container {
  readonly env: ReadonlyArray<{ readonly name: string, readonly value?: string, readonly valueFrom?: { readonly secretKeyRef: object } }>
  readonly securityContext: object
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
}

interface PodSpec { readonly terminationGracePeriodSeconds: number, readonly securityContext: object, readonly automountServiceAccountToken: boolean, readonly containers: readonly [Container] }

const skip = hasHelm() ? false : 'helm is not installed (go install helm.sh/helm/v3/cmd/helm@latest)'

describe('the Helm chart', () => {
  it('takes an image by its digest, in place of a tag', () => {
    const digest = `sha256:${'0a'.repeat(32)}`
    const imageWith = (image: Values) => {
      const deployment = renderChart(CHART, { ...SMALLEST, image: { repository: 'r.example.com/shell', ...image } }).find(({ kind }) => kind === 'Deployment')
      return (deployment as unknown as { readonly spec: { readonly template: { readonly spec: { readonly containers: ReadonlyArray<{ readonly image: string }> } } } }).spec.template.spec.containers[0]?.image
    }
    assert.equal(imageWith({ digest, tag: '1.2.3' }), `r.example.com/shell@${digest}`)
    assert.equal(imageWith({ tag: '1.2.3' }), 'r.example.com/shell:1.2.3')
    assert.throws(() => imageWith({ digest: 'latest' }))
  })

  for (const [about, values, kinds] of CASES) {
    it(`gives the objects of ${about}, each valid for its kind`, async () => {
      const manifests = renderChart(CHART, values)
      assert.deepEqual(manifests.map(({ kind }) => kind).sort(), kinds)
      for (const manifest of manifests) await assert.doesNotReject(checkManifest(manifest), manifest.kind)
    })

    it(`is rendered as Helm does: ${about}`, { skip }, () => {
      assert.deepEqual(byKind(renderChart(CHART, values)), byKind(renderWithHelm(CHART, values)))
    })
  }

  it('gives helm lint nothing to warn of', { skip }, () => {
    for (const [about, values] of CASES) {
      const { status, stdout, stderr } = spawnSync('helm', ['lint', '--strict', CHART, '--values', '-'], { input: JSON.stringify(values), encoding: 'utf8' })
      assert.equal(status, 0, `${about}: ${stdout}${stderr}`)
      assert.doesNotMatch(stdout, /\[(?:WARNING|ERROR)\]/, about)
    }
  })

  it('is checked by schemas that know a misspelt field', async () => {
    const deployment = manifestOf('Deployment', SMALLEST)
    await assert.rejects(checkManifest({ ...deployment, spec: { ...deployment['spec'] as object, replica: 1 } }), /unknown fields: \/spec\/replica$/)
    await assert.rejects(checkManifest({ ...deployment, spec: { ...deployment['spec'] as object, replicas: 'two' } }), /replicas must be integer/)
  })

  it('scales by the processor alone, or also by sessions that no replica has taken', () => {
    const metricsOf = (autoscaling: Values) => (manifestOf('HorizontalPodAutoscaler', { ...SMALLEST, autoscaling }) as unknown as { readonly spec: { readonly metrics: readonly object[] } }).spec.metrics
    const byProcessor = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } }
    assert.deepEqual(metricsOf({}), [byProcessor])
    const metric = { name: 'prompt_shell_sessions_due', selector: { matchLabels: { job: 'shell' } } }
    assert.deepEqual(metricsOf({ targetDueSessions: 20, dueSessionsSelector: { job: 'shell' } }), [byProcessor, { type: 'External', external: { metric, target: { type: 'AverageValue', averageValue: '20' } } }])
  })

  it('runs without root, without privileges and on a read-only file system', () => {
    const { securityContext, automountServiceAccountToken, containers: [container] } = podOf(SMALLEST)
    assert.deepEqual(securityContext, { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: { type: 'RuntimeDefault' } })
    assert.deepEqual(container.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
    assert.equal(automountServiceAccountToken, false)
  })

  it('asks for life and readiness where the service tells of them', () => {
    const { containers: [container] } = podOf(SMALLEST)
    const paths = ['startupProbe', 'livenessProbe', 'readinessProbe'] as const
    assert.deepEqual(paths.map(probe => container[probe].httpGet.path), ['/healthz', '/healthz', '/readyz'])
    const { paths: known } = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as { paths: object }
    for (const probe of paths) assert.ok(Object.hasOwn(known, container[probe].httpGet.path))
  })

  it('takes secrets by reference only', () => {
    const { containers: [{ env }] } = podOf(EVERYTHING)
    for (const [name, secretKeyRef] of Object.entries(EVERYTHING['secretEnv'] as Record<string, object>)) {
      assert.deepEqual(env.find(variable => variable.name === name), { name, valueFrom: { secretKeyRef } })
    }
    for (const name of ['API_TOKENS', 'LLM_API_KEY', 'TOOL_SECRET_CODE']) {
      assert.throws(() => renderChart(CHART, { env: { ...SMALLEST['env'] as object, [name]: 'in clear' } }), /property name must be valid/)
    }
  })

  it('lets the service be called by its names in the cluster, and by more that are given', () => {
    const hostsOf = (values: Values) => podOf(values).containers[0].env.filter(({ name }) => name === 'ALLOWED_HOSTS').map(({ value }) => value)
    const names = 'shell-ai-prompt-shell,shell-ai-prompt-shell.default,shell-ai-prompt-shell.default.svc,shell-ai-prompt-shell.default.svc.cluster.local'
    assert.deepEqual(hostsOf(SMALLEST), [names])
    assert.deepEqual(hostsOf({ env: { ...SMALLEST['env'] as object, ALLOWED_HOSTS: 'prompts.example.com' } }), [`${names},prompts.example.com`])
  })

  it('gives a stopping pod time to drain', () => {
    const { DRAIN_DELAY_MS: delay, DRAIN_TIMEOUT_MS: timeout } = loadConfig({ STORE_DIR: 'any' })
    const { terminationGracePeriodSeconds: grace, containers: [{ readinessProbe }] } = podOf(SMALLEST)
    assert.ok(grace * 1000 > delay + timeout, `${grace} s for ${delay} and ${timeout} ms`)
    assert.equal(readinessProbe.httpGet.path, '/readyz')
  })

  it('refuses what the service would not start with', () => {
    assert.throws(() => renderChart(CHART, { env: { REDIS_URL: 'redis://redis' } }), /secretEnv\.API_TOKENS: expected a Secret/)
    assert.doesNotThrow(() => renderChart(CHART, { env: { REDIS_URL: 'redis://redis', API_TOKENS_FILE: '/etc/tokens/tokens' } }))
    assert.throws(() => renderChart(CHART, { env: { REDIS_URL: 'redis://redis', API_TOKENS_FILE: '/etc/tokens/tokens', AUTH: 'off' } }), /expected one of them, got both/)
    assert.throws(() => renderChart(CHART, { env: { REDIS_URL: 'redis://redis', API_TOKENS_FILE: '/etc/tokens/tokens' }, secretEnv: { API_TOKENS: { name: 'a', key: 'b' } } }), /expected one of them, got both/)
    assert.throws(() => renderChart(CHART, { env: { AUTH: 'off' } }), /env\.REDIS_URL, secretEnv\.REDIS_URL or env\.STORE_DIR: expected one of them, got none/)
    assert.throws(() => renderChart(CHART, { ...SMALLEST, secretEnv: { API_TOKENS: { name: 'a', key: 'b' } } }), /expected one of them, got both/)
    assert.throws(() => renderChart(CHART, { ...SMALLEST, replica: 2 }), /must NOT have additional properties/)
  })
})

function manifestOf (kind: string, values: Values): Manifest {
  return renderChart(CHART, values).find(manifest => manifest.kind === kind) as Manifest
}

function podOf (values: Values): PodSpec {
  return (manifestOf('Deployment', values) as unknown as { spec: { template: { spec: PodSpec } } }).spec.template.spec
}

function byKind (manifests: readonly Manifest[]): Manifest[] {
  return manifests.toSorted((one, other) => one.kind < other.kind ? -1 : 1)
}
