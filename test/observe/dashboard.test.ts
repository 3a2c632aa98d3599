import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parseMetrics } from '../helpers/metrics.ts'
import { startService } from '../helpers/service.ts'

interface Panel { readonly title: string, readonly targets?: ReadonlyArray<{ readonly expr: string }> }

const dashboard = JSON.parse(readFileSync('deploy/grafana/ai-prompt-shell.json', 'utf8')) as { readonly panels: readonly Panel[] }
const described = Array.from(readFileSync('docs/observability.md', 'utf8').matchAll(/^- `(prompt_shell_\w+)` \((\w+)(?: by (.*?))?\): /gm), ([, name, type, labels = '']) => ({ name: name as string, type: type as string, labels }))

describe('deploy/grafana/ai-prompt-shell.json', () => {
  it('uses only metrics and labels that /metrics has', async t => {
    const { app } = await startService(t, {})
    const text = (await app.inject('/metrics')).body
    const declared = new Set(Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name as string))
    const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    assert.ok(queries.length > 20)
    for (const query of queries) {
      const names = Array.from(query.matchAll(/\b((?:prompt_shell|nodejs|process)_\w+)/g), ([, name]) => name as string)
      assert.ok(names.length > 0, query)
      for (const name of names) assert.ok(declared.has(name) || declared.has(name.replace(/_(bucket|sum|count)$/, '')), `${name} in ${query}`)
      checkLabels(query)
    }
  })

  it('shows every metric of the service', () => {
    const text = JSON.stringify(dashboard)
    assert.deepEqual(described.filter(({ name }) => !text.includes(name)).map(({ name }) => name), [])
  })
})

it('docs/observability.md has every metric that /metrics has', async t => {
  const { app } = await startService(t, {})
  const names = Array.from((await app.inject('/metrics')).body.matchAll(/^# TYPE (prompt_shell_\S+) (\w+)/gm), ([, name, type]) => [name, type])
  assert.deepEqual(names.sort(), described.map(({ name, type }) => [name, type]).sort())
  assert.ok(parseMetrics((await app.inject('/metrics')).body).length > 0)
})

/** Labels by which a query of our own metrics groups or selects. */
function checkLabels (query: string): void {
  const known = new Set(['le', 'job', 'instance', ...described.filter(({ name }) => query.includes(name)).flatMap(({ labels }) => Array.from(labels.matchAll(/`(\w+)`/g), ([, label]) => label as string))])
  const grouped = Array.from(query.matchAll(/by \(([^)]*)\)/g), ([, labels]) => (labels as string).split(/,\s*/)).flat()
  const selected = Array.from(query.matchAll(/([a-z]+)(?:=~|!=|=)"/g), ([, label]) => label as string)
  for (const label of [...grouped, ...selected]) assert.ok(known.has(label), `${label} in ${query}`)
}
