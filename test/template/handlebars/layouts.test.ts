import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ServiceError } from '../../../src/base/errors.ts'
import { type JsonObject } from '../../../src/base/json.ts'
import { Trace } from '../../../src/template/trace.ts'
import { startService } from '../../helpers/service.ts'
import { joined } from '../trace/joined.ts'
import { type Partials, renderTolerantly, renderWithPackage } from './harness.ts'
import { layouts } from './layout-grammar.ts'
import { property } from '../../helpers/property.ts'

const DATA: JsonObject = { name: 'n', title: 't', variables: { name: 'vn', list: [{ name: 'one' }, { name: 'two' }], user: { name: 'u', title: 'v' } } }

/** The text of a render; `undefined` where it fails, since the two word that differently. */
function outputOf (render: () => string): string | undefined {
  try {
    return render()
  } catch (error) {
    // What is over the budget here may have no end in the package.
    fc.pre(!(error instanceof ServiceError))
    return undefined
  }
}

describe('An inline partial in a layout', () => {
  const CASES: ReadonlyArray<readonly [fact: string, text: string, partials: Partials, output: string]> = [
    ['reaches the registered prompt of its own name', '{{#> lay}}{{#*inline "row"}}<{{> row}}>{{/inline}}{{/lay}}', { row: 'R', lay: '[{{> row}}]' }, '[<R>]'],
    ['reaches the registered prompt of its own name in a call with a block', '{{#> lay}}{{#*inline "row"}}<{{#> row}}fallback{{/row}}>{{/inline}}{{/lay}}', { row: 'R', lay: '[{{> row}}]' }, '[<R>]'],
    ['reaches the registered prompt that a sibling is named like', '{{#> lay}}{{#*inline "row"}}<{{> cell}}>{{/inline}}{{#*inline "cell"}}inline{{/inline}}{{/lay}}', { row: 'R', cell: 'C', lay: '[{{> row}}{{> cell}}]' }, '[<C>inline]'],
    ['reaches those around the call', '{{#*inline "cell"}}out{{/inline}}{{#> lay}}{{#*inline "row"}}<{{> cell}}>{{/inline}}{{#*inline "cell"}}in{{/inline}}{{/lay}}', { lay: '[{{> row}}{{> cell}}]' }, '[<out>in]'],
    ['reaches a sibling where the layout prints the block', '{{#> lay}}{{#*inline "row"}}<{{> cell}}>{{/inline}}{{#*inline "cell"}}in{{/inline}}{{> row}}{{/lay}}', { cell: 'C', lay: '{{> @partial-block}}' }, '<in>']
  ]
  for (const [fact, text, partials, output] of CASES) {
    it(fact, () => {
      assert.equal(renderWithPackage(text, {}, partials), output)
      assert.equal(renderTolerantly(text, {}, partials), output)
    })
  }
})

describe('Layouts over several prompts', () => {
  property('render as in the handlebars package, explained or not', 3000, given => {
    const arbitrary = layouts({
      prints: ['{{name}}', '{{title}}', '{{../name}}', '{{@index}}', '{{@root.name}}', '{{own}}'],
      // Always there: an absent argument is a miss here, and an undefined context in the package, which has rules of its own.
      arguments: ['', '', '', '', ' @root.variables.user', ' this', ' own="x"', ' own=@root.title', ' @root.variables.user title="y"']
    })
    let rendered = 0
    given.holds(fc.property(arbitrary, ({ text, partials }) => {
      const output = outputOf(() => renderTolerantly(text, DATA, partials))
      assert.equal(output, outputOf(() => renderWithPackage(text, DATA, partials)))
      if (output === undefined) return
      rendered++
      const trace = new Trace()
      assert.equal(renderTolerantly(text, DATA, partials, trace), output, 'the output when it is explained')
      assert.equal(joined(trace), output, 'the spans, joined')
    }))
    given.wasOfUse(rendered, 0.5)
  })

  property('render as in the handlebars package when they are registered', 300, async (given, t) => {
    const arbitrary = layouts({ prints: ['{{@root.variables.name}}'], arguments: ['', '', '', ' own="x"'] })
    const samples = given.sample(arbitrary)
    const { post } = await startService(t, Object.fromEntries(samples.flatMap(({ text, partials }, index) =>
      Object.entries({ ...partials, start: text }).map(([name, content]) => [`templates:m${index}.${name}`, JSON.stringify({ userPrompt: content, syntax: 'handlebars' })] as const))))
    let alike = 0
    for (const [index, { text, partials }] of samples.entries()) {
      const expected = outputOf(() => renderWithPackage(text, DATA, partials))
      const { status, json } = await post(`/api/render/prompts/m${index}.start`, { variables: DATA['variables'] })
      if (status === 200) {
        assert.equal(json['rendered_prompt'], expected, JSON.stringify({ text, partials }))
        alike++
      } else if (expected !== undefined) {
        // A partial that nobody gives is told before the render, also where the package never comes to it.
        assert.equal(json['code'], 'TEMPLATE_LINK', JSON.stringify({ text, partials, json }))
      }
    }
    given.wasOfUse(alike, 0.3)
  })
})
