import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { type Known, nameAt, optionsAt } from '../../console/edit/template-names.ts'
import { placeAround, placeBefore, type Syntax } from '../../console/edit/template-place.ts'
import { texts as english } from '../../console/text/en/tabs.ts'
import { texts as russian } from '../../console/text/ru/tabs.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { tokenEntry } from '../helpers/tokens.ts'

const KNOWN: Known = {
  fields: [{ name: 'name', description: 'Who is greeted' }, { name: 'files' }, { name: 'tone', standard: 'plain' }],
  values: { name: 'Ada', files: [{ path: 'a.go', size: 3 }] },
  needs: undefined,
  environs: ['company.name', 'company.first-line'],
  prompts: [{ id: 'team.rules', description: 'The rules' }, { id: 'team.odd name', description: '' }],
  tools: [{ function: 'crm_ticket', description: 'A ticket' }]
}

/** The text without its mark `¦`, and where that stands. */
function marked (source: string): readonly [text: string, offset: number] {
  return [source.replace('¦', ''), source.indexOf('¦')]
}

function optionsOf (source: string, syntax: Syntax, known = KNOWN) {
  const [template, offset] = marked(source)
  const place = placeBefore(template, offset, syntax)
  return place && optionsAt(place, template, syntax, known)
}

describe('The names that fit in a template', () => {
  const NOWHERE: ReadonlyArray<readonly [Syntax, string]> = [
    ['handlebars', 'plain na¦'], ['handlebars', '{¦'], ['handlebars', '{{name}}¦'], ['handlebars', '{{name}¦}'], ['handlebars', '{{! na¦ }}'], ['handlebars', '{{!-- {{na¦ --}}'], ['handlebars', '\\{{na¦'],
    ['handlebars', '{{na\nplain¦'], ['handlebars', '{{upper "na¦'], ['go', 'plain .na¦'], ['go', '{{/* .na¦ */}}'], ['go', '{{- /* .na¦ */ -}}'], ['go', '{{upper "na¦"}}'], ['go', '{{upper `na¦`}}'], ['go', '{{define "na¦"}}']
  ]
  for (const [syntax, source] of NOWHERE) {
    it(`are none in ${JSON.stringify(source)}, ${syntax}`, () => { assert.equal(optionsOf(source, syntax), undefined) })
  }

  const WRITTEN: ReadonlyArray<readonly [Syntax, string, readonly string[]]> = [
    ['handlebars', '{{na¦', ['variables.name', 'company.name']],
    ['handlebars', '{{ variables.na¦ }}', ['variables.name']],
    ['handlebars', '{{company.fi¦', ['company.first-line']],
    ['handlebars', '{{#each files as |file i|}}{{na¦', ['@root.variables.name', '@root.company.name']],
    ['handlebars', '{{#each files as |file i|}}{{fil¦', ['file', '@root.variables.files']],
    ['handlebars', '{{#each files as |file i|}}{{file.¦', ['file.path', 'file.size']],
    ['handlebars', '{{#each variables.files}}{{this.pa¦', ['this.path']],
    ['handlebars', '{{#each files as |file|}}{{/each}}{{fil¦', ['variables.files']],
    ['handlebars', '{{#each files as |file|}}{{else}}{{fil¦', ['variables.files']],
    ['handlebars', '{{#if name}}{{na¦', ['variables.name', 'company.name']],
    ['handlebars', '{{#each files}}{{../na¦', ['variables.name', 'company.name']],
    ['handlebars', '{{#each files}}{{@ind¦', ['@index']],
    ['handlebars', '{{> ru¦', ['team.rules']],
    ['handlebars', '{{> od¦', ['"team.odd name"']],
    ['handlebars', '{{#*inline "mine"}}{{/inline}}{{> mi¦', ['mine']],
    ['handlebars', '{{#ea¦', ['each ']],
    ['handlebars', '{{#each files}}{{/¦', ['each']],
    ['handlebars', '{{upper (tri¦', ['trim ']],
    ['handlebars', '{{upper tri¦', []],
    ['handlebars', '{{crm¦', ['crm_ticket ']],
    ['handlebars', '{{loo¦', ['lookup ']],
    ['handlebars', '{{printf¦', []],
    ['go', '{{.na¦', ['.variables.name', '.company.name']],
    ['go', '{{na¦ }}', ['.variables.name', '.company.name']],
    ['go', '{{upper .company.fi¦', ['(index .company "first-line")']],
    ['go', '{{range .variables.files}}{{$.na¦', ['$.variables.name', '$.company.name']],
    ['go', '{{range .variables.files}}{{.¦', ['.path', '.size']],
    ['go', '{{with .variables.files}}{{.pa¦', []],
    ['go', '{{range $i, $file := .variables.files}}{{$f¦', ['$file']],
    ['go', '{{range $i, $file := .variables.files}}{{$file.s¦', ['$file.size']],
    ['go', '{{$x := 1}}{{if true}}{{$y := 2}}{{end}}{{$¦', ['$x']],
    ['go', '{{template "ru¦" .}}', ['"team.rules"']],
    ['go', '{{ran¦', ['range ']],
    ['go', '{{range .variables.files}}{{brea¦', ['break']],
    ['go', '{{.variables.name | upp¦', ['upper ']],
    ['go', '{{if eq¦', ['eq ']],
    ['go', '{{pri¦', ['print ', 'printf ', 'println ']],
    ['go', '{{loo¦', []],
    ['go', '{{unle¦', []]
  ]
  for (const [syntax, source, expected] of WRITTEN) {
    it(`are ${expected.join(', ') || 'none'} for ${JSON.stringify(source)}, ${syntax}`, () => {
      const found = optionsOf(source, syntax)?.map(({ insert }) => insert) ?? []
      assert.deepEqual(found.slice(0, expected.length || undefined), expected)
    })
  }

  it('are found in a text of nothing but open blocks, too', { timeout: 30_000 }, () => {
    for (const syntax of ['go', 'handlebars'] as const) assert.equal(optionsOf(`${(syntax === 'go' ? '{{range $a, $b := .x}}' : '{{#each x as |a b|}}').repeat(40_000)}{{upp¦`, syntax)?.[0]?.name, 'upper')
  })

  it('begin with those of the prompt, and end with shared variables when these are many', () => {
    const environs = Array.from({ length: 1000 }, (_, index) => `many.v${index}`)
    const kinds = optionsOf('{{¦', 'handlebars', { ...KNOWN, environs })?.map(({ kind }) => kind) ?? []
    assert.deepEqual([...new Set(kinds)], ['variable', 'function', 'tool', 'word', 'shared'])
    assert.equal(optionsOf('{{v999¦', 'handlebars', { ...KNOWN, environs })?.[0]?.name, 'many.v999')
  })
})

describe('What a name in a template is', () => {
  const CASES: ReadonlyArray<readonly [Syntax, string, string | undefined, unknown?]> = [
    ['handlebars', '{{na¦me}}', 'variable name', 'Ada'],
    ['handlebars', '{{variables.na¦me}}', 'variable name', 'Ada'],
    ['handlebars', '{{variables.to¦ne}}', 'variable tone', 'plain'],
    ['handlebars', '{{variables.fi¦les.0.path}}', 'variable files', KNOWN.values['files']],
    ['handlebars', '{{variables.files.[0].pa¦th}}', 'variable files.0.path', 'a.go'],
    ['handlebars', '{{company.na¦me}}', 'shared company.name'],
    ['handlebars', '{{com¦pany.name}}', 'shared company'],
    ['handlebars', '{{nobo¦dy}}', 'unknown nobody'],
    ['handlebars', '{{upp¦er name}}', 'function upper'],
    ['handlebars', '{{da¦te}}', 'unknown date'],
    ['handlebars', '{{upper (tr¦im name)}}', 'function trim'],
    ['handlebars', '{{crm_¦ticket id=1}}', 'tool crm_ticket'],
    ['handlebars', '{{crm_ticket i¦d=1}}', undefined],
    ['handlebars', '{{> team.ru¦les}}', 'partial team.rules'],
    ['handlebars', '{{> "team.ru¦les@7"}}', 'partial team.rules@7'],
    ['handlebars', '{{#ea¦ch files}}{{/each}}', 'word each'],
    ['handlebars', '{{#each files as |fi¦le|}}{{/each}}', 'local file', undefined],
    ['handlebars', '{{#each files as |file|}}{{file.pa¦th}}{{/each}}', 'local file.path', 'a.go'],
    ['handlebars', '{{#each files}}{{pa¦th}}{{/each}}', 'member path', 'a.go'],
    ['handlebars', '{{#each files}}{{@root.na¦me}}{{/each}}', 'variable name', 'Ada'],
    ['handlebars', '{{upper "na¦me"}}', undefined],
    ['handlebars', 'na¦me', undefined],
    ['go', '{{.na¦me}}', 'variable name', 'Ada'],
    ['go', '{{.company.na¦me}}', 'shared company.name'],
    ['go', '{{range .variables.files}}{{.pa¦th}}{{end}}', 'member path', 'a.go'],
    ['go', '{{range .variables.files}}{{$.na¦me}}{{end}}', 'variable name', 'Ada'],
    ['go', '{{with .name}}{{$x := 1}}{{$¦x}}{{end}}', 'local $x'],
    ['go', '{{range $i, $f¦ile := .files}}{{end}}', 'local $file', undefined],
    ['go', '{{.name | upp¦er}}', 'function upper'],
    ['go', '{{pri¦ntf "%s" .name}}', 'function printf'],
    ['go', '{{crm_tick¦et 1}}', 'tool crm_ticket'],
    ['go', '{{template "team.ru¦les" .}}', 'partial team.rules'],
    ['go', '{{if tr¦ue}}', undefined],
    ['go', '{{(crm_ticket 1).na¦me}}', undefined]
  ]
  for (const [syntax, source, expected, value] of CASES) {
    it(`is ${expected ?? 'nothing'} in ${JSON.stringify(source)}, ${syntax}`, () => {
      const [template, offset] = marked(source)
      const place = placeAround(template, offset, syntax)
      const named = place && nameAt(place, template, syntax, KNOWN)
      assert.equal(named && `${named.kind} ${named.name}`, expected)
      if (value !== undefined) assert.deepEqual(named?.value?.now, value)
    })
  }
})

describe('What is said of the functions and words of the template languages', () => {
  it('is said in both languages', () => {
    const functions = Object.keys(JSON.parse(readFileSync('console/edit/functions.json', 'utf8')) as object)
    for (const name of functions) for (const { functionHelp } of [english, russian]) assert.notEqual(functionHelp(name), '', name)
    const sources = ['{{¦', '{{#each x}}{{¦', '{{range .x}}{{¦']
    const own = sources.flatMap(source => (['go', 'handlebars'] as const).flatMap(syntax => optionsOf(source, syntax) ?? [])).filter(({ kind, name }) => kind === 'word' || (kind === 'function' && !functions.includes(name)))
    for (const { name } of own) for (const { wordHelp } of [english, russian]) assert.notEqual(wordHelp(name.replace(/^[#/]/, '')), '', name)
  })
})

describe('An author in the tags of a template', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  async function workbench (t: TestContext, prompt: unknown, further: Readonly<Record<string, unknown>> = {}, token?: string) {
    const service = await startService(t, {
      'templates:team:greet': prompt,
      'templates:team:rules': { description: 'How everybody is served', userPrompt: 'Be kind.' },
      'environs:company:name': `Northwind ${'x'.repeat(1000)}`,
      ...further
    }, token === undefined ? {} : { API_TOKENS: token })
    const page = await openConsole(t, browser, await service.listen(), '/prompts/team.greet', token === undefined ? {} : { token: 'ana-token' })
    await page.locator('.cm-content[aria-autocomplete]').first().waitFor()
    return { page, text: page.locator('.cm-content').first() }
  }

  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`environs:many:v${index}`, `value ${index}`]))

  it('chooses names from a list by keys and by mouse, sees what they are, and is told how many there are', async t => {
    const { page, text } = await workbench(t, { userPrompt: 'Hello {{variables.name}}', parameters: [{ name: 'name', type: 'string', description: 'Who is greeted' }] }, many)
    let asked = 0
    page.on('request', request => { if (/\/api\/environs\?/.test(request.url())) asked++ })
    await text.click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type(' and {{')
    const list = page.getByRole('listbox', { name: 'Names that fit' })
    await list.getByRole('option', { name: 'name variable', selected: true }).waitFor()
    await page.getByText('Who is greeted').nth(1).waitFor()
    assert.deepEqual(await violationsOf(page), [])
    await page.keyboard.type('v99')
    await list.getByRole('option', { name: 'many.v99 shared variable', exact: true }).waitFor()
    await page.getByText('1 of 11', { exact: true }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.getByText('value 990', { exact: true }).waitFor()
    assert.equal(await text.getAttribute('aria-activedescendant'), await list.getByRole('option', { selected: true }).getAttribute('id'))
    await page.keyboard.press('Enter')
    assert.equal(await text.innerText(), 'Hello {{variables.name}} and {{many.v990')
    await page.keyboard.type('}} {{upp')
    await list.getByRole('option', { name: 'upper function' }).click()
    await page.keyboard.type('comp')
    await page.getByText('Northwind').first().waitFor()
    await page.getByText('These are the first 300 of 1010 characters.').waitFor()
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Space')
    await list.waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.type('}}\n{{> rul')
    await page.getByText('How everybody is served').waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.type('}} plain na')
    assert.equal(await list.count(), 0)
    assert.equal(await text.innerText(), 'Hello {{variables.name}} and {{many.v990}} {{upper company.name}}\n{{> team.rules}} plain na')
    assert.ok(asked <= 2, `the list of 1,001 shared variables was asked for in ${asked} requests`)
  })

  it('writes Go in the same way, where a partial gets the dot', async t => {
    const { page, text } = await workbench(t, { syntax: 'go', userPrompt: 'Hello {{.variables.name}}' })
    await text.click()
    await page.keyboard.press('Control+End')
    for (const [typed, option] of [[' {{.comp', 'company.name'], ['}} {{template "ru', 'team.rules'], ['}} {{printl', 'println']] as const) {
      await page.keyboard.type(typed)
      await page.getByRole('option', { name: option, selected: true }).waitFor()
      await page.keyboard.press('Enter')
    }
    assert.equal(await text.innerText(), 'Hello {{.variables.name}} {{.company.name}} {{template "team.rules" .}} {{println ')
  })

  it('learns by mouse and by key what a name is, and its value now', async t => {
    const { page, text } = await workbench(t, { userPrompt: '{{company.name}} {{#each variables.files as |file|}}{{file.path}}{{/each}}', parameters: [{ name: 'files', type: 'array' }] })
    const told = page.getByRole('tooltip')
    await page.getByLabel('files JSON, required').fill('[{"path": "a.go"}]')
    await text.getByText('company.name').hover()
    await told.getByText('shared variable').waitFor()
    await told.getByText('Northwind').waitFor()
    await page.getByRole('heading', { name: 'Variables' }).hover()
    await told.waitFor({ state: 'detached' })
    await text.click()
    await page.keyboard.press('Control+Home')
    for (let steps = 0; steps < '{{company.name}} {{#each variables.files as |file|}}{{file.pa'.length; steps++) await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Control+i')
    await told.getByText('Value in the first round:').waitFor()
    assert.match(await told.innerText(), /^file\.path name of a block\s+Of line 1:\s+\{\{#each variables\.files as \|file\|\}\}[^]*a\.go$/)
    await page.locator('.cm-announced').getByText('file.path').waitFor()
    assert.deepEqual(await violationsOf(page), [])
    await page.keyboard.press('Escape')
    await told.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('Control+i')
    await told.getByText('No name of a template stands here.').waitFor()
  })

  it('gets no value of a shared variable that is not for them', async t => {
    const { page } = await workbench(t, 'Hello {{company.name}} {{open.word}}', { 'environs:open:word': 'Seen' }, tokenEntry('ana', 'read+render+write:environs=open.*'))
    await hoverOver(page, 'open.word')
    await page.getByRole('tooltip').getByText('Seen').waitFor()
    await hoverOver(page, 'company.name')
    await page.getByRole('tooltip').getByText('nothing registered that you may see').waitFor()
    assert.equal(await page.getByText('Northwind').count(), 0)
  })
})

async function hoverOver (page: Page, name: string): Promise<void> {
  await page.locator('.cm-content').first().getByText(name).hover()
}
