import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import Handlebars from 'handlebars'
import { startService } from '../helpers/service.ts'

const stored = (prompts: Readonly<Record<string, string>>) => Object.fromEntries(Object.entries(prompts).map(([id, text]) => [`templates:${id}`, text]))

/** What the handlebars package makes of the prompt `page`. */
function oracle (prompts: Readonly<Record<string, string>>): string {
  const handlebars = Handlebars.create()
  for (const [id, text] of Object.entries(prompts)) handlebars.registerPartial(id, text)
  return handlebars.compile('{{> page}}', { noEscape: true })({})
}

const LAY = '{{> slot}}!'

describe('A partial that only a caller gives', () => {
  const given: ReadonlyArray<readonly [way: string, prompts: Readonly<Record<string, string>>]> = [
    ['in a block', { lay: LAY, page: '{{#> lay}}{{#*inline "slot"}}A{{/inline}}{{/lay}}' }],
    ['before the call', { lay: LAY, page: '{{#*inline "slot"}}A{{/inline}}{{> lay}}' }],
    ['through a prompt between', { lay: LAY, frame: '<{{> lay}}>', page: '{{#> frame}}{{#*inline "slot"}}A{{/inline}}{{/frame}}' }],
    ['twice, each time another', { lay: LAY, page: '{{#> lay}}{{#*inline "slot"}}A{{/inline}}{{/lay}}{{#> lay}}{{#*inline "slot"}}B{{/inline}}{{/lay}}' }],
    ['around the prompt of that name', { lay: LAY, slot: 'own', page: '{{#> lay}}{{#*inline "slot"}}<{{> slot}}>{{/inline}}{{/lay}}' }],
    ['around the prompt of that name, with a block for where there is none', { lay: LAY, slot: 'own', page: '{{#> lay}}{{#*inline "slot"}}<{{#> slot}}fallback{{/slot}}>{{/inline}}{{/lay}}' }],
    ['around the prompt of a sibling\'s name', { lay: '{{> slot}}{{> other}}!', other: 'own', page: '{{#> lay}}{{#*inline "slot"}}<{{> other}}>{{/inline}}{{#*inline "other"}}B{{/inline}}{{/lay}}' }],
    ['in place of a prompt of that name', { lay: LAY, slot: 'own', page: '{{#> lay}}{{#*inline "slot"}}A{{/inline}}{{/lay}}' }],
    ['that has slots of its own', { lay: LAY, inner: '({{> body}})', page: '{{#> lay}}{{#*inline "slot"}}{{#> inner}}{{#*inline "body"}}B{{/inline}}{{/inner}}{{/inline}}{{/lay}}' }]
  ]
  for (const [way, prompts] of given) {
    it(`is used where it is given ${way}`, async t => {
      const { post } = await startService(t, stored(prompts))
      const { status, json } = await post('/api/render/prompts/page', {})
      assert.deepEqual([status, json['rendered_prompt']], [200, oracle(prompts)])
    })
  }

  const missing: ReadonlyArray<readonly [where: string, id: string, prompts: Readonly<Record<string, string>>]> = [
    ['its prompt is rendered alone', 'lay', { lay: LAY, page: '{{#> lay}}{{#*inline "slot"}}A{{/inline}}{{/lay}}' }],
    ['one call of two gives it', 'page', { lay: LAY, page: '{{#> lay}}{{#*inline "slot"}}A{{/inline}}{{/lay}}{{> lay}}' }],
    ['one way of two gives it', 'page', { lay: LAY, other: '{{> lay}}', page: '{{#> lay}}{{#*inline "slot"}}A{{/inline}}{{/lay}}{{> other}}' }],
    ['a prompt in Go is between', 'page', { lay: LAY, go: '{{template "lay" .}}', page: '{{#> go}}{{#*inline "slot"}}A{{/inline}}{{/go}}' }]
  ]
  for (const [where, id, prompts] of missing) {
    it(`is missing where ${where}`, async t => {
      const { post } = await startService(t, stored(prompts))
      const { status, json } = await post(`/api/render/prompts/${id}`, {})
      assert.deepEqual([status, json['code']], [400, 'TEMPLATE_LINK'])
    })
  }

  it('is a hint when the prompt is published, and no need of the one that gives it', async t => {
    const { app, get, post } = await startService(t, stored({ page: '{{#> lay}}{{#*inline "slot"}}A{{/inline}}{{/lay}}' }))
    const published = await app.inject({ method: 'PUT', url: '/api/prompts/lay', payload: { userPrompt: LAY } })
    const { diagnostics } = published.json<{ diagnostics: ReadonlyArray<{ severity: string, code: string }> }>()
    assert.deepEqual([published.statusCode, diagnostics.map(({ severity, code }) => `${severity} ${code}`)], [201, ['hint PARTIAL_UNKNOWN']])
    assert.equal((await post('/api/render/prompts/page', {})).json['rendered_prompt'], 'A!')
    const { json } = await get('/api/prompts/page/needs')
    assert.deepEqual((json['partials'] as unknown as Array<{ name: string }>).map(({ name }) => name), ['lay'])
  })
})

describe('Partials that include each other', () => {
  it('are 400 TEMPLATE_CYCLE where nothing can end them', async t => {
    const { post } = await startService(t, stored({ a: 'x {{> b}}', b: '{{> a}}' }))
    const { status, json } = await post('/api/render/prompts/a', {})
    assert.deepEqual([status, json['code'], json['details']?.['diagnostics']?.['0']?.['line'], json['details']?.['diagnostics']?.['0']?.['column']], [400, 'TEMPLATE_CYCLE', 1, 3])
    assert.match(String(json['message']), /include each other without end: a → b → a/)
  })

  it('are 500 RENDER_ENDLESS where the values might have ended them', async t => {
    const { post } = await startService(t, stored({ a: 'x {{#if variables.x}}{{> a}}{{/if}}' }))
    const [ends, goesOn] = [await post('/api/render/prompts/a', { variables: { x: false } }), await post('/api/render/prompts/a', { variables: { x: true } })]
    assert.deepEqual([ends.status, goesOn.status, goesOn.json['code'], goesOn.json['details']], [200, 500, 'RENDER_ENDLESS', { limit: 100, in: 'a' }])
  })
})
