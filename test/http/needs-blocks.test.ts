import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonView, startService } from '../helpers/service.ts'

const shared = { 'environs:vscode:rules': '"x"', 'environs:team:name': '"x"', 'tools:now': { type: 'restful', url: 'http://127.0.0.1:1/', parameters: [] } }
const box = '{{#each variables.items}}- {{> @partial-block}}{{/each}}'

/** Handlebars prompts, of which `p` is asked for: its variables as `path use required`, its shared variables as `path use`. */
const cases: ReadonlyArray<{ fact: string, prompts: Readonly<Record<string, unknown>>, variables?: string[], environs?: string[] }> = [
  {
    fact: 'a block over a value reads what is the root\'s',
    prompts: { p: '{{#variables.strict}}Obey {{vscode.rules}}, {{variables.tone}}{{/variables.strict}}' },
    variables: ['variables.strict tested false', 'variables.strict.vscode.rules possible false', 'variables.strict.*.vscode.rules possible false', 'variables.tone used true'],
    environs: ['vscode.rules possible']
  },
  {
    fact: 'a block over a value may read members and elements of it',
    prompts: { p: '{{#variables.user}}{{name}}{{/variables.user}}' },
    variables: ['variables.user tested false', 'variables.user.name possible false', 'variables.user.*.name possible false']
  },
  {
    fact: 'what is only possible guards nothing',
    prompts: { p: '{{#variables.user}}{{name}}{{/variables.user}}{{variables.user.name}}{{#with (or variables.a variables.b)}}{{n}}{{/with}}' },
    variables: ['variables.user tested false', 'variables.user.name used false', 'variables.user.*.name possible false', 'variables.a tested false', 'variables.b tested false', 'variables.a.n possible false', 'variables.b.n possible false']
  },
  {
    fact: 'a block over a tool\'s result reads nothing of the root',
    prompts: { p: '{{#now}}{{name}}{{/now}}' },
    variables: []
  },
  {
    fact: 'an inline partial reads the root where it is called with that',
    prompts: { p: '{{#*inline "row"}}{{variables.x}} {{vscode.rules}}{{/inline}}{{> row}}' },
    variables: ['variables.x used true'],
    environs: ['vscode.rules used']
  },
  {
    fact: 'an inline partial that a layout calls reads the variables',
    prompts: { p: '{{#> layout}}{{#*inline "body"}}{{variables.x}}{{/inline}}{{/layout}}', layout: '{{> body}}' },
    variables: ['variables.x used true']
  },
  {
    fact: 'a prompt is read that an inline partial of its name includes',
    prompts: { p: '{{#> layout}}{{#*inline "body"}}{{variables.x}}{{> body}}{{/inline}}{{/layout}}', layout: '{{> body}}', body: '{{variables.y}}' },
    variables: ['variables.x used true', 'variables.y used true']
  },
  {
    fact: 'a partial in an inline partial reads what that is called with',
    prompts: { p: '{{#*inline "row"}}{{> card user}}{{/inline}}{{> row variables.a}}{{> row variables.b}}', card: '{{name}}' },
    variables: ['variables.a.user used true', 'variables.b.user used true', 'variables.a used true', 'variables.b used true', 'variables.a.user.name used true', 'variables.b.user.name used true']
  },
  {
    fact: 'a partial in a block over a value may read below the value',
    prompts: { p: '{{#variables.user}}{{> card}}{{/variables.user}}', card: '{{name}}{{variables.a}}' },
    variables: ['variables.user tested false', 'variables.a used true', 'variables.user.name possible false', 'variables.user.*.name possible false']
  },
  {
    fact: 'a partial is not read that an inline one stands in for',
    prompts: { p: '{{#*inline "head"}}{{variables.own}}{{/inline}}{{> page}}', page: '<{{> head}}>{{> foot}}', foot: '{{> head}}', head: '{{variables.title}}' },
    variables: ['variables.own used true']
  },
  {
    fact: 'a partial is read beside the block with an inline one of its name',
    prompts: { p: '{{#> page}}{{#*inline "head"}}x{{/inline}}{{/page}}{{> page}}', page: '<{{> head}}>', head: '{{variables.title}}' },
    variables: ['variables.title used true']
  },
  {
    fact: 'a partial reads below a named argument',
    prompts: { p: '{{> card user=variables.user title="x"}}', card: '{{user.name}}{{title}}{{> deeper who=user.friend}}', deeper: '{{who.name}}' },
    variables: ['variables.user used true', 'variables.user.name used true', 'variables.user.friend used true', 'variables.user.friend.name used true']
  },
  {
    fact: 'a partial that descends by a named argument ends',
    prompts: { p: '{{> tree node=variables.t}}', tree: '{{node.name}}{{#if node.next}}{{> tree node=node.next}}{{/if}}' },
    variables: ['variables.t used true', 'variables.t.name used true', 'variables.t.next used false']
  },
  {
    fact: 'a name of a module may be a member of what a partial is called with',
    prompts: { p: '{{> car variables.car}}', car: '{{model}} {{brand}}' },
    variables: ['variables.car used true', 'variables.car.brand used true', 'variables.car.model possible false'],
    environs: ['model used']
  },
  {
    fact: 'a name of a module that a call gives is no shared variable',
    prompts: { p: '{{> car model=variables.m}}', car: '{{model}}' },
    variables: ['variables.m used true', 'variables.m used true']
  },
  {
    fact: 'a name that is published may be that shared variable',
    prompts: { p: '{{#> box}}{{team.name}}{{/box}}', box },
    variables: ['variables.items used true'],
    environs: ['team.name possible']
  },
  {
    fact: 'the body given to a partial is not taken for the prompt\'s own text',
    prompts: { p: '{{#> box}}{{title}}{{variables.a}}{{/box}}', box },
    variables: ['variables.a used true', 'variables.items used true']
  }
]

describe('needs of texts whose context the call decides', () => {
  for (const { fact, prompts, variables = [], environs = [] } of cases) {
    it(fact, async t => {
      const texts = Object.entries(prompts).map(([id, userPrompt]) => [`templates:${id}`, { syntax: 'handlebars', userPrompt }])
      const { get } = await startService(t, { ...shared, ...Object.fromEntries(texts) })
      const { json } = await get('/api/prompts/p/needs')
      const rows = (list: string, ...fields: string[]) => (json[list] as unknown as JsonView[]).map(row => fields.map(field => String(row[field])).join(' '))
      assert.deepEqual(rows('variables', 'path', 'use', 'required'), variables)
      assert.deepEqual(rows('environs', 'path', 'use'), environs)
      assert.equal(json['complete'], true)
    })
  }

  it('a lint sees what an inline partial reads', async t => {
    const { post } = await startService(t, shared)
    const prompt = { syntax: 'handlebars', userPrompt: '{{#*inline "i"}}{{json variables}}{{vscode.typo}}{{/inline}}{{> i}}', parameters: [{ name: 'a' }] }
    const { json } = await post('/api/lint', { prompt })
    assert.deepEqual((json['diagnostics'] as unknown as JsonView[]).map(({ code, column }) => `${String(code)} ${String(column)}`), ['VARIABLE_UNSATISFIABLE 37'])
  })

  it('a lint takes none of their names for a variable', async t => {
    const { post } = await startService(t, { ...shared, 'templates:box': box })
    const userPrompt = '{{#> box}}{{title}}{{/box}}{{#variables.on}}{{name}}{{now}}{{/variables.on}}{{#with (or variables.a variables.b)}}{{c}}{{/with}}'
    const { json } = await post('/api/lint', { prompt: { syntax: 'handlebars', userPrompt } })
    assert.deepEqual(json['diagnostics'], [])
  })
})
