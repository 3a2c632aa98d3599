import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const registrations = {
  'extensions:evaluator': { name: 'evaluator', version: '1.0.0', contributes: { prompts: [{ name: 'quality', userPrompt: 'x', supports: ['chat'] }] } },
  'extensions:deploy': { name: 'deploy', extensionType: 'theme', contributes: {} },
  'templates:b': { userPrompt: 'x', supports: ['codereview'] },
  'templates:a:one': 'x',
  'templates:broken': { userPrompt: '{{#if', syntax: 'handlebars' },
  'environs:vscode:rules': '"readability"',
  'environs:vscode:editor': '{"tab":2,"big":9007199254740993}',
  'environs:vscode:editor:font': '"mono"',
  'environs:model': '9007199254740993',
  'tools:translator:zh_en': { name: 'zh_en', type: 'restful', url: '/translate', supports: ['chat'], description: 'translates' }
}

const started = shared(suite => startService(suite, registrations))

describe('listings', () => {
  const listings = [
    ['/api/extensions', ['evaluator']],
    ['/api/extensions?type=all', ['deploy', 'evaluator']],
    ['/api/extensions?type=theme', ['deploy']],
    ['/api/extensions?supports=chat', ['evaluator']],
    ['/api/extensions?supports=completion', []],
    ['/api/prompts', ['a.one', 'b', 'broken', 'evaluator.quality']],
    ['/api/prompts?prefix=a.', ['a.one']],
    ['/api/prompts?prefix=a:', ['a.one']],
    ['/api/prompts?supports=codereview', ['b']],
    ['/api/prompts?after=b&limit=1', ['broken']],
    ['/api/environs', ['model', 'vscode.editor', 'vscode.editor.font', 'vscode.rules']],
    ['/api/environs?prefix=vscode.e', ['vscode.editor', 'vscode.editor.font']],
    ['/api/environs?after=vscode.editor.font', ['vscode.rules']],
    ['/api/tools', ['translator.zh_en']],
    ['/api/tools?supports=codereview', []]
  ] as const
  for (const [url, ids] of listings) {
    it(`GET ${url} gives ${JSON.stringify(ids)}`, async () => {
      const { get } = await started()
      const reply = await get(url)
      assert.equal(reply.status, 200)
      assert.deepEqual(reply.json, ids)
    })
  }

  it('names the next page in the Link header, and the pages give everything once', async () => {
    const { app } = await started()
    const seen: string[] = []
    let url: string | undefined = '/api/prompts?limit=3'
    while (url !== undefined) {
      const reply: Awaited<ReturnType<typeof app.inject>> = await app.inject(url)
      seen.push(...reply.json() as string[])
      url = /^<(.*)>; rel="next"$/.exec(String(reply.headers.link ?? ''))?.[1]
    }
    assert.deepEqual(seen, ['a.one', 'b', 'broken', 'evaluator.quality'])
  })

  const LONG = 'n'.repeat(2000)
  const pages = [
    ['/api/prompts', [LONG, `${LONG}o`, 'z']],
    ['/api/environs', ['a.\uff5e', 'a.\u{1f600}', LONG, `${LONG}o`, '\uff5e', '\u{1f600}']],
    ['/api/status/entries', [`shenma:tools:${LONG}`, `shenma:tools:${LONG}o`]]
  ] as const
  const startedWithPages = shared(suite => startService(suite, {
    ...Object.fromEntries(pages[0][1].map(id => [`templates:${id}`, 'x'])),
    ...Object.fromEntries(pages[1][1].map(id => [`environs:${id.replaceAll('.', ':')}`, '1'])),
    ...Object.fromEntries(pages[2][1].map(key => [key.slice('shenma:'.length), '{}']))
  }, { API_TOKENS: [tokenEntry('all', 'read'), tokenEntry('some', `read:environs=a.*|${LONG}|${LONG}o|\uff5e|\u{1f600}`)].join('\n') }))
  for (const [path, ids] of pages) {
    for (const token of ['all', 'some']) {
      it(`of ${path} give each long or odd name once, page by page, to a token that sees ${token}`, async () => {
        const { get } = await startedWithPages()
        const seen: unknown[] = []
        for (let url: string | undefined = `${path}?limit=1`; url !== undefined;) {
          const reply = await get(url, bearer(token))
          assert.equal(reply.status, 200, url)
          const row = reply.json[0]
          seen.push(row?.['key'] ?? row)
          url = /^<(.*)>; rel="next"$/.exec(String(reply.headers['link'] ?? ''))?.[1]
        }
        assert.deepEqual(seen, ids)
      })
    }
  }

  it('keeps a question mark of the query in the Link to the next page', async t => {
    const { app } = await startService(t, { 'templates:q?': 'a', 'templates:q?b': 'b' })
    const reply = await app.inject('/api/prompts?limit=1&prefix=q?')
    assert.equal(reply.headers.link, '</api/prompts?limit=1&prefix=q%3F&after=q%3F>; rel="next"')
  })

  it('marks an invalid prompt in the summaries', async () => {
    const { get } = await started()
    const reply = await get('/api/prompts?detail=true&prefix=broken')
    assert.equal(reply.json[0]?.['state'], 'invalid')
  })

  it('say of a prompt what its labels mean, and who made the version that is served', async t => {
    const { app, get } = await startService(t, registrations, { VERSIONS: 'http', API_TOKENS: tokenEntry('ann', 'admin') })
    const put = async (url: string, payload: object): Promise<void> => {
      const { statusCode, body } = await app.inject({ method: 'PUT', url, payload, headers: bearer('ann') })
      assert.ok(statusCode < 300, body)
    }
    for (const userPrompt of ['one', 'two']) await put('/api/prompts/fresh', { userPrompt })
    await put('/api/prompts/fresh/labels/production', { version: 1 })
    await put('/api/prompts/fresh/labels/canary', { version: [{ version: 2, weight: 10 }, { version: 1, weight: 90 }] })
    const { json } = await get('/api/prompts?detail=true&prefix=fresh&limit=1', bearer('ann'))
    const { by, version, labels } = json[0] as unknown as { readonly by: string, readonly version: number, readonly labels: readonly object[] }
    assert.deepEqual([by, version], ['ann', 2])
    assert.deepEqual(labels, [
      { label: 'production', version: 1, weight: 100, isLatest: false }, { label: 'canary', version: 2, weight: 10, isLatest: true }, { label: 'canary', version: 1, weight: 90, isLatest: false }
    ])
    await put('/api/prompts/fresh', { userPrompt: 'one' })
    const again = (await get('/api/prompts?detail=true&prefix=fresh&limit=1', bearer('ann'))).json[0] as unknown as { readonly labels: ReadonlyArray<{ readonly isLatest: boolean }> }
    assert.deepEqual(again.labels.map(({ isLatest }) => isLatest), [true, false, true])
  })

  const shown: ReadonlyArray<readonly [name: string, value: string, excerpt: object | undefined]> = [
    ['text', '"Northwind"', { type: 'string', excerpt: 'Northwind', length: 9 }],
    ['json', JSON.stringify('{"a":1}'), { type: 'string', excerpt: '{"a":1}', length: 7 }],
    ['big', '9007199254740993', { type: 'number', excerpt: '9007199254740993', length: 16 }],
    ['yes', 'true', { type: 'boolean', excerpt: 'true', length: 4 }],
    ['none', 'null', { type: 'null', excerpt: 'null', length: 4 }],
    ['list', '["a",{"b":1}]', { type: 'array', excerpt: '["a",{"b":1}]', length: 13 }],
    ['long', JSON.stringify(`${'x'.repeat(199)}\u{1f600}y`), { type: 'string', excerpt: 'x'.repeat(199), length: 202 }],
    ['api_token', '"hush"', { type: 'string', excerpt: '[secret]', length: 4 }],
    ['mail', '{"user":"ana","password":"hush"}', { type: 'object', excerpt: '[secret]', length: 32 }],
    ['below', '{"tab":2}', undefined]
  ]
  it('say of shared variables what their values are: the first 200 characters, and no secret', async t => {
    const { get } = await startService(t, Object.fromEntries([...shown.map(([name, value]) => [`environs:${name}`, value]), ['environs:below:font', '"mono"']]))
    const { json } = await get('/api/environs?detail=true')
    const rows = json as unknown as ReadonlyArray<{ readonly id: string, readonly value?: object, readonly users?: number }>
    for (const [name, , value] of shown) assert.deepEqual(rows.find(({ id }) => id === name)?.value, value, name)
    assert.deepEqual(rows.filter(row => row.users !== undefined), [])
  })

  const badQueries = ['/api/prompts?limit=0', '/api/prompts?limit=x', '/api/prompts?limit=10001', '/api/tools?detail=perhaps']
  for (const url of badQueries) {
    it(`GET ${url} answers 400 in the one shape`, async () => {
      const { get } = await started()
      const { status, json } = await get(url)
      assert.equal(status, 400)
      assert.equal(json['code'], 'REQUEST_INVALID')
      assert.match(String(json['message']), /query: (limit|detail) must be/)
    })
  }
})

describe('details', () => {
  it('shows an extension with its state and diagnostics', async () => {
    const { get } = await started()
    const { json } = await get('/api/extensions/evaluator')
    assert.equal(json['name'], 'evaluator')
    assert.equal(json['state'], 'active')
    assert.ok(Array.isArray(json['diagnostics']))
  })

  it('shows a prompt with its origin, syntax and revision', async () => {
    const { get } = await started()
    const { json } = await get('/api/prompts/evaluator.quality')
    assert.deepEqual([json['id'], json['origin'], json['prompt']?.['userPrompt']], ['evaluator.quality', 'extension', 'x'])
    assert.match(String(json['revision']), /^[\w-]{12}$/)
  })

  it('accepts : for . in an id', async () => {
    const { get } = await started()
    assert.equal((await get('/api/prompts/a:one')).json['id'], 'a.one')
  })

  it('answers 400 with the place for a prompt with a syntax error', async () => {
    const { get } = await started()
    const { status, json } = await get('/api/prompts/broken')
    assert.equal(status, 400)
    assert.equal(json['code'], 'TEMPLATE_SYNTAX')
    assert.equal(json['details']?.['diagnostics']?.[0]?.['line'], 1)
  })

  it('gives a shared variable as JSON, a string in quotes', async () => {
    const { app } = await started()
    assert.equal((await app.inject('/api/environs/vscode.rules')).body, '"readability"')
  })

  it('gives all digits of a large integer', async () => {
    const { app } = await started()
    assert.equal((await app.inject('/api/environs/model')).body, '9007199254740993')
  })

  it('gives everything below a path as one object, the deeper key merged in', async () => {
    const { app } = await started()
    assert.equal((await app.inject('/api/environs/vscode')).body, '{"editor":{"tab":2,"big":9007199254740993,"font":"mono"},"rules":"readability"}')
  })

  it('shows a tool with the function that it is in templates', async () => {
    const { get } = await started()
    const { json } = await get('/api/tools/translator.zh_en')
    assert.deepEqual([json['function'], json['url']], ['translator_zh_en', '/translate'])
  })

  const unknown = [
    ['/api/extensions/evaluatr', 'EXTENSION_NOT_FOUND', ['evaluator']],
    ['/api/prompts/evaluator.qualty', 'PROMPT_NOT_FOUND', ['evaluator.quality']],
    ['/api/environs/vscode.rule', 'ENVIRON_NOT_FOUND', ['vscode.rules']],
    ['/api/tools/translator.zhen', 'TOOL_NOT_FOUND', ['translator.zh_en']]
  ] as const
  for (const [url, code, near] of unknown) {
    it(`GET ${url} answers 404 ${code} with near matches`, async () => {
      const { get } = await started()
      const { status, json } = await get(url)
      assert.equal(status, 404)
      assert.equal(json['code'], code)
      assert.deepEqual(json['details']?.['near'], near)
    })
  }
})

describe('every reply', () => {
  it('carries the registry\'s revision and the request id', async () => {
    const { app } = await started()
    const reply = await app.inject({ url: '/api/prompts', headers: { 'x-request-id': 'abc-1' } })
    assert.match(String(reply.headers['x-registry-revision']), /^[\w-]{12}$/)
    assert.equal(reply.headers['x-request-id'], 'abc-1')
  })

  it('replaces a request id that a log cannot carry', async () => {
    const { app } = await started()
    const reply = await app.inject({ url: '/api/prompts', headers: { 'x-request-id': 'a b"c' } })
    assert.match(String(reply.headers['x-request-id']), /^[\da-f-]{36}$/)
  })

  it('of an unknown route has the one shape', async () => {
    const { get } = await started()
    const { status, json } = await get('/api/nothing?x=1')
    assert.equal(status, 404)
    assert.deepEqual(Object.keys(json).sort(), ['code', 'error', 'message', 'requestId', 'statusCode'])
    assert.equal(json['code'], 'ROUTE_NOT_FOUND')
  })
})
