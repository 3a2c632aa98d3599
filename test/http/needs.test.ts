import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonView, startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

const tool = { type: 'restful', url: 'http://127.0.0.1:1/', parameters: [{ name: 'q', type: 'string' }] }
const common = { 'environs:vscode:rules': '"x"', 'environs:chat:s1': '"x"', 'environs:team:name': '"x"', 'tools:codebase:lookup_ref': tool, 'tools:now': { ...tool, parameters: [] } }

/** What a template needs, in both syntaxes: each variable as `path use required`, each shared variable as `path registered`. */
const cases: ReadonlyArray<{ fact: string, go: string, handlebars: string, parameters?: unknown, variables?: string[] | { go: string[], handlebars: string[] }, environs?: string[] | { go: string[], handlebars: string[] }, caller?: string[], tools?: string[][] }> = [
  { fact: 'a used variable is required', go: '{{.variables.a}}', handlebars: '{{variables.a}}', variables: ['variables.a used true'] },
  { fact: 'args is another name for variables', go: '{{.args.a.b}}', handlebars: '{{args.a.b}}', variables: ['variables.a.b used true'] },
  { fact: 'a bare name is a variable', go: '{{.a}}', handlebars: '{{a}}', variables: ['variables.a used true'] },
  { fact: 'a tested variable is not required', go: '{{if .variables.a}}x{{end}}', handlebars: '{{#if variables.a}}x{{/if}}', variables: ['variables.a tested false'] },
  { fact: 'what is used behind its test is not required', go: '{{if .variables.a}}{{.variables.a}}{{end}}', handlebars: '{{#if variables.a}}{{variables.a}}{{/if}}', variables: ['variables.a used false'] },
  { fact: 'what lies inside something tested is not required', go: '{{with .variables.a}}{{.b}}{{end}}', handlebars: '{{#with variables.a}}{{b}}{{/with}}', variables: ['variables.a tested false', 'variables.a.b used false'] },
  { fact: 'each of several values is tested in which a member is looked up', go: '{{index (or .variables.a .variables.b) "c"}}{{index (and .variables.d .variables.e) "f"}}', handlebars: '{{lookup (or variables.a variables.b) "c"}}{{index (and variables.d variables.e) "f"}}', variables: { go: ['variables.a tested false', 'variables.a.c used false', 'variables.b tested false', 'variables.b.c used false', 'variables.d tested false', 'variables.e tested false', 'variables.e.f used false'], handlebars: ['variables.a tested false', 'variables.b tested false', 'variables.d tested false', 'variables.e tested false'] } },
  { fact: 'a fallback is tested too in which a member is looked up', go: '{{index (default .vscode.a .variables.b) "c"}}', handlebars: '{{lookup (default vscode.a variables.b) "c"}}', variables: { go: ['variables.b tested false', 'variables.b.c used false'], handlebars: ['variables.b tested false'] }, environs: { go: ['vscode.a false', 'vscode.a.c false'], handlebars: ['vscode.a false'] } },
  { fact: 'a default of the template makes a variable optional', go: '{{default "x" .variables.a}}', handlebars: '{{default "x" variables.a}}', variables: ['variables.a tested false'] },
  { fact: 'a declared default makes a variable optional', parameters: [{ name: 'a', default: 1 }], go: '{{.variables.a}}', handlebars: '{{variables.a}}', variables: ['variables.a used false'] },
  { fact: 'a declared parameter is required though it is only tested', parameters: [{ name: 'a' }], go: '{{if .variables.a}}x{{end}}', handlebars: '{{#if variables.a}}x{{/if}}', variables: ['variables.a tested true'] },
  { fact: 'a required parameter is listed though nothing reads it', parameters: [{ name: 'a' }], go: '{{/* go */}}x', handlebars: 'x', variables: ['variables.a tested true'] },
  { fact: 'a name given to a value is no test of it', go: '{{$t := .variables.tone}}{{$t}}{{$v := .variables}}{{$v.x}}', handlebars: '{{variables.tone}}{{variables.x}}', variables: ['variables.tone used true', 'variables.x used true'] },
  { fact: 'elements of a list are *', go: '{{range .variables.a}}{{.b}}{{end}}', handlebars: '{{#each variables.a}}{{b}}{{/each}}', variables: ['variables.a used true', 'variables.a.*.b used true'] },
  { fact: 'one path is one row', go: '{{.variables.a}}{{.variables.a}}', handlebars: '{{variables.a}}{{variables.a}}', variables: ['variables.a used true'] },
  { fact: 'a name of a module is a shared variable', go: '{{.vscode.rules}}{{.vscode.gone}}', handlebars: '{{vscode.rules}}{{vscode.gone}}', environs: ['vscode.rules true', 'vscode.gone false'] },
  { fact: 'an indexed name is a shared variable', go: '{{.team.name}}', handlebars: '{{team.name}}', environs: ['team.name true'] },
  { fact: 'a computed segment is *', go: '{{index .chat .variables.s}}', handlebars: '{{lookup chat variables.s}}', variables: ['variables.s used true'], environs: ['chat.* true'] },
  { fact: 'an undeclared bare name can only be a shared variable', parameters: [{ name: 'b', default: 1 }], go: '{{.a}}', handlebars: '{{a}}', environs: ['a false'] },
  { fact: 'who uses the root as a whole reads all variables', go: '{{json .}}{{range $k, $v := $}}{{$k}}{{end}}', handlebars: '{{json @root}}{{#each this}}{{@key}}{{/each}}', variables: ['variables used false'] },
  { fact: 'who tests the root, or reads a member of it, does not', go: '{{if .}}{{with $}}{{.variables.a}}{{end}}{{end}}', handlebars: '{{#if this}}{{#with @root}}{{variables.a}}{{/with}}{{/if}}', variables: ['variables.a used true'] },
  { fact: 'facts about the caller are of their own kind', go: '{{.caller.name}}', handlebars: '{{caller.name}}', caller: ['caller.name used'] },
  { fact: 'tools come with their arguments as written', go: '{{codebase_lookup_ref "A" .variables.q}}', handlebars: '{{codebase_lookup_ref "A" variables.q}}', variables: ['variables.q used true'], tools: [['codebase.lookup_ref', '"A"', 'Q']] },
  { fact: 'a name that is a tool is no variable', go: '{{now}}', handlebars: '{{now}}', tools: [['now']] }
]

const rows = (json: JsonView, list: string, ...fields: string[]) => (json[list] as unknown as JsonView[]).map(row => fields.map(field => String(row[field])).join(' '))

describe('GET /api/prompts/{id}/needs', () => {
  const prompts = cases.flatMap(({ parameters, ...texts }, index) => (['go', 'handlebars'] as const).map(syntax => [`templates:${syntax}:${index}`, { userPrompt: texts[syntax], syntax, parameters }]))
  const started = shared(suite => startService(suite, { ...common, ...Object.fromEntries(prompts) as object }))
  for (const [index, { fact, variables = [], environs = [], caller = [], tools = [] }] of cases.entries()) {
    for (const syntax of ['go', 'handlebars'] as const) {
      it(`${syntax}: ${fact}`, async () => {
        const { get } = await started()
        const { status, json } = await get(`/api/prompts/${syntax}.${index}/needs`)
        assert.equal(status, 200)
        assert.deepEqual(rows(json, 'variables', 'path', 'use', 'required'), 'go' in variables ? variables[syntax] : variables)
        assert.deepEqual(rows(json, 'environs', 'path', 'registered'), 'go' in environs ? environs[syntax] : environs)
        assert.deepEqual(rows(json, 'caller', 'path', 'use'), caller)
        const written = (json['tools'] as unknown as Array<{ id: string, arguments: string[] }>).map(({ id, arguments: given }) => [id, ...given.map(each => each.replace(/^\.?variables\.q$/, 'Q'))])
        assert.deepEqual(written, tools)
      })
    }
  }

  const partials: ReadonlyArray<{ fact: string, prompts: Readonly<Record<string, unknown>>, expected: string[] }> = [
    { fact: 'needs of a partial name it', prompts: { p: '{{> q}}', q: '{{variables.a}}' }, expected: ['variables.a q'] },
    { fact: 'Go reaches Handlebars', prompts: { p: '{{template "q" .}}', q: '{{#if variables.a}}x{{/if}}' }, expected: ['variables.a q'] },
    { fact: 'Handlebars reaches Go', prompts: { p: '{{> q}}', q: '{{.variables.a}}' }, expected: ['variables.a q'] },
    { fact: 'a partial reads below its argument', prompts: { p: '{{> q variables.user}}', q: '{{name}}' }, expected: ['variables.user undefined', 'variables.user.name q'] },
    { fact: 'a Go partial reads below its argument', prompts: { p: '{{template "q" .variables.user}}', q: '{{.name}}' }, expected: ['variables.user undefined', 'variables.user.name q'] },
    { fact: 'a partial in a template that is called twice reads below both arguments', prompts: { p: '{{define "row"}}{{template "q" .}}{{end}}{{template "row" .variables.a}}{{template "row" .variables.b}}', q: '{{.name}}' }, expected: ['variables.a undefined', 'variables.b undefined', 'variables.a.name q', 'variables.b.name q'] },
    { fact: 'a partial is given the root', prompts: { p: '{{> q @root}}{{#> q this}}{{/q}}', q: '{{template "r" .}}{{.variables.a}}', r: '{{.variables.b}}' }, expected: ['variables.a q', 'variables.b r'] },
    { fact: 'a partial uses all of the root, or all of its argument', prompts: { p: '{{> q}}{{> r variables.a}}', q: '{{json this}}', r: '{{json .}}' }, expected: ['variables.a undefined', 'variables q'] },
    { fact: 'a partial of a partial reads below both arguments', prompts: { p: '{{> q variables.a}}', q: '{{> r b}}', r: '{{c}}' }, expected: ['variables.a undefined', 'variables.a.b q', 'variables.a.b.c r'] },
    { fact: 'variables stay reachable in a partial with an argument', prompts: { p: '{{> q variables.user}}', q: '{{variables.b}}' }, expected: ['variables.user undefined', 'variables.b q'] },
    { fact: 'what the call names is no need', prompts: { p: '{{> q title="x"}}', q: '{{title}}{{a}}' }, expected: ['variables.a q'] },
    { fact: 'what a partial reads of a tool\'s result is no need', prompts: { p: '{{> q (codebase_lookup_ref "A")}}', q: '{{name}}' }, expected: [] },
    { fact: 'a loop gives its element', prompts: { p: '{{#each variables.l}}{{> q}}{{/each}}', q: '{{name}}' }, expected: ['variables.l undefined', 'variables.l.*.name q'] },
    { fact: 'a partial that includes itself ends', prompts: { p: '{{variables.a}}{{#if variables.a}}{{> p}}{{/if}}' }, expected: ['variables.a undefined'] },
    { fact: 'a partial that descends for ever ends', prompts: { p: '{{> q variables.tree}}', q: '{{name}}{{#each children}}{{> q}}{{/each}}' }, expected: ['variables.tree undefined', 'variables.tree.name q', 'variables.tree.children q'] }
  ]
  for (const { fact, prompts, expected } of partials) {
    it(fact, async t => {
      const { get } = await startService(t, { ...common, ...Object.fromEntries(Object.entries(prompts).map(([id, text]) => [`templates:${id}`, text])) })
      const { json } = await get('/api/prompts/p/needs')
      assert.deepEqual(rows(json, 'variables', 'path', 'in'), expected)
      assert.equal(json['complete'], true)
    })
  }

  it('gives a partial\'s default to what the prompt does not declare', async t => {
    const { get } = await startService(t, { 'templates:p': '{{> q}}', 'templates:q': { userPrompt: '{{variables.tone}}', parameters: [{ name: 'tone', default: 'dry' }] } })
    const { json } = await get('/api/prompts/p/needs')
    assert.deepEqual(json['variables'], [{ path: 'variables.tone', use: 'used', required: false, default: 'dry', line: 1, column: 3, in: 'q' }])
  })

  it('says in which message of several, and where', async t => {
    const { get } = await startService(t, { 'templates:p': { messages: [{ role: 'system', content: 'x' }, { role: 'user', content: 'a\n {{variables.b}}' }] } })
    const { json } = await get('/api/prompts/p/needs')
    assert.deepEqual(json['variables'], [{ path: 'variables.b', use: 'used', required: true, line: 2, column: 4, messageIndex: 1 }])
  })

  it('lists what is not registered without an id', async t => {
    const { get } = await startService(t, { 'templates:p': '{{gone_tool 1}}{{> gone}}' })
    const { status, json } = await get('/api/prompts/p/needs')
    assert.equal(status, 200)
    assert.deepEqual(json['tools'], [{ name: 'gone_tool', arguments: ['1'], line: 1, column: 1 }])
    assert.deepEqual(json['partials'], [{ name: 'gone', arguments: [], line: 1, column: 16 }])
  })

  it('lists the tools that a prompt offers its model, after those that its templates call', async t => {
    const { get } = await startService(t, { ...common, 'templates:p': { userPrompt: '{{> q}}{{now}}', defaults: { toolLoop: { tools: ['codebase.lookup_ref', 'now', 'gone'] } } }, 'templates:q': { userPrompt: 'x', defaults: { toolLoop: { tools: ['mcp.x'] } } } })
    const { json } = await get('/api/prompts/p/needs')
    assert.deepEqual(json['tools'], [
      { name: 'now', id: 'now', arguments: [], line: 1, column: 8 },
      { name: 'codebase.lookup_ref', id: 'codebase.lookup_ref', arguments: [] },
      { name: 'now', id: 'now', arguments: [] },
      { name: 'gone', arguments: [] }
    ])
  })

  it('stops where partials call each other with ever other arguments', async t => {
    const names = [...'abcdefghijklmn']
    const calls = (next: string) => `{{> ${next} x}}{{> ${next} y}}{{> ${next} z}}`
    const prompts = names.map((name, index) => [`templates:${name}`, index === names.length - 1 ? '{{v}}' : calls(names[index + 1] as string)])
    const { get } = await startService(t, Object.fromEntries(prompts))
    const { status, json } = await get('/api/prompts/a/needs')
    assert.deepEqual([status, json['complete']], [200, false])
  })

  it('follows few arguments whose paths are long', async t => {
    const names = [...'abcdefghijklmn']
    const calls = (next: string) => `{{> ${next} x}}{{> ${next} y}}{{> ${next} z}}`
    const textOf = (index: number) => index === 0 ? `{{> b ${'n'.repeat(20_000)}}}` : index === names.length - 1 ? '{{v}}' : calls(names[index + 1] as string)
    const { get } = await startService(t, Object.fromEntries(names.map((name, index) => [`templates:${name}`, textOf(index)])))
    const { json } = await get('/api/prompts/a/needs')
    assert.equal(json['complete'], false)
    assert.ok(JSON.stringify(json['variables']).length < 10_000_000)
  })

  it('says of a text that reads more than is looked at', async t => {
    const { get } = await startService(t, { 'templates:p': '{{$x := .variables.a}}{{range .variables.l}}{{$x = $x.next}}{{end}}{{$x.name}}', 'templates:q': '{{template "p" .}}' })
    for (const id of ['p', 'q']) assert.equal((await get(`/api/prompts/${id}/needs`)).json['complete'], false)
  })

  it('looks at few paths that are as long as the text', async t => {
    const levels = [...'abcd'].map((name, index) => `{{define "${name}"}}${[...'stuvwxyz'].map(field => `{{template "${'abcde'[index + 1] as string}" .${field}}}`).join('')}{{end}}`)
    const { get } = await startService(t, { 'templates:p': `${levels.join('')}{{define "e"}}{{.x}}{{end}}{{template "a" .${'n'.repeat(40_000)}}}` })
    const { json } = await get('/api/prompts/p/needs')
    assert.equal(json['complete'], false)
    assert.ok(JSON.stringify(json['variables']).length < 10_000_000)
  })

  const failures = [['/api/prompts/gone/needs', 404, 'PROMPT_NOT_FOUND'], ['/api/prompts/broken/needs', 400, 'TEMPLATE_SYNTAX']] as const
  for (const [url, status, code] of failures) {
    it(`${url} answers ${status} ${code}`, async t => {
      const { get } = await startService(t, { 'templates:broken': { userPrompt: '{{#if', syntax: 'handlebars' } })
      const reply = await get(url)
      assert.deepEqual([reply.status, reply.json['code']], [status, code])
    })
  }
})
