import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ServiceError } from '../../../src/base/errors.ts'
import { type JsonObject } from '../../../src/base/json.ts'
import { render, type Setting } from './render.ts'

const VARIABLES: JsonObject = {
  name: 'Ann',
  empty: '',
  zero: 0,
  off: false,
  none: null,
  list: [3, 1, 2],
  files: [{ name: 'a.go', size: 1 }, { name: 'b.go' }],
  user: { name: 'Bob', id: 12345678901234567890n },
  big: 9007199254740993n
}

/** Template and output. */
const OUTPUTS: ReadonlyArray<readonly [string, string]> = [
  ['{{name}} {{variables.name}} {{args.name}} {{@root.variables.name}}', 'Ann Ann Ann Ann'],
  ['[{{none}}][{{empty}}]{{zero}}{{off}}', '[][]0false'],
  ['{{big}} {{user.id}} {{user}}', '9007199254740993 12345678901234567890 {"name":"Bob","id":12345678901234567890}'],
  ['{{json 12345678901234567890}}', '12345678901234567890'],
  ['{{default "x" name}}{{default "x" empty}}{{default "x" none}}{{default "x" missing}}{{default "x" missing.deep}}', 'Annxxxx'],
  ['{{default "x" zero}}{{default "x" off}}{{default (default "y" empty) missing}}', '0falsey'],
  ['{{or empty zero name}} {{and name zero missing}} {{or name missing}} {{not missing}}{{not name}}', 'Ann 0 Ann truefalse'],
  ['{{#if (and name list)}}A{{/if}}{{#if (or missing off)}}B{{else}}C{{/if}}', 'AC'],
  ['{{eq name "Ann"}}{{eq name "x" "Ann"}}{{eq zero "0"}}{{eq none undefined}}{{eq big 9007199254740992}}', 'truetruefalsetruefalse'],
  ['{{ne name "x"}}{{lt 1 2}}{{le 2 2}}{{gt big 9007199254740992}}{{ge "b" "a"}}{{lt none 1}}', 'truetruetruetruetruefalse'],
  ['{{len name}}{{len list}}{{len user}}{{len none}}', '3320'],
  ['{{index files 1 "name"}} {{index list 0}} {{lookup user "name"}}', 'b.go 3 Bob'],
  ['{{join "," (sortBy "" list)}} {{upper (join "-" list)}}', '1,2,3 3-1-2'],
  ['{{#split "," "a,b"}}<{{this}}>{{/split}}', '<a><b>'],
  ['{{#if missing}}A{{else}}B{{/if}}{{#unless missing}}C{{/unless}}{{#with missing}}D{{else}}E{{/with}}', 'BCE'],
  ['{{#each missing}}A{{else}}B{{/each}}{{#missing}}C{{/missing}}{{^missing}}D{{/missing}}', 'BD'],
  ['{{#with user}}{{name}}{{../name}}{{@root.name}}{{/with}}', 'BobAnnAnn'],
  ['{{date "YYYY-MM-DD"}}', '2026-02-03'],
  ['{{#each list}}{{this}}{{/each}}{{first list}}{{last list}}', '31232']
]

/** Template, and what is missing. */
const MISSES: ReadonlyArray<readonly [string, readonly string[]]> = [
  ['{{missing}}', ['variables.missing 1:1']],
  ['Hello\n  {{variables.user.mail.home}}', ['variables.user.mail.home 2:3']],
  ['{{a}} {{b.c}}', ['variables.a 1:1', 'variables.b.c 1:7']],
  ['{{#each variables.files}}{{size}}{{/each}}', ['variables.files.*.size 1:26']],
  ['{{#each files as |file|}}{{file.size}}{{/each}}', ['files.*.size 1:26']],
  ['{{#with variables.user as |u|}}{{u.mail}}{{/with}}', ['variables.user.mail 1:32']],
  ['{{#user as |u|}}{{u.mail}}{{/user}}', ['u.mail 1:17']],
  ['{{#with variables.user}}{{mail}}{{../other}}{{/with}}', ['variables.user.mail 1:25', 'variables.other 1:33']],
  ['{{#each missing}}x{{/each}}', ['variables.missing 1:9']],
  ['{{upper missing}}', ['variables.missing 1:9']],
  ['{{upper (lower missing)}}', ['variables.missing 1:16']],
  ['{{join missing other}}', ['variables.missing 1:8', 'variables.other 1:16']],
  ['{{eq missing other}}', ['variables.missing 1:6', 'variables.other 1:14']],
  ['{{len missing}}', ['variables.missing 1:7']],
  ['{{or missing other}}', ['variables.other 1:1']],
  ['{{and missing other}}', ['variables.missing 1:1']],
  ['{{upper (or missing other)}}', ['variables.other 1:9']],
  ['{{default missing other}}', ['variables.missing 1:1']],
  ['{{lookup missing "x"}}', ['variables.missing.x 1:1']],
  ['{{lookup user missing}}', ['variables.missing 1:15']],
  ['{{index files 7 "name"}}', ['files.7.name 1:1']],
  ['{{none.deeper}}', ['none.deeper 1:1']],
  ['{{> p missing}}', ['variables.missing 1:7']],
  ['{{> p x=missing}}', ['variables.missing 1:9']],
  ['{{../name}}', ['../name 1:1']],
  ['{{@index}}', ['@index 1:1']],
  ['{{constructor}}{{user.constructor}}{{user.__proto__}}', ['variables.constructor 1:1', 'user.constructor 1:16', 'user.__proto__ 1:36']],
  ['{{list.length}}{{name.length}}{{list.map}}', ['list.length 1:1', 'name.length 1:16', 'list.map 1:31']],
  ['{{vscode.rules}}', ['vscode.rules 1:1']]
]

async function missesOf (text: string, setting: Setting): Promise<readonly string[]> {
  const error = await render(text, setting).then(({ output }) => assert.fail(`gave ${output}`), (error: ServiceError) => error)
  assert.equal(error.code, 'VARIABLE_MISSING', error.message)
  const { missing } = error.details as { missing: ReadonlyArray<{ path: string, line: number, column: number }> }
  return missing.map(({ path, line, column }) => `${path} ${line}:${column}`)
}

describe('values in Handlebars', () => {
  for (const [text, expected] of OUTPUTS) {
    it(`renders ${text}`, async () => assert.equal((await render(text, { variables: VARIABLES })).output, expected))
  }

  for (const [text, expected] of MISSES) {
    it(`misses what ${JSON.stringify(text)} consumes`, async () => {
      assert.deepEqual(await missesOf(text, { variables: VARIABLES, partials: { p: '{{this}}' } }), expected)
    })
  }

  it('prints data whose members are called like methods of JavaScript', async () => {
    const value: JsonObject = JSON.parse('{"toString":"a","valueOf":1,"__proto__":{"x":1},"then":2}')
    const { output } = await render('{{value}} {{value.toString}} {{value.__proto__.x}}', { variables: { value } })
    assert.equal(output, '{"toString":"a","valueOf":1,"__proto__":{"x":1},"then":2} a 1')
  })

  it('never renders the text of a value', async () => {
    assert.equal((await render('{{text}}', { variables: { text: '{{name}} <b>&' } })).output, '{{name}} <b>&')
  })

  it('takes a declared parameter for a path where a tool has its name', async () => {
    const setting = { variables: { find: 'variable' }, declared: ['find'], tools: { find: () => 'tool' } }
    assert.equal((await render('{{find}}', setting)).output, 'variable')
  })

  it('takes a builtin without arguments for a path', async () => {
    assert.equal((await render('{{date}} {{first}}', { variables: { date: 'today', first: 1 } })).output, 'today 1')
  })

  it('names the function that cannot work on its arguments, and the place', async () => {
    await assert.rejects(render('x\n{{upper list}}', { variables: VARIABLES }), { name: 'RenderError', message: 'upper: text must be a text, not a list', line: 2, column: 1 })
  })
})

describe('partials in Handlebars', () => {
  const variables = { name: 'Ann', user: { name: 'Bob' } }

  it('see the root where their context lacks its names', async () => {
    const partials = { p: '{{name}} of {{variables.name}} {{@root.name}} {{#with this}}{{name}}{{/with}}' }
    assert.equal((await render('{{> p user}}', { variables, partials })).output, 'Bob of Ann Ann Bob')
  })

  it('see their own context first', async () => {
    assert.equal((await render('{{> p user variables="own"}}', { variables, partials: { p: '{{variables}}' } })).output, 'own')
  })

  it('do not see bare names of the caller\'s variables', async () => {
    const setting = { variables: { title: 'T', user: { name: 'Bob' } }, partials: { p: '{{title}}' } }
    assert.deepEqual(await missesOf('{{> p user}}', setting), ['title 1:1'])
  })

  it('have the root as their context when they are called from it', async () => {
    assert.equal((await render('{{> p x=1}}', { variables, partials: { p: '{{x}}{{name}}{{variables.name}}' } })).output, '1AnnAnn')
  })

  it('get shared variables that they do not look at unread', async () => {
    const setting = { environs: { 'vscode.a': 1, 'vscode.b': 2 }, partials: { p: '{{a}}' } }
    const { output, fetches } = await render('{{> p vscode}}', setting)
    assert.deepEqual({ output, fetches }, { output: '1', fetches: 1 })
  })

  it('are inline ones first', async () => {
    assert.equal((await render('{{#*inline "p"}}inline{{/inline}}{{> p}}', { partials: { p: 'prompt' } })).output, 'inline')
  })
})

describe('shared variables in Handlebars', () => {
  const environs = { 'vscode.rules': 'R', 'vscode.open.a': { x: 1 }, 'vscode.open.b': [2], 'chat.s1': 'hello', 'chat.s1.x': 'never' }

  it('are fetched in one round trip', async () => {
    const { output, fetches, passes } = await render('{{vscode.rules}}{{vscode.open.a.x}}{{vscode.open}}', { environs })
    assert.deepEqual({ output, fetches, passes }, { output: 'R1{"a":{"x":1},"b":[2]}', fetches: 1, passes: 2 })
  })

  it('are not fetched where they are only tested or counted', async () => {
    const { output, fetches } = await render('{{#if vscode.open}}open{{/if}}{{len vscode.open}}', { environs })
    assert.deepEqual({ output, fetches }, { output: 'open2', fetches: 0 })
  })

  it('are iterated in the order of their names', async () => {
    const { output } = await render('{{#each vscode.open}}{{@key}}={{this}};{{/each}}', { environs })
    assert.equal(output, 'a={"x":1};b=[2];')
  })

  it('are looked up by one segment', async () => {
    const variables = { id: 's1', other: 's1:x' }
    assert.equal((await render('{{lookup chat variables.id}}', { environs: { 'chat.s1': 'hello' }, variables })).output, 'hello')
    assert.deepEqual(await missesOf('{{lookup chat variables.other}}', { environs, variables }), ['chat.s1:x 1:1'])
  })
})
