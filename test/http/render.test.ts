import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readDotprompt } from '../../src/store/read-dotprompt.ts'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

const registrations = {
  'environs:vscode:rules': '"readability, tests"',
  'environs:vscode:frameworks': '["gin","gorm"]',
  'environs:codebase:current_project': { name: 'payments' },
  'templates:greet': { userPrompt: 'Hello {{variables.name}}!', parameters: [{ name: 'name', type: 'string' }, { name: 'tone', type: 'string', default: 'kind' }] },
  'templates:go': '{{if .variables.loud}}HELLO{{else}}hello{{end}} {{range $i, $f := .vscode.frameworks}}{{if $i}}, {{end}}{{$f}}{{end}}',
  'templates:both': [{ role: 'system', content: 'Rules: {{vscode.rules}}' }, { role: 'user', name: 'ada', content: '{{> part variables.x}}' }],
  'templates:part': { userPrompt: '[{{.a}} for {{.vscode.rules}}]', syntax: 'go' },
  'templates:cut': { userPrompt: '{{slice .variables.name 0 5}}{{slice .variables.name 0 3}}{{slice .variables.name 3}}', syntax: 'go' },
  'templates:bare': 'a {{one}} b {{variables.two}}',
  'templates:index': { userPrompt: '{{index .variables.list 5}}', syntax: 'go' },
  'templates:pairs': '{{#each variables.from}}{{#each @root.variables.to}}{{../this}} to {{this}}; {{/each}}{{/each}}',
  'templates:root': '{{this}}',
  'templates:root_above': '{{#each variables.list}}{{../this}}{{/each}}',
  'templates:root_part': '{{> root extra=1}}',
  'templates:root_json': '{{#with (json this)}}ok{{/with}}',
  'templates:go_root': { userPrompt: '{{.}}', syntax: 'go' },
  'templates:go_root_print': { userPrompt: '{{print "a" $}}', syntax: 'go' },
  'templates:go_root_printf': { userPrompt: '{{printf "%v" .}}', syntax: 'go' },
  'templates:go_root_html': { userPrompt: '{{. | html}}', syntax: 'go' },
  'templates:go_root_json': { userPrompt: '{{with json .}}ok{{end}}', syntax: 'go' },
  'templates:broken': { userPrompt: 'x {{if}}', syntax: 'go' },
  'templates:unlinked': { userPrompt: '{{nosuch "x"}}', syntax: 'go' },
  'templates:plain': 'no tags at all',
  'templates:hello': 'Hello {{variables.name}}!',
  'templates:team:x': '{"userPrompt":\n}'
}

const started = shared(suite => startService(suite, registrations, { LLM_BASE_URL: 'builtin:echo' }))

describe('POST /api/render/prompts/{id}', () => {
  const renders = [
    ['greet', { name: 'Ada' }, 'Hello Ada!'],
    ['go', { loud: true }, 'HELLO gin, gorm'],
    ['go', { loud: false }, 'hello gin, gorm'],
    ['both', { x: { a: 1 } }, [{ role: 'system', content: 'Rules: readability, tests' }, { role: 'user', name: 'ada', content: '[1 for readability, tests]' }]],
    ['cut', { name: 'Größe' }, 'Grö\ufffdGröße'],
    ['bare', { one: 1, two: 2 }, 'a 1 b 2'],
    ['pairs', { from: ['en'], to: ['en', 'de'] }, 'en to en; en to de; '],
    ['pairs', { from: [null, true], to: [null, 1] }, ' to ;  to 1; true to ; true to 1; '],
    ['root_json', {}, 'ok'],
    ['go_root_json', {}, 'ok'],
    ['greet', { name: '{{vscode.rules}} <&> "quoted"\n' }, 'Hello {{vscode.rules}} <&> "quoted"\n!']
  ] as const
  for (const [id, variables, expected] of renders) {
    it(`renders ${id} with ${JSON.stringify(variables)}`, async () => {
      const { post } = await started()
      const { status, json } = await post(`/api/render/prompts/${id}`, { variables })
      assert.equal(status, 200)
      assert.deepEqual(json, { rendered_prompt: expected, status: 'success' })
    })
  }

  for (const [path, body, near] of [['render', { variables: { nmae: 'Ada' } }, 'variables.nmae'], ['chat', { name: 'Ada' }, 'name']] as const) {
    it(`tells of ${near} when variables.name is missing`, async () => {
      const { post } = await started()
      const { json } = await post(`/api/${path}/prompts/hello`, body)
      assert.equal(json['message'], `Prompt "hello" needs values that are missing: variables.name (line 1, column 7; ${near} is there)`)
      assert.deepEqual(json['details'], { id: 'hello', syntax: 'handlebars', missing: [{ path: 'variables.name', line: 1, column: 7, near }] })
    })
  }

  for (const [path, body, near] of [['render', { variables: { nmae: 'Ada' } }, 'variables.nmae'], ['chat', { name: 'Ada' }, 'name'], ['chat', { variable: { name: 'Ada' } }, 'variable.name']] as const) {
    it(`tells of ${near} when a declared name is missing, as of any other`, async () => {
      const { post } = await started()
      const { json } = await post(`/api/${path}/prompts/greet`, body)
      assert.deepEqual([json['code'], json['details']], ['VARIABLE_MISSING', { id: 'greet', syntax: 'handlebars', missing: [{ path: 'variables.name', line: 1, column: 7, near }] }])
    })
  }

  it('says what is wrong with a declared name that has come', async () => {
    const { post } = await started()
    const { json } = await post('/api/render/prompts/greet', { variables: { name: 1 } })
    assert.deepEqual([json['code'], json['details']], ['VARIABLES_INVALID', { id: 'greet', violations: [{ path: 'variables.name', message: 'must be string' }] }])
  })

  it('tells all that is missing at once: required or not, shared, in a branch, in a partial, unused, and in an object', async t => {
    const { post } = await startService(t, {
      'templates:p': {
        messages: [{ role: 'system', content: '{{variables.free}}{{vscode.gone}}' }, { role: 'user', content: '{{variables.a}}\n{{#if variables.on}}{{variables.b}}{{/if}}{{> part}}' }],
        parameters: { type: 'object', required: ['a', 'b', 'c', 'unused'], properties: { user: { type: 'object', required: ['name'] } } }
      },
      'templates:part': '{{#if variables.on}}{{variables.c}}{{/if}}'
    })
    const { json } = await post('/api/render/prompts/p', { variables: { on: false, user: {} } })
    assert.deepEqual([json['code'], json['details']], ['VARIABLE_MISSING', {
      id: 'p',
      syntax: 'handlebars',
      missing: [
        { path: 'variables.free', line: 1, column: 1, messageIndex: 0 },
        { path: 'vscode.gone', line: 1, column: 19, messageIndex: 0 },
        { path: 'variables.a', line: 1, column: 1, messageIndex: 1 },
        { path: 'variables.b', line: 2, column: 23, messageIndex: 1 },
        { path: 'variables.c', line: 1, column: 23, in: 'part' },
        { path: 'variables.unused' },
        { path: 'variables.user.name' }
      ]
    }])
  })

  it('makes no call of a tool when a required parameter is missing that no branch comes to', async t => {
    const { post, log } = await startService(t, {
      'templates:p': { userPrompt: '{{t_f "x"}}{{#if variables.on}}{{variables.a}}{{/if}}', parameters: [{ name: 'a' }, { name: 'on', required: false }] },
      'tools:t:f': { restful: { url: 'http://127.0.0.1:1/', method: 'GET' } }
    })
    const { json } = await post('/api/render/prompts/p', { variables: { on: false } })
    assert.deepEqual([json['code'], log.filter(line => line['tool'] !== undefined)], ['VARIABLE_MISSING', []])
  })

  const parts = {
    'templates:part:gone': 'one\ntwo {{variables.gone}}',
    'templates:part:gone_go': { syntax: 'go', userPrompt: 'one\ntwo {{.variables.gone}}' },
    'templates:part:fails': { syntax: 'handlebars', userPrompt: '\n{{truncate "x" variables}}' },
    'templates:part:fails_go': { syntax: 'go', userPrompt: '\n{{index .variables.list 9}}' },
    'templates:part:plain': 'plain',
    'templates:part:around': '{{#> @partial-block}}{{/@partial-block}}',
    'templates:part:between': '{{> part.gone_go}} {{variables.after}}'
  }
  const places: ReadonlyArray<readonly [title: string, prompt: unknown, words: string, place: object]> = [
    ['a partial', 'Hi {{> part.gone}}', 'line 2, column 5 of "part.gone"', { line: 2, column: 5, in: 'part.gone' }],
    ['a partial of the other language', 'Hi {{> part.gone_go}}', 'line 2, column 7 of "part.gone_go"', { line: 2, column: 7, in: 'part.gone_go' }],
    ['a partial of a template in Go', { syntax: 'go', userPrompt: '{{template "part.gone" .}}' }, 'line 2, column 5 of "part.gone"', { line: 2, column: 5, in: 'part.gone' }],
    ['the text behind a partial', 'Hi {{> part.plain}}{{variables.gone}}', 'line 1, column 20', { line: 1, column: 20 }],
    ['a block that is given to a partial', 'Hi {{#> part.around}}{{variables.gone}}{{/part.around}}', 'line 1, column 22', { line: 1, column: 22 }],
    ['an inline partial', '{{#*inline "own"}}{{variables.gone}}{{/inline}}{{> own}}', 'line 1, column 19', { line: 1, column: 19 }],
    ['the text behind a partial of a partial', '{{> part.between}}', 'line 1, column 20 of "part.between"', { line: 1, column: 20, in: 'part.between' }],
    ['a second message', { messages: [{ role: 'system', content: 'Hi' }, { role: 'user', content: '{{variables.gone}}' }] }, 'message 1, line 1, column 1', { line: 1, column: 1, messageIndex: 1 }],
    ['a partial of a second message', { messages: [{ role: 'system', content: 'Hi' }, { role: 'user', content: '{{> part.gone}}' }] }, 'message 1, line 2, column 5 of "part.gone"', { line: 2, column: 5, messageIndex: 1, in: 'part.gone' }]
  ]
  const hosts = {
    ...Object.fromEntries(places.map(([, prompt], index) => [`templates:host:${index}`, typeof prompt === 'string' ? { syntax: 'handlebars', userPrompt: prompt } : prompt])),
    ...Object.fromEntries(['fails', 'fails_go'].flatMap(part => [
      [`templates:host:handlebars:${part}`, { syntax: 'handlebars', userPrompt: `Hi {{> part.${part}}}` }],
      [`templates:host:go:${part}`, { syntax: 'go', userPrompt: `Hi {{template "part.${part}" .}}` }]
    ]))
  }
  const startedWithParts = shared(suite => startService(suite, { ...parts, ...hosts }))
  for (const [index, [title, , words, place]] of places.entries()) {
    it(`says that a value is missing in ${title}`, async () => {
      const { post } = await startedWithParts()
      const { json } = await post(`/api/render/prompts/host.${index}`, { variables: title.startsWith('the text behind a partial of') ? { gone: 1 } : {} })
      assert.ok((json['message'] as unknown as string).includes(`(${words})`), String(json['message']))
      assert.deepEqual((json['details']?.['missing'] as unknown as object[]).map(miss => ({ ...miss, path: undefined })), [{ path: undefined, ...place }])
    })
  }

  for (const [part, read, line, column] of [['fails', 'Handlebars', 2, 1], ['fails_go', 'Go', 2, 3]] as const) {
    for (const language of ['handlebars', 'go']) {
      it(`says where ${part} has failed, as a partial of a template in ${language}`, async () => {
        const { post } = await startedWithParts()
        const id = `host.${language}.${part}`
        const { json } = await post(`/api/render/prompts/${id}`, { variables: { list: [] } })
        assert.match(json['message'] as unknown as string, new RegExp(`^Prompt "${id}" failed to render as ${read} at line ${line}, column ${column} of "part.${part}": `))
        assert.deepEqual({ ...json['details'] as object, reason: '' }, { id, reason: '', syntax: read.toLowerCase(), line, column, in: `part.${part}` })
      })
    }
  }

  const pairs = {
    'whose parameters are file and files': { userPrompt: '{{variables.file}}', parameters: [{ name: 'file', type: 'string' }, { name: 'files', type: 'array', required: false }] },
    'which reads file and files': { userPrompt: '{{variables.file}} {{variables.files.length}}' },
    'which reads both by their bare names': { userPrompt: '{{file}} {{files}}' },
    'which reads files in a partial of a partial': { userPrompt: '{{variables.file}} {{> outer}}' }
  }
  const outer = { 'templates:outer': '{{> inner}}', 'templates:inner': '{{variables.files}}' }
  const startedWithPairs = shared(suite => startService(suite, { ...outer, ...Object.fromEntries(Object.values(pairs).map((prompt, index) => [`templates:pair:${index}`, prompt])) }))
  for (const [index, which] of Object.keys(pairs).entries()) {
    it(`does not take files for file in a prompt ${which}`, async () => {
      const { post } = await startedWithPairs()
      const message = async (variables: object) => (await post(`/api/render/prompts/pair.${index}`, { variables })).json['message'] as unknown as string
      assert.doesNotMatch(await message({ files: ['a'] }), /is there/)
      assert.match(await message({ files: ['a'], fil: 'x' }), /variables\.fil is there/)
    })
  }

  for (const body of [undefined, {}, { variables: null }, null]) {
    it(`takes ${JSON.stringify(body) ?? 'no body'} for no variables`, async () => {
      const { post } = await started()
      assert.equal((await post('/api/render/prompts/plain', body)).json['rendered_prompt'], 'no tags at all')
    })
  }

  it('takes args on the other path', async () => {
    const { post } = await started()
    assert.equal((await post('/api/prompts/greet/render', { args: { name: 'Ada' } })).json['rendered_prompt'], 'Hello Ada!')
  })

  it('keeps all digits of a large integer', async () => {
    const { app } = await started()
    const reply = await app.inject({ method: 'POST', url: '/api/render/prompts/bare', headers: { 'content-type': 'application/json' }, payload: '{"variables":{"one":12345678901234567890,"two":{"id":9007199254740993}}}' })
    assert.deepEqual(reply.json(), { rendered_prompt: 'a 12345678901234567890 b {"id":9007199254740993}', status: 'success' })
  })

  it('names every missing value with its place', async () => {
    const { post } = await started()
    const { status, json } = await post('/api/render/prompts/bare', {})
    assert.equal(status, 400)
    assert.equal(json['code'], 'VARIABLE_MISSING')
    assert.deepEqual(json['details']?.['missing'], [{ path: 'variables.one', line: 1, column: 3 }, { path: 'variables.two', line: 1, column: 13 }])
  })

  it('names every violation of declared parameters, beside what is missing', async () => {
    const { post } = await started()
    const { status, json } = await post('/api/render/prompts/greet', { variables: { tone: 5 } })
    assert.equal(status, 400)
    assert.equal(json['code'], 'VARIABLE_MISSING')
    assert.deepEqual(json['details'], { id: 'greet', syntax: 'handlebars', missing: [{ path: 'variables.name', line: 1, column: 7 }], violations: [{ path: 'variables.tone', message: 'must be string' }] })
  })

  it('does not let a caller forge shared variables', async t => {
    const { post } = await startService(t, { 'templates:x': '{{vscode.rules}}' })
    const { status, json } = await post('/api/render/prompts/x', { variables: { vscode: { rules: 'forged' } } })
    assert.equal(status, 400)
    assert.equal(json['details']?.['missing']?.[0]?.['path'], 'vscode.rules')
  })

  const errors = [
    ['greeet', {}, 404, 'PROMPT_NOT_FOUND'],
    ['broken', {}, 400, 'TEMPLATE_SYNTAX'],
    ['unlinked', {}, 400, 'TEMPLATE_LINK'],
    ['index', { list: [1] }, 500, 'RENDER_FAILED']
  ] as const
  for (const [id, variables, status, code] of errors) {
    it(`answers ${status} ${code} for ${id}`, async () => {
      const { post } = await started()
      const reply = await post(`/api/render/prompts/${id}`, { variables })
      assert.equal(reply.status, status)
      assert.equal(reply.json['code'], code)
      assert.equal(reply.json['statusCode'], status)
    })
  }

  it('never prints the root, with the shared variables of others, as a text', async () => {
    const { post } = await started()
    for (const id of ['root', 'root_above', 'root_part', 'go_root', 'go_root_print', 'go_root_printf', 'go_root_html']) {
      const { status, json } = await post(`/api/render/prompts/${id}`, { variables: { list: [1] } })
      assert.deepEqual([id, status, json['code']], [id, 500, 'RENDER_FAILED'])
      assert.match(String(json['message']), /the root of all variables, which is no text/)
    }
  })

  it('says of a prompt that cannot be loaded why, and not that there is none', async () => {
    const { post } = await started()
    for (const id of ['team.x', 'team:x']) {
      const { status, json } = await post(`/api/render/prompts/${id}`, {})
      assert.deepEqual([status, json['code'], json['details']?.['key'], json['details']?.['diagnostics']?.['0']?.['line']], [404, 'PROMPT_NOT_FOUND', 'shenma:templates:team:x', 2])
      assert.match(String(json['message']), /what is stored under shenma:templates:team:x cannot be used: the value is not valid JSON: .* at line 2, column 1$/)
    }
  })

  const badBodies = [
    ['{"variables": {', 'application/json', 400, /not valid JSON: .* at line 1, column/],
    ['{"variables": 5}', 'application/json', 400, /body: variables must be an object or null/],
    ['{"variables": "x"}', 'application/json', 400, /body: variables must be an object or null/],
    ['[1]', 'application/json', 400, /body must be an object or null/],
    ['{"variables": {"__proto__": {"x": 1}}}', 'application/json', 400, /"__proto__" is not allowed/],
    ['{"variables": {}, "args": {}}', 'application/json', 400, /must not have both "variables" and "args"/],
    ['{}', 'text/plain', 415, /application\/json/],
    [`{"variables":${'['.repeat(200)}${']'.repeat(200)}}`, 'application/json', 400, /nested deeper than 100/]
  ] as const
  for (const [payload, type, status, message] of badBodies) {
    it(`answers ${status} for the body ${payload.slice(0, 40)} of type ${type}`, async () => {
      const { app } = await started()
      const reply = await app.inject({ method: 'POST', url: '/api/render/prompts/bare', headers: { 'content-type': type }, payload })
      assert.equal(reply.statusCode, status)
      assert.match(reply.json<{ message: string }>().message, message)
    })
  }

  it('answers 400 for invalid UTF-8', async () => {
    const { app } = await started()
    const reply = await app.inject({ method: 'POST', url: '/api/render/prompts/bare', headers: { 'content-type': 'application/json' }, payload: Buffer.from([0x22, 0xc3, 0x28, 0x22]) })
    assert.equal(reply.statusCode, 400)
    assert.match(reply.json<{ message: string }>().message, /UTF-8/)
  })

  it('answers 413 for a body beyond the limit', async t => {
    const { post } = await startService(t, registrations, { BODY_LIMIT_BYTES: '2048' })
    const { status, json } = await post('/api/render/prompts/bare', { variables: { one: 'x'.repeat(3000) } })
    assert.equal(status, 413)
    assert.equal(json['code'], 'BODY_TOO_LARGE')
    assert.match(String(json['message']), /larger than 2048 bytes, .* BODY_LIMIT_BYTES/)
  })
})

describe('A prompt\'s names without `variables.` that it does not declare', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const file = (text: string) => readDotprompt(text, 'a.prompt').prompt
  const rows: ReadonlyArray<readonly [what: string, prompt: object, found: boolean]> = [
    ['a declaration alone', { parameters: schema }, false],
    ['additionalProperties: false', { parameters: { ...schema, additionalProperties: false, patternProperties: { '^x': {} } } }, false],
    ['additionalProperties', { parameters: { ...schema, additionalProperties: true } }, true],
    ['additionalProperties with a schema', { parameters: { ...schema, additionalProperties: { type: 'string' } } }, true],
    ['patternProperties that match', { parameters: { ...schema, patternProperties: { '^o.*r$': { type: 'string' } } } }, true],
    ['patternProperties that do not match', { parameters: { ...schema, patternProperties: { '^x': {} } } }, false]
  ]
  const files: ReadonlyArray<readonly [what: string, head: string]> = [
    ['(*)', 'input: { schema: { a: string, (*): string } }'],
    ['a JSON Schema', 'input: { schema: { type: object, properties: { a: { type: string } } } }'],
    ['patternProperties', 'input: { schema: { type: object, properties: { a: { type: string } }, additionalProperties: false, patternProperties: { "^o": {} } } }'],
    ['a default alone', 'input: { default: { b: 1 } }']
  ]
  const prompts: ReadonlyArray<{ readonly what: string, readonly found: boolean, readonly prompt: object }> = [
    ...rows.flatMap(([what, prompt, found]) => [
      { what: `${what}, in Handlebars`, found, prompt: { ...prompt, userPrompt: '{{a}}{{other}}' } },
      { what: `${what}, in Go`, found, prompt: { ...prompt, userPrompt: '{{.a}}{{.other}}', syntax: 'go' } }
    ]),
    ...files.map(([what, head]) => ({ what: `${what}, in a .prompt file`, found: true, prompt: file(`---\n${head}\n---\n{{a}}{{other}}`) }))
  ]
  it('are found where the schema admits them, by renders and lint alike', async t => {
    const { post } = await startService(t, Object.fromEntries(prompts.map(({ prompt }, index) => [`templates:p${index}`, prompt])))
    for (const [index, { what, found, prompt }] of prompts.entries()) {
      await t.test(`${found ? 'found' : 'not found'}: ${what}`, async () => {
        const { json } = await post(`/api/render/prompts/p${index}`, { variables: { a: 'x', other: 'y' } })
        assert.equal(String(json['rendered_prompt']) === 'xy', found, JSON.stringify(json))
        const { json: linted } = await post('/api/lint', { prompt })
        assert.equal(JSON.stringify(linted).includes('VARIABLE_UNSATISFIABLE'), !found, JSON.stringify(linted))
      })
    }
  })
})

describe('A partial of Dotprompt', () => {
  it('is refused when it begins a message', async t => {
    const prompt = (text: string) => readDotprompt(text, 'a.prompt').prompt
    const { post } = await startService(t, { 'templates:head': prompt('{{role "system"}}Be kind.'), 'templates:main': prompt('{{>head}}Hello') })
    const { status, json } = await post('/api/render/prompts/main', {})
    assert.equal(status, 400)
    assert.match(JSON.stringify(json), /partial \\"head\\" begins a message by \{\{role\}\}/)
  })
})
