import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { type JsonView, type Service, startService } from '../helpers/service.ts'

const tool = { type: 'restful', url: 'http://127.0.0.1:1/' }
const registered = {
  'environs:vscode:rules': '"x"',
  'environs:chat:s1': '"x"',
  'environs:team': '"x"',
  'tools:codebase:lookup_ref': tool,
  'templates:card': '{{variables.name}}',
  'templates:whole': '{{json this}}',
  'templates:two': { messages: [{ role: 'user', content: 'a' }, { role: 'user', content: 'b' }] },
  'templates:broken': { userPrompt: '{{#if', syntax: 'handlebars' },
  'templates:around': 'a {{> about}}',
  'templates:about': 'b {{> around}}'
}

/** A template in both syntaxes, and what a lint says of it: `CODE line:column`. */
const both: ReadonlyArray<{ fact: string, go: string, handlebars: string, parameters?: unknown, says: { go: string[], handlebars: string[] } | string[] }> = [
  { fact: 'a sound template', go: '{{.variables.a}}', handlebars: '{{variables.a}}', says: [] },
  { fact: 'a syntax error', go: 'x\n{{if}}', handlebars: 'x\n{{#if}}{{/if}}', says: { go: ['SYNTAX 2:5'], handlebars: ['SYNTAX 2:1'] } },
  { fact: 'an unknown function', go: '{{nope 1}}', handlebars: '{{nope 1}}', says: { go: ['FUNCTION_UNKNOWN 1:3'], handlebars: ['FUNCTION_UNKNOWN 1:1'] } },
  { fact: 'a registered tool', go: '{{codebase_lookup_ref "x"}}', handlebars: '{{codebase_lookup_ref "x"}}', says: [] },
  { fact: 'an unknown partial', go: '{{template "nope" .}}', handlebars: '{{> nope}}', says: { go: ['PARTIAL_UNKNOWN 1:12'], handlebars: ['PARTIAL_UNKNOWN 1:1'] } },
  { fact: 'a registered partial', go: '{{template "card" .}}', handlebars: '{{> card}}', says: [] },
  { fact: 'a partial with two messages', go: '{{template "two" .}}', handlebars: '{{> two}}', says: { go: ['PARTIAL_UNKNOWN 1:12'], handlebars: ['PARTIAL_UNKNOWN 1:1'] } },
  { fact: 'an invalid partial', go: '{{template "broken" .}}', handlebars: '{{> broken}}', says: { go: ['PARTIAL_UNKNOWN 1:12'], handlebars: ['PARTIAL_UNKNOWN 1:1'] } },
  { fact: 'partials that include each other without end', go: '{{template "around" .}}', handlebars: '{{> around}}', says: { go: ['PARTIAL_CYCLE 1:12'], handlebars: ['PARTIAL_CYCLE 1:1'] } },
  { fact: 'an undeclared parameter', parameters: [{ name: 'a' }], go: '{{.variables.a}}{{.variables.b}}', handlebars: '{{variables.a}}{{variables.b}}', says: { go: ['PARAMETER_UNDECLARED 1:19'], handlebars: ['PARAMETER_UNDECLARED 1:18'] } },
  { fact: 'an unused parameter', parameters: [{ name: 'a' }, { name: 'b' }], go: '{{.variables.a}}', handlebars: '{{variables.a}}', says: ['PARAMETER_UNUSED 1:1'] },
  { fact: 'a default that is no value of its parameter', parameters: [{ name: 'a', type: 'integer', default: 'x' }, { name: 'b', type: 'string' }], go: '{{json .variables}}', handlebars: '{{json variables}}', says: ['PARAMETER_DEFAULT 1:1'] },
  { fact: 'defaults that are values of their parameters', parameters: [{ name: 'a', type: 'integer', default: 1 }, { name: 'b', type: 'string' }], go: '{{json .variables}}', handlebars: '{{json variables}}', says: [] },
  { fact: 'a parameter that a partial uses', parameters: [{ name: 'name' }], go: '{{template "card" .}}', handlebars: '{{> card}}', says: [] },
  { fact: 'parameters that are read as a whole', parameters: [{ name: 'a' }], go: '{{json .variables}}', handlebars: '{{json variables}}', says: [] },
  { fact: 'a bare variable, told once', go: '{{.a}}{{.a}}', handlebars: '{{a}}{{a}}', says: ['BARE_VARIABLE 1:3'] },
  { fact: 'a bare name that is declared', parameters: [{ name: 'a' }], go: '{{.a}}', handlebars: '{{a}}', says: ['BARE_VARIABLE 1:3'] },
  { fact: 'a bare name that is not declared', parameters: [{ name: 'a', default: 1 }], go: '{{.variables.a}}{{.b}}', handlebars: '{{variables.a}}{{b}}', says: { go: ['VARIABLE_UNSATISFIABLE 1:19'], handlebars: ['VARIABLE_UNSATISFIABLE 1:18'] } },
  { fact: 'a published shared variable', go: '{{.vscode.rules}}{{.team}}', handlebars: '{{vscode.rules}}{{team}}', says: [] },
  { fact: 'a shared variable that nobody publishes', go: '{{.vscode.ruls}}', handlebars: '{{vscode.ruls}}', says: ['VARIABLE_UNSATISFIABLE 1:3'] },
  { fact: 'a shared variable that is only tested', go: '{{if .vscode.ruls}}x{{end}}', handlebars: '{{#if vscode.ruls}}x{{/if}}', says: [] },
  { fact: 'a shared variable that is used where it is tested', go: '{{with .vscode.ruls}}{{.}}{{.x}}{{end}}{{if .chat.topc}}{{.chat.topc}}{{end}}', handlebars: '{{#with vscode.ruls}}{{x}}{{/with}}{{#if chat.topc}}{{chat.topc}}{{/if}}', says: [] },
  { fact: 'a shared variable that is used where what it lies in is published', go: '{{with .vscode}}{{.ruls}}{{end}}', handlebars: '{{#with vscode}}{{ruls}}{{/with}}', says: ['VARIABLE_UNSATISFIABLE 1:19'] },
  { fact: 'parameters that are used with the whole root', parameters: [{ name: 'a', default: 1 }], go: '{{json .}}', handlebars: '{{json @root}}', says: [] },
  { fact: 'parameters that a loop over the root reads', parameters: [{ name: 'a', default: 1 }], go: '{{range $k, $v := .}}{{$k}}{{end}}', handlebars: '{{#each this}}{{@key}}{{/each}}', says: [] },
  { fact: 'parameters that a tool is given with the root', parameters: [{ name: 'a', default: 1 }], go: '{{codebase_lookup_ref .}}', handlebars: '{{codebase_lookup_ref @root}}', says: [] },
  { fact: 'parameters that a partial uses with the root', parameters: [{ name: 'a', default: 1 }], go: '{{template "whole" .}}', handlebars: '{{> whole}}', says: [] },
  { fact: 'a parameter that is unused where a partial uses another value as a whole', parameters: [{ name: 'a', default: 1 }], go: '{{template "whole" .variables.b}}', handlebars: '{{> whole variables.b}}', says: { go: ['PARAMETER_UNDECLARED 1:20', 'PARAMETER_UNUSED 1:1'], handlebars: ['PARAMETER_UNDECLARED 1:11', 'PARAMETER_UNUSED 1:1'] } },
  { fact: 'a computed name of a shared variable', go: '{{index .chat .variables.s}}', handlebars: '{{lookup chat variables.s}}', says: [] },
  { fact: 'an else that is never taken', go: '{{if true}}a{{else}}b{{end}}', handlebars: '{{#if true}}a{{else}}b{{/if}}', says: { go: ['UNREACHABLE 1:21'], handlebars: ['UNREACHABLE 1:22'] } },
  { fact: 'a body that is never run', go: '{{if 0}}a{{end}}', handlebars: '{{#if 0}}a{{/if}}', says: { go: ['UNREACHABLE 1:9'], handlebars: ['UNREACHABLE 1:10'] } },
  { fact: 'a condition that one operand decides', go: '{{if and .variables.a false}}a{{end}}', handlebars: '{{#if (and variables.a false)}}a{{/if}}', says: { go: ['UNREACHABLE 1:30'], handlebars: ['UNREACHABLE 1:32'] } },
  { fact: 'a condition that depends on a value', go: '{{if or .variables.a false}}a{{else}}b{{end}}', handlebars: '{{#if (or variables.a false)}}a{{else}}b{{/if}}', says: [] },
  { fact: 'a negated constant', go: '{{if not "x"}}a{{end}}', handlebars: '{{#unless "x"}}a{{/unless}}', says: { go: ['UNREACHABLE 1:15'], handlebars: ['UNREACHABLE 1:16'] } },
  { fact: 'a branch of white space', go: '{{if true}}a{{else}} {{end}}', handlebars: '{{#if true}}a{{else}} {{/if}}', says: [] },
  { fact: 'an unreachable branch inside a reachable one', go: '{{if .variables.a}}{{if false}}a{{end}}{{end}}', handlebars: '{{#if variables.a}}{{#if false}}a{{/if}}{{/if}}', says: { go: ['UNREACHABLE 1:32'], handlebars: ['UNREACHABLE 1:33'] } }
]

/** Bodies of one language or none. */
const bodies: ReadonlyArray<readonly [fact: string, body: unknown, says: string[]]> = [
  ['what follows a break', { template: '{{range .variables.l}}a{{break}}b{{end}}' }, ['UNREACHABLE 1:33']],
  ['what follows a continue', { template: '{{range .variables.l}}{{continue}}{{.x}}{{end}}' }, ['UNREACHABLE 1:37']],
  ['a loop over nothing', { template: '{{range 0}}a{{end}}', syntax: 'go' }, ['UNREACHABLE 1:12']],
  ['an unused parameter in Go, whatever else has its name', { prompt: { syntax: 'go', userPrompt: '{{range .variables.list}}{{.code}}{{end}}{{/* code */}}{{$code := 1}}', parameters: [{ name: 'list' }, { name: 'code' }] } }, ['PARAMETER_UNUSED 1:1']],
  ['a block over a value keeps its names', { prompt: { userPrompt: '{{#variables.on}}{{code}}{{/variables.on}}', parameters: [{ name: 'on' }, { name: 'code' }] } }, []],
  ['a function with too many arguments', { template: '{{upper .variables.a "b"}}{{if .variables.b}}{{.variables.c | not 1}}{{end}}', syntax: 'go' }, ['ALWAYS_FAILS 1:3', 'ALWAYS_FAILS 1:63']],
  ['a function with too few arguments', { template: '{{define "d"}}{{printf}}{{end}}{{(join "")}}', syntax: 'go' }, ['ALWAYS_FAILS 1:17', 'ALWAYS_FAILS 1:35']],
  ['arguments of what is no function', { template: '{{1 2}}{{.variables.a .b}}{{$x := 1}}{{$x 2}}{{(print 1) 2}}{{1 | .variables.a}}', syntax: 'go' }, ['ALWAYS_FAILS 1:3', 'ALWAYS_FAILS 1:10', 'ALWAYS_FAILS 1:40', 'ALWAYS_FAILS 1:48', 'ALWAYS_FAILS 1:67']],
  ['nil that is no argument', { template: '{{nil}}{{print nil}}', syntax: 'go' }, ['ALWAYS_FAILS 1:3']],
  ['a number that is no integer of Go', { template: '{{18446744073709551615}}', syntax: 'go' }, ['ALWAYS_FAILS 1:3']],
  ['what fails in a message', { prompt: { syntax: 'go', messages: [{ role: 'user', content: 'a' }, { role: 'user', content: '{{len}}' }] } }, ['ALWAYS_FAILS 1:3 in 1']],
  ['both syntaxes mixed, at the later sign', { template: '{{.a}}\n{{#if b}}{{/if}}' }, ['SYNTAX_MIXED 2:1']],
  ['both syntaxes in two messages', { prompt: [{ role: 'user', content: '{{#if a}}{{/if}}' }, { role: 'user', content: ' {{.a}}' }] }, ['SYNTAX_MIXED 1:2 in 1']],
  ['both syntaxes, decided', { template: '{{.variables.a}}', syntax: 'go' }, []],
  ['a message without content', { prompt: { messages: [{ role: 'user', content: 'a' }, { role: 'user', content: ' ' }] } }, ['MESSAGE_EMPTY 1:54 in 1']],
  ['the message of a mistake', { prompt: { messages: [{ role: 'user', content: 'a' }, { role: 'user', content: '{{nope 1}}' }] } }, ['FUNCTION_UNKNOWN 1:1 in 1']],
  ['a list of messages', { prompt: [{ role: 'user', content: 'a' }] }, []],
  ['a text', { prompt: '{{variables.a}}' }, []],
  ['a definition in YAML that is a text', { prompt: 'syntax: go\nuserPrompt: Hi' }, ['VALUE_NOT_JSON 1:1']],
  ['a definition in YAML with a block', { prompt: 'prompt: |\n  Hi' }, ['VALUE_NOT_JSON 1:1']],
  ['a definition in YAML with messages', { prompt: 'messages:\n  - role: user\n    content: Hi' }, ['VALUE_NOT_JSON 1:1']],
  ['a text with lines that end in colons', { prompt: 'Sum up these\nmessages:\n- one\nprompt: short' }, []],
  ['a prompt that is none', { prompt: { messages: [] } }, ['SCHEMA 1:12']],
  ['parameters that are no schema', { prompt: { userPrompt: 'x', parameters: { type: 'object', properties: { a: { type: 'strange' } } } } }, ['PARAMETERS_INVALID 1:29']],
  ['defaults of a schema, where others are required', { prompt: { userPrompt: '{{json variables}}', parameters: { type: 'object', required: ['b'], minProperties: 3, $defs: { n: { type: 'integer' } }, properties: { a: { $ref: '#/$defs/n', default: 'x' }, b: { type: 'string' }, c: { $ref: '#/$defs/n', default: 1 } } } } }, ['PARAMETER_DEFAULT 1:1']],
  ['a default that cannot be told about', { prompt: { userPrompt: '{{json variables}}', parameters: { type: 'object', allOf: [{}], properties: { a: { $ref: '#/allOf/0', default: 'x' } } } } }, []],
  ['a structured answer', { prompt: { userPrompt: 'x', structured: true, returns: { type: 'object', properties: { a: { type: 'string' } } } } }, []],
  ['a structured answer without a schema', { prompt: { userPrompt: 'x', structured: true } }, ['RETURNS_INVALID 1:1']],
  ['a tool for the model that is not registered', { prompt: { userPrompt: 'x', defaults: { toolLoop: { tools: ['nope'] } } } }, ['TOOL_UNKNOWN 1:1']],
  ['an empty template', { template: '' }, ['SCHEMA 1:1']],
  ['a prompt that includes itself', { prompt: '{{> me}}', id: 'me' }, ['PARTIAL_CYCLE 1:1']],
  ['a prompt that includes itself under a condition', { prompt: '{{#if variables.more}}{{> me}}{{/if}}', id: 'me' }, []],
  ['a template that is too deep', { template: '{{#a}}'.repeat(101) }, ['SYNTAX 1:601']],
  ['a template that no parser survives', { template: `{{.a ${'| f '.repeat(15_000)}}}` }, ['SYNTAX 1:1']],
  ['more names than are looked up', { prompt: Array.from({ length: 11 }, () => ({ role: 'user', content: '{{variables.a}}'.repeat(1990) })) }, ['TOO_COMPLEX 1:1']]
]

async function lint ({ post }: Service, body: unknown): Promise<JsonView[]> {
  const { status, json } = await post('/api/lint', body)
  assert.equal(status, 200)
  return json['diagnostics'] as unknown as JsonView[]
}

function brief ({ code, line, column, messageIndex }: JsonView): string {
  return `${String(code)} ${String(line)}:${String(column)}${messageIndex === undefined ? '' : ` in ${String(messageIndex)}`}`
}

// One service for all cases: what parses candidates is a process, which takes a second to start.
test('POST /api/lint tells of', async t => {
  const service = await startService(t, registered)
  for (const { fact, go, handlebars, parameters, says } of both) {
    for (const [syntax, userPrompt] of [['go', go], ['handlebars', handlebars]] as const) {
      await t.test(`${syntax}: ${fact}`, async () => {
        const diagnostics = await lint(service, { prompt: { userPrompt, syntax, ...(parameters === undefined ? {} : { parameters }) } })
        assert.deepEqual(diagnostics.map(brief), 'go' in says ? says[syntax] : says)
      })
    }
  }

  for (const [fact, body, says] of bodies) {
    await t.test(fact, async () => {
      const diagnostics = await lint(service, body)
      assert.deepEqual(diagnostics.map(brief), says)
      for (const { severity, message, hint } of diagnostics) {
        assert.ok(['error', 'warning', 'hint'].includes(String(severity)))
        assert.ok(String(message) !== '' && String(hint) !== '')
      }
    })
  }

  const refused = [{}, { prompt: 'x', template: 'x' }, { syntax: 'go' }, { prompt: 'x', syntax: 'go' }, { prompt: 5 }, { template: 'x', syntax: 'jinja' }, { tool: {} }, [], null]
  for (const body of refused) {
    await t.test(`a body that it cannot take: ${JSON.stringify(body)}`, async () => {
      const { status, json } = await service.post('/api/lint', body)
      assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
    })
  }
})

describe('POST /api/lint', () => {
  it('lets the prompts of an extension find each other, and names the one that is meant', async t => {
    const diagnostics = await lint(await startService(t, registered), { extension: { name: 'e', contributes: { prompts: [{ name: 'p', userPrompt: '{{> q}}' }, { name: 'q', userPrompt: '{{nope 1}}' }] } } })
    const errors = diagnostics.filter(({ severity }) => String(severity) === 'error').map(({ code, message }) => `${String(code)} ${String(message)}`)
    assert.deepEqual(errors, [
      'FUNCTION_UNKNOWN prompt e.p: in partial "e.q": function "nope" is no builtin of Handlebars and no registered tool',
      'FUNCTION_UNKNOWN prompt e.q: function "nope" is no builtin of Handlebars and no registered tool'
    ])
  })

  it('knows what is meant', async t => {
    const service = await startService(t, {})
    for (const [template, hint] of [['{{uper variables.a}}', /^write upper, /], ['{{.variables.a | Trim}}', /^write trim, /], ['{{#if (gte variables.a 1)}}{{/if}}', /^write gt or ge, /], ['{{nope variables.a}}', /^register the tool, /]] as const) {
      await t.test(`knows what is meant by ${template}, if anything is`, async () => {
        const [diagnostic] = await lint(service, { template })
        assert.match(String(diagnostic?.hint), hint)
      })
    }
  })

  const meant: ReadonlyArray<readonly [what: string, body: unknown, hint: RegExp]> = [
    ['a partial', { template: '{{> crad}}' }, /^write card, if that is what you mean; else register a prompt /],
    ['a partial of another module', { template: '{{> diff}}' }, /^write review\.diff, /],
    ['a partial of its own module', { prompt: '{{> dif}}', id: 'review.short' }, /^write review\.diff, /],
    ['a partial of its own extension', { extension: { name: 'e', contributes: { prompts: [{ name: 'outer', userPrompt: '{{> inne}}' }, { name: 'inner', userPrompt: 'x' }] } } }, /^write e\.inner, /],
    ['a tool', { template: '{{codebase_lookup_reff "x"}}' }, /^write codebase_lookup_ref, if that is what you mean; else register the tool, or correct the name; it was read as Handlebars: /],
    ['a shared variable', { template: '{{vscode.ruls}}' }, /^write vscode\.rules, if that is what you mean; else publish the shared variable, /],
    ['a parameter', { prompt: { userPrompt: '{{variables.nmae}}{{variables.name}}', parameters: [{ name: 'name' }] } }, /^write name, if that is what you mean; else add "nmae" /],
    ['a bare parameter', { prompt: { userPrompt: '{{nmae}}{{variables.name}}', parameters: [{ name: 'name' }] } }, /^write name, if that is what you mean; else correct /],
    ['nothing that there is', { template: '{{> elsewhere}}' }, /^register a prompt /]
  ]
  test('tells what may be meant', async t => {
    const service = await startService(t, { ...registered, 'templates:review:diff': 'x' })
    for (const [what, body, hint] of meant) {
      await t.test(what, async () => {
        const [diagnostic] = await lint(service, body)
        assert.match(String(diagnostic?.hint), hint)
      })
    }
  })

  it('tells what an extension depends on in vain', async t => {
    const diagnostics = await lint(await startService(t, registered), { extension: { name: 'e', contributes: { prompts: [], dependences: [{ name: 'gone', failStrategy: 'abort' }] } } })
    assert.ok(diagnostics.map(brief).includes('DEPENDENCE_MISSING 1:1'))
  })

  it('checks agents, skills and plan profiles, also those of an extension', async t => {
    const { post } = await startService(t, {})
    const agent = { mode: 'steps', help: 'Ask', classify: { prompt: 'c' }, select: { prompt: 's' }, tools: [] }
    const bodies = [{ agent }, { agent: {} }, { skill: '---\nname: Not A Name\ndescription: d\n---\nbody' }, { skill: { body: '' } }, { plan: { limits: 1 } }, { extension: { type: 'agent', contributes: { agents: [{ id: 'a', ...agent, help: 1 }] } } }]
    const found = await Promise.all(bodies.map(async body => (await post('/api/lint', body)).json['diagnostics'] as unknown as Array<{ message: string }>))
    assert.deepEqual(found.map(diagnostics => diagnostics.length > 0), [false, true, true, true, true, true])
  })

  it('stores nothing', async t => {
    const { get, post } = await startService(t, registered)
    await post('/api/lint', { prompt: 'x', id: 'fresh' })
    assert.equal((await get('/api/prompts/fresh')).status, 404)
  })

  it('says of a registration what the status says of it once it is registered', async t => {
    const prompt = { userPrompt: '{{a}}{{nope 1}}{{> gone}}{{vscode.ruls}}', parameters: [{ name: 'b' }, { name: 'c', type: 'integer', default: 'x' }] }
    const { get, post } = await startService(t, { 'templates:p': prompt })
    const { json: linted } = await post('/api/lint', { prompt, id: 'p' })
    const { json: listed } = await get('/api/status/entries')
    assert.deepEqual(linted['diagnostics'], listed['0']?.['diagnostics'])
  })

  it('says of a default what a caller who leaves it out would be told', async t => {
    const prompt = { userPrompt: '{{variables.list}}', parameters: { list: { type: 'array', items: { type: 'integer' }, default: [1, 'x'] } } }
    const service = await startService(t, { 'templates:p': prompt })
    const [{ severity, message } = {}] = await lint(service, { prompt })
    assert.deepEqual([severity, message], ['warning', 'a default breaks what its parameter declares: variables.list[1] must be integer'])
    const { json } = await service.post('/api/render/prompts/p', {})
    assert.deepEqual(json['details']?.['violations'], [{ path: 'variables.list[1]', message: 'must be integer' }])
  })

  const placedFields = [
    ['{\n "prompt": {\n  "userPrompt": 5 } }', 'SCHEMA 3:3'],
    ['{"prompt": {"userPrompt": "x",\n "suports": [] } }', 'FIELD_UNKNOWN 2:2'],
    ['{"id": "a", "prompt": {"messages":\n  [{"role": "user"}] } }', 'SCHEMA 2:4'],
    ['{"skill":\n {"body": "x", "descripton": "x",\n "description": 1 } }', 'SCHEMA 3:2'],
    ['{"plan": {\n "limits": {\n "max_actions": "x"}}}', 'SCHEMA 3:2'],
    ['{"agent": {"help": "x", "model":\n5, "mode": "loop" } }', 'SCHEMA 1:2', 'SCHEMA 1:25'],
    ['{"extension": {"name": "a", "extensionType": "agent", "contributes": { "agents":\n [{"name": "b",\n "model": 5}]}}}', 'SCHEMA 2:3', 'SCHEMA 3:2'],
    ['{"extension": {"name": "a", "contributes": { "prompts": [{"name": "b",\n "userPrompt": "x", "parmeters": []}]}}}', 'FIELD_UNKNOWN 2:21']
  ] as const
  it('tells places', async t => {
    const { app } = await startService(t, {})
    for (const [text, ...places] of placedFields) {
      await t.test(`tells the place of a field in what was sent: ${JSON.stringify(text)}`, async () => {
        const reply = await app.inject({ method: 'POST', url: '/api/lint', headers: { 'content-type': 'application/json' }, payload: text })
        const { diagnostics } = reply.json<{ diagnostics: Array<{ code: string, line: number, column: number }> }>()
        const found = new Set(diagnostics.map(({ code, line, column }) => `${code} ${line}:${column}`))
        for (const place of places) assert.ok(found.has(place), `${place} is not among ${[...found].join(', ')}`)
        assert.ok(diagnostics.every(diagnostic => !('field' in diagnostic)))
      })
    }
  })

  it('goes on after a candidate that no parser survives', async t => {
    const { post } = await startService(t, registered)
    await post('/api/lint', { template: `{{.a ${'| f '.repeat(15_000)}}}` })
    assert.deepEqual((await post('/api/lint', { template: '{{nope 1}}' })).json['diagnostics']?.['0']?.['code'], 'FUNCTION_UNKNOWN')
  })

  const otherLanguage = [
    ['{{.x}}', 'handlebars', '"{{.x" is Go syntax, and the prompt says "syntax": "handlebars": write it in Handlebars, or say the other'],
    ['a\n{{.x | len}}', 'handlebars', '"{{.x" is Go syntax, and the prompt says "syntax": "handlebars": write it in Handlebars, or say the other'],
    ['{{#if x}}a{{/if}}', 'go', '"{{#" is Handlebars syntax, and the prompt says "syntax": "go": write it in Go, or say the other'],
    ['{{#if x}}\na\n{{end}}\n', 'handlebars', '"{{end" at line 3 is Go syntax, and the prompt says "syntax": "handlebars": write it in Handlebars, or say the other'],
    ['{{range .items}}{{end}}', 'handlebars', 'write it in Handlebars, or say "syntax": "go"'],
    ['{{name}}', 'go', 'register the tool, or correct the name; a value is .name, with a dot'],
    ['{{list}}', 'go', 'write last, if that is what you mean, or register the tool; a value is .list, with a dot'],
    ['{{name 1}}', 'go', 'register the tool, or correct the name'],
    ['{{#if (name)}}{{/if}}', 'handlebars', 'register the tool, or correct the name'],
    ['{{#if}}{{/if}}', 'handlebars', 'correct the template at that place'],
    ['{{#if}}{{/if}}', undefined, 'correct the template at that place; it was read as Handlebars: if it is Go, add "syntax": "go" to the prompt'],
    ['{{.a}} {{nope 1}}', undefined, 'register the tool, or correct the name; it was read as Go: if it is Handlebars, add "syntax": "handlebars" to the prompt'],
    ['{{> nope}}', undefined, 'register a prompt of that id with one text; it was read as Handlebars: if it is Go, add "syntax": "go" to the prompt'],
    ['{{template "" .}}', undefined, 'register a prompt of that id with one text; it was read as Go: if it is Handlebars, add "syntax": "handlebars" to the prompt'],
    ['{{> nope}}', 'handlebars', 'register a prompt of that id with one text'],
    ['{{.x}}{{if}}', undefined, 'correct the template at that place; it was read as Go: if it is Handlebars, add "syntax": "handlebars" to the prompt'],
    ['{{#if (printf "x")}}{{/if}}', 'handlebars', 'write it in Handlebars, or say "syntax": "go"'],
    ['{{#if (define "x")}}{{/if}}', 'handlebars', '"define" is Go, and no tool can be called so: write it in Handlebars, or add "syntax": "go" to the prompt']
  ] as const
  it('hints at what to write', async t => {
    const { post } = await startService(t, {})
    for (const [template, syntax, hint] of otherLanguage) {
      await t.test(`hints at ${JSON.stringify(hint.slice(0, 24))} for ${JSON.stringify(template)} in ${syntax}`, async () => {
        assert.equal((await post('/api/lint', { template, syntax })).json['diagnostics']?.['0']?.['hint'], hint)
      })
    }
  })

  const inNeither = [
    ['Hi {{name}', 'neither Go (bad character U+007D \'}\') nor Handlebars (a tag ends with "}}", not with "}")', 10],
    ['{{else}}', 'neither Go (unexpected {{else}}) nor Handlebars ("else" is not expected here at line 1, column 1)', 7],
    ['{{}}', 'neither Go (missing value for command) nor Handlebars ("}}" is not expected here)', 3]
  ] as const
  it('says what is wrong in either language', async t => {
    const { post } = await startService(t, {})
    for (const [template, mistakes, column] of inNeither) {
      await t.test(`says that ${JSON.stringify(template)} is in neither language`, async () => {
        const prompt = { messages: [{ role: 'system', content: 'fine' }, { role: 'user', content: template }] }
        const expected = { severity: 'error', code: 'SYNTAX', message: `the text is ${mistakes}`, line: 1, column, hint: 'correct the template, in one of the languages' }
        assert.deepEqual((await post('/api/lint', { template })).json['diagnostics'], [expected])
        assert.deepEqual((await post('/api/lint', { prompt })).json['diagnostics'], [{ ...expected, messageIndex: 1 }])
      })
    }
  })

  it('warns of each text that says Handlebars and has forms of Go', async t => {
    const { post } = await startService(t, {})
    const prompt = { syntax: 'handlebars', messages: [{ role: 'system', content: 'fine' }, { role: 'user', content: 'a\n{{range .items}}' }] }
    const found = (await post('/api/lint', { prompt })).json['diagnostics'] as unknown as Array<Record<string, unknown>>
    assert.deepEqual(found.filter(({ code }) => code === 'SYNTAX_FOREIGN').map(({ severity, message, messageIndex, line, column }) => [severity, message, messageIndex, line, column]),
      [['warning', '".items" is Go syntax, and means something else in Handlebars', 1, 2, 1]])
  })

  it('tells those who forget the dot of Go syntax about it', async t => {
    const { post } = await startService(t, {})
    const { json } = await post('/api/lint', { template: '{{variables.name}}', syntax: 'go' })
    assert.equal(json['diagnostics']?.['0']?.['hint'], 'write .variables: in Go syntax, names of the scope begin with a dot')
  })
})
