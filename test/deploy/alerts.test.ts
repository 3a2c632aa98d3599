import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, it } from 'node:test'
import { parse, stringify } from 'yaml'
import { renderChart } from '../helpers/helm-chart.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

// The rules that the chart and docker-compose.yml give to Prometheus.

interface Rule { readonly alert: string, readonly expr: string, readonly labels: { readonly severity: string }, readonly annotations: { readonly summary: string } }
interface Rules { readonly groups: ReadonlyArray<{ readonly rules: readonly Rule[] }> }

const FILE = 'deploy/helm/ai-prompt-shell/alerts.yaml'
const rules = (parse(readFileSync(FILE, 'utf8')) as Rules).groups.flatMap(group => group.rules)
const skip = spawnSync('promtool', ['--version']).status === 0 ? false : 'promtool is not installed (Debian: apt-get install prometheus)'

/** A series of infinities, for which Prometheus has no short notation. */
const INFINITE = Array.from({ length: 20 }, () => 'Inf').join(' ')

/** Series, in Prometheus' notation a minute apart, at which an alert is firing after 15 minutes and is not with the healthy ones. */
const CASES: ReadonlyArray<readonly [alert: string, firing: Readonly<Record<string, string>>, healthy: Readonly<Record<string, string>>]> = [
  ['PromptShellDown', { 'up{job="ai-prompt-shell"}': '0x20' }, { 'up{job="ai-prompt-shell"}': '1x20', 'up{job="other"}': '0x20' }],
  ['PromptShellNotReady', { prompt_shell_registry_age_seconds: INFINITE }, { prompt_shell_registry_age_seconds: '10x20' }],
  ['PromptShellStoreUnreachable', { prompt_shell_registry_store_connected: '0x20' }, { prompt_shell_registry_store_connected: '1x20' }],
  ['PromptShellChangesPolled', { prompt_shell_registry_changes_pushed: '0x20', prompt_shell_registry_store_connected: '1x20' }, { prompt_shell_registry_changes_pushed: '0x20', prompt_shell_registry_store_connected: '0x20' }],
  ['PromptShellRegistryOld', { prompt_shell_registry_age_seconds: '200x20' }, { prompt_shell_registry_age_seconds: INFINITE }],
  ['PromptShellKindHeld', { prompt_shell_registry_held_kinds: '1x20' }, { prompt_shell_registry_held_kinds: '0x20' }],
  ['PromptShellEntriesRejected', { 'prompt_shell_registry_rejected_entries{kind="tools"}': '0x10 1x10' }, { 'prompt_shell_registry_rejected_entries{kind="tools"}': '1x20' }],
  ['PromptShellLabelBroken', { 'prompt_shell_registry_rejected_entries{kind="releases"}': '1x20' }, { 'prompt_shell_registry_rejected_entries{kind="releases"}': '0x20', 'prompt_shell_registry_rejected_entries{kind="tools"}': '1x20' }],
  ['PromptShellLabelFallsBack', { 'prompt_shell_label_fallbacks_total{label="production"}': '0+1x20' }, { 'prompt_shell_label_fallbacks_total{label="production"}': '9x20' }],
  ['PromptShellErrors', ratio('prompt_shell_http_request_duration_seconds_count', 'status="503"', 2, 'status="200"', 98), ratio('prompt_shell_http_request_duration_seconds_count', 'status="404"', 50, 'status="200"', 50)],
  ['PromptShellRequestsRefused', { prompt_shell_http_requests_refused_total: '0+1x20' }, { prompt_shell_http_requests_refused_total: '7x20' }],
  ['PromptShellRendersSlow', histogram('prompt_shell_render_duration_seconds', 0.5), histogram('prompt_shell_render_duration_seconds', 0.1)],
  ['PromptShellToolFails', { 'prompt_shell_tool_failures_total{tool="a.b"}': '0+1x20' }, { 'prompt_shell_tool_failures_total{tool="a.b"}': '9x20' }],
  ['PromptShellModelFails', ratio('prompt_shell_model_call_duration_seconds_count', 'outcome="LLM_UPSTREAM"', 10, 'outcome="ok"', 90), ratio('prompt_shell_model_call_duration_seconds_count', 'outcome="LLM_UPSTREAM"', 1, 'outcome="ok"', 99)],
  ['PromptShellOverhead', histogram('prompt_shell_overhead_seconds', 0.5), histogram('prompt_shell_overhead_seconds', 0.05)],
  ['PromptShellEventLoopLate', { 'nodejs_eventloop_lag_p99_seconds{job="ai-prompt-shell"}': '0.2x20' }, { 'nodejs_eventloop_lag_p99_seconds{job="other"}': '0.2x20' }],
  ['PromptShellSessionsLeft', { prompt_shell_sessions_due_age_seconds: '0+60x20' }, { prompt_shell_sessions_due_age_seconds: '30x20' }],
  ['PromptShellApprovalOld', { prompt_shell_sessions_approval_age_seconds: '14000+60x20' }, { prompt_shell_sessions_approval_age_seconds: '3600x20' }],
  ['PromptShellSessionsTakenOver', { 'prompt_shell_sessions_taken_over_total{kind="agents"}': '0+5x20' }, { 'prompt_shell_sessions_taken_over_total{kind="agents"}': '0+0.5x20' }],
  ['PromptShellNoticesLost', { 'prompt_shell_notices_total{receiver="ops",outcome="dead"}': '0+1x20' }, { 'prompt_shell_notices_total{receiver="ops",outcome="dead"}': '7x20', 'prompt_shell_notices_total{receiver="ops",outcome="failed"}': '0+1x20' }],
  ['PromptShellMemory', { 'process_resident_memory_bytes{job="ai-prompt-shell"}': '900000000x20' }, { 'process_resident_memory_bytes{job="ai-prompt-shell"}': '300000000x20' }]
]

describe('the alerting rules', () => {
  it('are explained in docs/operations.md, each under its name and severity', () => {
    const rows = readFileSync('docs/operations.md', 'utf8').matchAll(/^- `(PromptShell\w+)` \((\w+)\): /gm)
    assert.deepEqual(Array.from(rows, ([, alert, severity]) => [alert, severity]), rules.map(({ alert, labels }) => [alert, labels.severity]))
  })

  it('ask for metrics that exist', () => {
    const known = readFileSync('docs/observability.md', 'utf8')
    for (const { alert, expr } of rules) {
      const metrics = Array.from(expr.matchAll(/\bprompt_shell_\w+/g), ([name]) => name.replace(/_(count|bucket)$/, ''))
      assert.deepEqual(metrics.filter(name => !known.includes(`\`${name}\``)), [], alert)
    }
  })

  it('are what the chart gives to the Prometheus operator', () => {
    const manifests = renderChart('deploy/helm/ai-prompt-shell', { env: { AUTH: 'off', STORE_DIR: 'x' }, prometheusRule: { enabled: true } })
    const { spec } = manifests.find(({ kind }) => kind === 'PrometheusRule') as unknown as { spec: Rules }
    assert.deepEqual(spec.groups.flatMap(group => group.rules), rules)
  })

  it('are each tried below', () => {
    assert.deepEqual(CASES.map(([alert]) => alert), rules.map(({ alert }) => alert))
  })

  it('fire when they should, and not otherwise, for promtool', { skip }, async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const tests = CASES.flatMap(([alertname, firing, healthy]) => [firingTest(alertname, firing, true), firingTest(alertname, healthy, false)])
    await folder.write('tests.yaml', stringify({ rule_files: [resolve(FILE)], evaluation_interval: '1m', tests }))
    execFileSync('promtool', ['check', 'rules', FILE])
    const { stdout, stderr, status } = spawnSync('promtool', ['test', 'rules', `${folder.path}/tests.yaml`], { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  })
})

/** A unit test of promtool. How often an alert fires is asked by `ALERTS`, which needs none of its labels. */
function firingTest (alertname: string, series: Readonly<Record<string, string>>, fires: boolean): object {
  return {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [{
      expr: `count(ALERTS{alertname="${alertname}", alertstate="firing"})`,
      eval_time: '15m',
      exp_samples: fires ? [{ labels: '{}', value: 1 }] : []
    }]
  }
}

/** Two counters that rise by so much a minute. */
function ratio (metric: string, bad: string, badRate: number, good: string, goodRate: number): Record<string, string> {
  return { [`${metric}{${bad}}`]: `0+${badRate}x20`, [`${metric}{${good}}`]: `0+${goodRate}x20` }
}

/** A histogram whose every measurement lies between the bucket below and this one. */
function histogram (metric: string, bucket: number): Record<string, string> {
  return { [`${metric}_bucket{le="${bucket / 2}"}`]: '0x20', [`${metric}_bucket{le="${bucket}"}`]: '0+60x20', [`${metric}_bucket{le="+Inf"}`]: '0+60x20' }
}
