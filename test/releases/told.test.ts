import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { createMemoryStore } from '../helpers/memory-store.ts'
import { assertDocumented } from '../helpers/log-lines.ts'
import { openReplica, type Replica } from '../helpers/replica.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

interface Told extends Replica {
  /** The lines with a message so far, without what every line has. */
  lines (message: string): ReadonlyArray<Readonly<Record<string, unknown>>>
}

/** A replica with two versions of one prompt, of which a label means the first, and what it logs. */
async function open (t: TestContext, environment: Readonly<Record<string, string>> = {}): Promise<Told> {
  const versions = [2, 1].map(n => ({ n, tag: `tag-${n}`, at: '2026-11-20T10:00:00Z', by: 'ana' }))
  const store = createMemoryStore(Object.entries({
    'templates:a': 'latest',
    'versions:a:1': { entry: 'first' },
    'versions:a:2': { entry: 'second' },
    'releases:a': { next: 3, labels: { production: 1 }, moves: [], versions }
  }).map(([key, value]) => [`shenma:${key}`, JSON.stringify(value)]))
  const written: Array<Record<string, unknown>> = []
  const log = pino({ base: null, timestamp: false }, { write: line => { written.push(JSON.parse(line) as Record<string, unknown>) } })
  const replica = await openReplica(store, environment, log)
  t.after(() => replica.close())
  return { ...replica, lines: message => written.filter(({ msg }) => msg === message).map(({ level: _level, msg: _msg, requestId: _id, ...fields }) => fields) }
}

describe('A render', () => {
  it('is logged with the version and the label that were served', async t => {
    const { render, lines } = await open(t)
    await render('a@production')
    const [line] = lines('request')
    assert.deepEqual([line?.['prompt'], line?.['promptVersion'], line?.['promptLabel']], ['a', 1, 'production'])
    assertDocumented(lines('request'))
  })

  it('is counted by version', async t => {
    const { app, render } = await open(t)
    await render('a@production')
    assert.match((await app.inject('/metrics')).body, /prompt_shell_renders_total\{[^}]*prompt="a",[^}]*version="1"[^}]*\} 1/)
  })
})

describe('A write', () => {
  const tokens = { API_TOKENS: tokenEntry('boss', 'admin') }

  it('of a label is one line: what it meant, what it means, whose doing, and why', async t => {
    const { call, lines } = await open(t, tokens)
    await call('PUT', '/api/prompts/a/labels/production', { version: 2, note: 'works' }, bearer('boss'))
    assert.deepEqual(lines('audit'), [{ action: 'move label', kind: 'templates', id: 'a', label: 'production', from: 1, to: 2, note: 'works', by: 'boss' }])
    assertDocumented(lines('audit'))
  })

  it('of a prompt is one line', async t => {
    const { put, lines } = await open(t, tokens)
    await put('b', 'new', bearer('boss'))
    assert.deepEqual(lines('audit').map(({ action, kind, id, by }) => ({ action, kind, id, by })), [{ action: 'publish', kind: 'templates', id: 'b', by: 'boss' }])
  })

  it('that is refused is none', async t => {
    const { call, lines } = await open(t, tokens)
    assert.equal((await call('PUT', '/api/prompts/a/labels/production', { version: 7 }, bearer('boss'))).status, 404)
    assert.deepEqual(lines('audit'), [])
  })
})
