import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { render, type Setting } from './render.ts'

const many = Array.from({ length: 200 }, (_, index) => index)
const wide = 'x'.repeat(60_000)
const nested = (depth: number, inside: string) => `${'{{#if true}}'.repeat(depth)}${inside}${'{{/if}}'.repeat(depth)}`

/** Each would take minutes, gigabytes or the stack. */
const BOMBS: ReadonlyArray<readonly [string, string, Setting]> = [
  ['loops within loops', '{{#each list}}{{#each ../list}}{{#each ../../list}}{{#each ../../../list}}x{{/each}}{{/each}}{{/each}}{{/each}}', { variables: { list: many } }],
  ['empty loops within loops', '{{#each list}}{{#each ../list}}{{#each ../../list}}{{/each}}{{/each}}{{/each}}', { variables: { list: many } }],
  ['partials that double', '{{> p0}}', { partials: Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`p${index}`, index === 30 ? 'x' : `{{> p${index + 1}}}{{> p${index + 1}}}`])) }],
  ['output that grows', '{{#each list}}{{@root.variables.wide}}{{/each}}', { variables: { list: many, wide } }],
  ['wide values side by side', '{{wide}}'.repeat(1000), { variables: { wide } }],
  ['replacements of replacements', '{{replace "x" wide (replace "x" wide wide)}}', { variables: { wide } }],
  ['JSON over and over', '{{#each list}}{{#each ../list}}{{len (json @root.variables.list)}}{{/each}}{{/each}}', { variables: { list: many } }],
  ['comparisons of long texts', '{{#each list}}{{#each ../list}}{{eq @root.variables.wide @root.variables.wide}}{{/each}}{{/each}}', { variables: { list: many, wide } }],
  ['a tool with long arguments in a loop', '{{#each list}}{{#each ../list}}{{echo @root.variables.wide}}{{/each}}{{/each}}', { variables: { list: many, wide }, tools: { echo: () => 1 } }],
  ['calls beyond the limit', '{{#each list}}{{echo this}}{{/each}}', { variables: { list: many }, tools: { echo: () => 1 } }],
  ['indentation of indentation', '  {{> p}}\n', { variables: { lines: 'x\n'.repeat(12_800) }, partials: { p: '  {{> q}}\n', q: '  {{> r}}\n', r: '{{indent 80 variables.lines}}' } }],
  ['an indentation that is longer than any text', `${' '.repeat(50_000)}{{> p}}\n`, { variables: { lines: '\n'.repeat(90_000) }, partials: { p: '{{variables.lines}}' } }]
]

/** Each calls itself without end. */
const ENDLESS: typeof BOMBS = [
  ['a partial that calls itself', '{{> p}}', { partials: { p: 'x{{> p}}' } }],
  ['a partial that calls itself from within deep blocks', '{{> p}}', { partials: { p: nested(99, '{{> p}}') } }],
  ['two partials that call each other', '{{> p}}', { partials: { p: '{{> q}}', q: '{{> p}}' } }],
  ['an inline partial that calls itself', '{{#*inline "p"}}x{{> p}}{{/inline}}{{> p}}', {}],
  ['a partial block within itself', '{{#*inline "p"}}{{#> p}}{{> @partial-block}}{{/p}}{{/inline}}{{#> p}}x{{/p}}', {}],
  ['a context that grows', '{{> p x=1}}', { partials: { p: '{{> p x=this y=this}}' } }]
]

describe('bounds of Handlebars renders', () => {
  for (const [bombs, code] of [[BOMBS, 'RENDER_BUDGET'], [ENDLESS, 'RENDER_ENDLESS']] as const) {
    for (const [title, text, setting] of bombs) {
      it(`ends ${title}: ${text.slice(0, 60)}`, async () => {
        await assert.rejects(render(text, setting), { code })
      })
    }
  }

  it('lets partials and blocks be as deep as is allowed', async () => {
    const partials = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`p${index}`, index === 99 ? 'deep' : nested(9, `{{> p${index + 1}}}`)]))
    assert.equal((await render('{{> p0}}', { partials })).output, 'deep')
  })

  it('compiles and runs the deepest template that is allowed', async () => {
    assert.equal((await render(nested(100, '{{name}}'), { variables: { name: 'Ann' } })).output, 'Ann')
    assert.equal((await render(`{{${'upper ('.repeat(99)}upper name${')'.repeat(99)}}}`, { variables: { name: 'Ann' } })).output, 'ANN')
  })

  it('charges the nodes of a block each time it is entered', async () => {
    const variables: JsonObject = { list: [1, 2, 3, 4, 5] }
    // The template has two nodes, the block and its argument, and the body has one.
    await assert.doesNotReject(render('{{#each list}}{{this}}{{/each}}', { variables, limits: { visits: 7 } }))
    await assert.rejects(render('{{#each list}}{{this}}{{/each}}', { variables, limits: { visits: 6 } }), { code: 'RENDER_BUDGET' })
  })
})
