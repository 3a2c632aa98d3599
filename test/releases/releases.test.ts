import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createMemoryStore, type MemoryStore } from '../helpers/memory-store.ts'
import { openReplica, type Replica } from '../helpers/replica.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

interface Opened extends Replica { readonly store: MemoryStore }

/** A replica over what is stored. */
async function open (t: TestContext, stored: Readonly<Record<string, unknown>> = {}, environment: Readonly<Record<string, string>> = {}): Promise<Opened> {
  const store = createMemoryStore(Object.entries(stored).map(([key, value]) => [`shenma:${key}`, JSON.stringify(value)]))
  const replica = await openReplica(store, environment)
  t.after(() => replica.close())
  return { ...replica, store }
}

const record = (labels: object, ...numbers: number[]): object => ({ next: 99, labels, moves: [], versions: numbers.map(n => ({ n, tag: `tag-${n}`, at: '2026-11-20T10:00:00Z', by: 'ana' })) })
const version = (entry: unknown): object => ({ entry })

/** A prompt with an older version under a label, beside what was published last. */
const LABELLED = { 'templates:a': 'latest', 'versions:a:1': version('first'), 'releases:a': record({ production: 1 }, 1) }

describe('A request', () => {
  it('gets the label that its id, or its query, says', async t => {
    const { render, call } = await open(t, LABELLED)
    assert.deepEqual([await render('a'), await render('a@production'), await render('a?label=production')], ['latest', 'first', 'first'])
    const { headers } = await call('POST', '/api/render/prompts/a@production', {})
    assert.deepEqual([headers['x-prompt-version'], headers['x-prompt-label']], ['1', 'production'])
  })

  it('gets the version that its id, or its query, says', async t => {
    const { render } = await open(t, LABELLED)
    assert.deepEqual([await render('a@1'), await render('a?version=1')], ['first', 'first'])
  })

  it('is refused when it says two that differ', async t => {
    const { call } = await open(t, LABELLED)
    for (const id of ['a@production?label=staging', 'a@1?version=2', 'a@1?label=production']) assert.equal((await call('POST', `/api/render/prompts/${id}`, {})).status, 400, id)
    assert.equal((await call('POST', '/api/render/prompts/a@1?version=1', {})).status, 200)
  })

  it('gets 404 for a label or a version that is not there, with the labels that are', async t => {
    const { render, call } = await open(t, LABELLED)
    assert.deepEqual([await render('a@nope'), await render('a@7'), await render('nope@production')], ['LABEL_NOT_FOUND', 'VERSION_NOT_FOUND', 'PROMPT_NOT_FOUND'])
    const { body } = await call('POST', '/api/render/prompts/a@nope', {})
    assert.deepEqual((body as { details: { labels: string[] } }).details.labels, ['production'])
  })

  it('gets no prompt whose id reads as its label or version, at no door; such an entry is rejected, and can be deleted', async t => {
    const hijack = { userPrompt: 'of that name' }
    const extension = { name: 'a', contributes: { prompts: [{ name: 'x@production', userPrompt: 'brought' }] } }
    const stored = { ...LABELLED, 'templates:a@production': hijack, 'templates:a@1': hijack, 'templates:b@7': hijack, 'templates:user': '{{> "a@production"}} {{> "a@1"}}', 'extensions:e': extension }
    const { render, call } = await open(t, stored, { LLM_BASE_URL: 'builtin:echo' })
    assert.deepEqual([await render('a@production'), await render('a@1'), await render('b@7'), await render('user')], ['first', 'first', 'PROMPT_NOT_FOUND', 'first first'])
    const { headers } = await call('POST', '/v1/chat/completions', { model: 'prompt:a@production' })
    assert.equal(headers['x-prompt-version'], '1')
    const { body } = await call('GET', '/api/status/entries')
    const rows = body as ReadonlyArray<{ key: string, state: string, diagnostics: ReadonlyArray<{ code: string }> }>
    assert.deepEqual(rows.filter(({ state }) => state === 'rejected').map(({ key, diagnostics }) => [key, diagnostics[0]?.code]), [
      ['shenma:extensions:e', 'KEY_INVALID'],
      ...['a@1', 'a@production', 'b@7'].map(id => [`shenma:templates:${id}`, 'KEY_INVALID'])
    ])
    assert.equal((await call('DELETE', '/api/prompts/a@production')).status, 204)
  })

  const refused: readonly [url: string, body: object][] = [
    ['/api/prompts/b@production', { userPrompt: 'x' }],
    ['/api/prompts/b%40production', { userPrompt: 'x' }],
    ['/api/prompts/a@1', { userPrompt: 'x' }],
    ['/api/extensions/e', { name: 'a', contributes: { prompts: [{ name: 'x@production', userPrompt: 'x' }] } }],
    ['/api/extensions/f', { name: 'a@production', contributes: { prompts: [{ name: 'x', userPrompt: 'x' }] } }]
  ]
  for (const [url, entry] of refused) {
    it(`publishes nothing that reads as a label or version: ${url}`, async t => {
      const { call } = await open(t, LABELLED)
      const { status, body } = await call('PUT', url, entry)
      assert.equal(status, 400)
      assert.match(JSON.stringify(body), /KEY_INVALID.*has an \\"@\\"/)
    })
  }

  it('gets the default label, and what was published last where a prompt does not have that', async t => {
    const { render, app } = await open(t, { ...LABELLED, 'templates:b': 'only latest' }, { DEFAULT_LABEL: 'production' })
    assert.deepEqual([await render('a'), await render('a@latest'), await render('b')], ['first', 'latest', 'only latest'])
    assert.match((await app.inject('/metrics')).body, /prompt_shell_label_fallbacks_total\{label="production"\} 1/)
  })

  it('gets the label of its token before the default one', async t => {
    const stored = { ...LABELLED, 'versions:a:2': version('second'), 'releases:a': record({ production: 1, staging: 2 }, 2, 1) }
    const { call } = await open(t, stored, { API_TOKENS: tokenEntry('ana', 'render:serve=staging'), DEFAULT_LABEL: 'production' })
    const { body } = await call('POST', '/api/render/prompts/a', {}, bearer('ana'))
    assert.equal((body as { rendered_prompt: string }).rendered_prompt, 'second')
  })

  it('runs a version on /v1', async t => {
    const { call } = await open(t, LABELLED, { LLM_BASE_URL: 'builtin:echo' })
    for (const body of [{ model: 'prompt:a@production' }, { model: 'prompt:a@1' }, { prompt: { id: 'a', version: '1' } }]) {
      const { status, headers, body: answer } = await call('POST', '/v1/chat/completions', body)
      assert.deepEqual([status, headers['x-prompt-version']], [200, '1'], JSON.stringify(answer))
      assert.match(JSON.stringify(answer), /first/)
    }
  })

  it('gets the same version of a weighted label for the same key, and is told its bucket', async t => {
    const stored = { ...LABELLED, 'versions:a:2': version('second'), 'releases:a': record({ trial: [{ version: 1, weight: 50 }, { version: 2, weight: 50 }] }, 2, 1) }
    const { call } = await open(t, stored)
    const get = async (user: string) => {
      const { body, headers } = await call('POST', '/api/render/prompts/a@trial?explain=true', { user })
      return [headers['x-prompt-version'], (body as { explain: { bucket: number, version: number } }).explain] as const
    }
    for (const user of ['ana', 'bob', 'cy', 'dan']) {
      const [one, explained] = await get(user)
      assert.equal((await get(user))[0], one)
      assert.equal(String(explained.bucket < 50 ? 2 : 1), one)
    }
  })
})

describe('A partial', () => {
  const stored = {
    'templates:outer': '{{> inner}}!',
    'templates:inner': 'new',
    'versions:outer:1': version('{{> inner}}.'),
    'versions:inner:1': version('old'),
    'releases:outer': record({ production: 1, staging: 1 }, 1),
    'releases:inner': record({ production: 1 }, 1)
  }

  it('is taken with the label of the prompt where it has that, else as it was published last', async t => {
    const { render } = await open(t, stored)
    assert.deepEqual([await render('outer'), await render('outer@production'), await render('outer@staging')], ['new!', 'old.', 'new.'])
  })

  it('that is edited does not change what a label serves', async t => {
    const { put, render } = await open(t, stored)
    await put('inner', 'newer')
    assert.deepEqual([await render('outer'), await render('outer@production')], ['newer!', 'old.'])
  })

  it('moves with its label', async t => {
    const { put, call, render } = await open(t, stored)
    await put('inner', 'newer')
    await call('PUT', '/api/prompts/inner/labels/production', { version: 'latest' })
    assert.equal(await render('outer@production'), 'newer.')
  })

  it('is pinned to a version or a label by its name', async t => {
    const { put, render, call } = await open(t, stored)
    assert.equal((await put('pinned', '{{> "inner@1"}} {{> "inner@production"}} {{> inner}}')).status, 201)
    assert.equal(await render('pinned'), 'old old new')
    const { body } = await call('POST', '/api/render/prompts/pinned?explain=true', {})
    assert.deepEqual([...new Set(JSON.stringify(body).match(/"partial":"[^"]*"/g))], ['"partial":"inner@1"', '"partial":"inner"'])
    await call('PUT', '/api/prompts/inner/labels/production', { version: 'latest' })
    assert.equal(await render('pinned'), 'old new new')
  })

  it('that pins what is not there is refused', async t => {
    const { put } = await open(t, stored)
    assert.equal((await put('pinned', '{{> "inner@7"}}')).status, 400)
  })

  it('is listed among the needs of a prompt that pins it', async t => {
    const { call } = await open(t, { ...stored, 'versions:inner:1': version('{{variables.old}}'), 'templates:pinned': '{{> "inner@1"}}' })
    const { body } = await call('GET', '/api/prompts/pinned/needs')
    assert.deepEqual((body as { variables: Array<{ path: string }> }).variables.map(({ path }) => path), ['variables.old'])
  })
})

describe('Used-by', () => {
  it('tells of a tool that only an old, served version needs', async t => {
    const tool = { url: 'http://127.0.0.1:1/x', method: 'GET', parameters: [{ name: 'q', type: 'string' }] }
    const { call } = await open(t, { 'tools:find': tool, 'templates:a': 'no tool', 'versions:a:1': version('{{find variables.q}}'), 'releases:a': record({ production: 1 }, 1) })
    const { body } = await call('GET', '/api/tools/find/used-by')
    assert.deepEqual(body, [{ id: 'a@production', direct: true, through: [], versions: [1] }])
  })

  it('tells of a tool that only a version needs which a prompt pins', async t => {
    const tool = { url: 'http://127.0.0.1:1/x', method: 'GET', parameters: [{ name: 'q', type: 'string' }] }
    const { call } = await open(t, { 'tools:find': tool, 'templates:outer': '{{> "inner@1"}}', 'templates:inner': 'no tool', 'versions:inner:1': version('{{find variables.q}}'), 'releases:inner': record({}, 1) })
    const { body } = await call('GET', '/api/tools/find/used-by')
    assert.deepEqual(body, [{ id: 'outer', direct: false, through: ['inner@1'] }])
  })

  it('tells of what an old version of a partial reads', async t => {
    const { call } = await open(t, {
      'environs:team:rules': 'be kind',
      'templates:outer': 'x',
      'templates:inner': 'x',
      'versions:outer:1': version('{{> inner}}'),
      'versions:inner:1': version('{{team.rules}}'),
      'releases:outer': record({ production: 1 }, 1),
      'releases:inner': record({ production: 1 }, 1)
    })
    const { body } = await call('GET', '/api/environs/team.rules/used-by')
    assert.deepEqual(body, [{ id: 'inner@production', direct: true, through: [], versions: [1] }, { id: 'outer@production', direct: false, through: ['inner@1'], versions: [1] }])
  })
})

describe('Used-by of a partial', () => {
  it('has the prompts that name its label or version, which cannot be rendered without it', async t => {
    const { call } = await open(t, {
      ...LABELLED,
      'templates:outer': '{{> "a@production"}}{{> "a@1"}}',
      'templates:around': '{{> outer}}',
      'templates:plain': '{{> a}}',
      'versions:plain:1': version('{{> "a@production"}}'),
      'releases:plain': record({ staging: 1 }, 1)
    })
    const { body } = await call('GET', '/api/prompts/a/used-by')
    assert.deepEqual(body, [
      { id: 'around', direct: false, through: ['outer'] },
      { id: 'outer', direct: true, through: [], pins: ['1', 'production'] },
      { id: 'plain', direct: true, through: [] },
      { id: 'plain@staging', direct: true, through: [], versions: [1], pins: ['production'] }
    ])
    await call('DELETE', '/api/prompts/a/labels/production')
    assert.equal((await call('POST', '/api/render/prompts/around', {})).status, 400)
  })
})

describe('The releases of a prompt', () => {
  it('say what each label meant before, past a move that took one back, and what holds where no label is said', async t => {
    const { call } = await open(t, { ...LABELLED, 'releases:a': record({}, 2, 1), 'versions:a:2': version('second') }, { DEFAULT_LABEL: 'production', PROTECTED_LABELS: 'production,live', VERSIONS: 'off' })
    const moved = async (label: string, to: number): Promise<unknown> => ((await call('PUT', `/api/prompts/a/labels/${label}`, { version: to })).body as { readonly before: unknown }).before
    assert.deepEqual(await moved('staging', 1), {})
    assert.deepEqual(await moved('staging', 2), { staging: 1 })
    assert.deepEqual(await moved('production', 2), { staging: 1 })
    assert.deepEqual(await moved('staging', 1), {})
    const { recorded, unlabelled, protected: guarded } = (await call('GET', '/api/prompts/a/versions')).body as { readonly recorded: boolean, readonly unlabelled: string, readonly protected: readonly string[] }
    assert.deepEqual([recorded, unlabelled, guarded], [false, 'production', ['production', 'live']])
  })
})

describe('A label', () => {
  it('is not moved to a version that could not run', async t => {
    const { call } = await open(t, { ...LABELLED, 'versions:a:2': version('{{gone}} {{> gone}}'), 'releases:a': record({}, 2, 1) })
    const { status, body } = await call('PUT', '/api/prompts/a/labels/production', { version: 2 })
    assert.deepEqual([status, (body as { code: string }).code], [400, 'ENTRY_INVALID'])
  })

  it('has weights that sum to 100', async t => {
    const { call } = await open(t, { ...LABELLED, 'versions:a:2': version('second'), 'releases:a': record({}, 2, 1) })
    const move = async (...weights: number[]) => (await call('PUT', '/api/prompts/a/labels/trial', { version: weights.map((weight, index) => ({ version: index + 1, weight })) })).status
    assert.deepEqual([await move(95, 4), await move(95, 5)], [400, 200])
  })

  it('is called by a name, and not latest', async t => {
    const { call } = await open(t, LABELLED)
    for (const label of ['latest', 'Production', '7', '__proto__']) assert.equal((await call('PUT', `/api/prompts/a/labels/${label}`, { version: 1 })).status, 400, label)
    assert.equal((await call('PUT', '/api/prompts/a/labels/constructor', { version: 1 })).status, 200)
  })

  it('that is protected is moved by admins and by tokens that say so', async t => {
    const tokens = [tokenEntry('writer', 'write'), tokenEntry('mover', 'write:labels=production'), tokenEntry('boss', 'admin')]
    const { call } = await open(t, LABELLED, { API_TOKENS: tokens.join('\n') })
    const move = async (name: string, label: string) => (await call('PUT', `/api/prompts/a/labels/${label}`, { version: 1 }, bearer(name))).status
    assert.deepEqual([await move('writer', 'production'), await move('writer', 'staging'), await move('mover', 'production'), await move('boss', 'production')], [403, 200, 200, 200])
  })

  it('is moved by tokens whose patterns allow the prompt', async t => {
    const { call } = await open(t, LABELLED, { API_TOKENS: tokenEntry('writer', 'write+read+render:prompts=team.*') })
    assert.equal((await call('PUT', '/api/prompts/a/labels/staging', { version: 1 }, bearer('writer'))).status, 403)
    assert.equal((await call('GET', '/api/prompts/a/versions', undefined, bearer('writer'))).status, 404)
    assert.equal((await call('POST', '/api/render/prompts/a@production', {}, bearer('writer'))).status, 404)
  })

  it('of an extension\'s prompt means what was served', async t => {
    const { call, render } = await open(t, { 'extensions:x': { name: 'x', contributes: { prompts: [{ name: 'hi', userPrompt: 'from the extension' }] } } })
    assert.equal((await call('PUT', '/api/prompts/x.hi/labels/production', { version: 'latest' })).status, 200)
    assert.equal(await render('x.hi@production'), 'from the extension')
  })
})

describe('Versions', () => {
  it('are kept to 50, and labelled ones beside them', async t => {
    const { put, call, store } = await open(t)
    await put('a', 'text 0')
    await call('PUT', '/api/prompts/a/labels/production', { version: 1 })
    for (let n = 1; n < 55; n++) await put('a', `text ${n}`)
    const { body } = await call('GET', '/api/prompts/a/versions')
    const numbers = (body as { versions: Array<{ n: number }> }).versions.map(({ n }) => n)
    assert.deepEqual([numbers.length, numbers[0], numbers.at(-2), numbers.at(-1)], [51, 55, 6, 1])
    assert.deepEqual(await store.has(['shenma:versions:a:1', 'shenma:versions:a:2', 'shenma:versions:a:5', 'shenma:versions:a:6']), [true, false, false, true])
  })

  it('are not recorded where that is off, but for those that a label is moved to', async t => {
    const { put, call, render } = await open(t, {}, { VERSIONS: 'off' })
    await put('a', 'first')
    assert.deepEqual((await call('GET', '/api/prompts/a/versions')).body, { versions: [], labels: {}, moves: [], before: {}, recorded: false, unlabelled: 'latest', protected: ['production'], looks: {} })
    await call('PUT', '/api/prompts/a/labels/production', { version: 'latest' })
    await put('a', 'second')
    assert.deepEqual([await render('a'), await render('a@production')], ['second', 'first'])
  })

  it('have the note and the source that a publisher gives', async t => {
    const { call } = await open(t)
    await call('PUT', '/api/prompts/a?note=shorter&source=git:8c2ae82', { userPrompt: 'x' })
    const { body } = await call('GET', '/api/prompts/a/versions/1')
    const { note, source, entry } = body as Record<string, unknown>
    assert.deepEqual([note, source, entry], ['shorter', 'git:8c2ae82', { userPrompt: 'x' }])
  })

  it('are forgotten by admins, unless a label means them', async t => {
    const { call, store } = await open(t, { ...LABELLED, 'versions:a:2': version('a secret'), 'releases:a': record({ production: 1 }, 2, 1) })
    assert.deepEqual([(await call('DELETE', '/api/prompts/a/versions/1')).status, (await call('DELETE', '/api/prompts/a/versions/2')).status], [409, 204])
    assert.deepEqual(await store.has(['shenma:versions:a:2']), [false])
  })

  it('are not written over by a record that cannot be read', async t => {
    const { put } = await open(t, { ...LABELLED, 'releases:a': 'broken' })
    const { status, body } = await put('a', 'new')
    assert.deepEqual([status, (body as { code: string }).code], [409, 'RELEASES_UNREADABLE'])
  })
})
