import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renderSources, type Sources } from './engine.ts'

/** What the comparison with the reference has found. */
const CASES: ReadonlyArray<Partial<Sources> & { readonly name: string, readonly sources: Pick<Sources, 'syntax' | 'text'>, readonly output: string }> = [
  {
    name: 'what a tool\'s result lacks is nothing in a partial in Go syntax, not a variable of the caller',
    sources: { syntax: 'go', text: '{{template "part" get_item 1}}' },
    partials: [{ name: 'part', syntax: 'go', text: '[{{.t1}}]', defaults: undefined }],
    output: '[]'
  },
  {
    name: 'a partial in Go syntax does not find the caller\'s variables by bare names',
    sources: { syntax: 'go', text: '{{template "part" .variables.item}}' },
    partials: [{ name: 'part', syntax: 'go', text: '[{{default "none" .t1}}{{.variables.t1}}]', defaults: undefined }],
    output: '[nonered]'
  },
  {
    name: 'a partial in Go syntax that is given the root has its defaults',
    sources: { syntax: 'go', text: '{{template "part" .}}' },
    partials: [{ name: 'part', syntax: 'go', text: '{{.variables.d1}} {{.variables.t1}}', defaults: { d1: 'default', t1: 'unused' } }],
    output: 'default red'
  },
  {
    name: 'a partial in Handlebars syntax that a failed tool and named arguments are given finds nothing, not a miss',
    sources: { syntax: 'handlebars', text: '{{> part (fail) name="x"}}' },
    partials: [{ name: 'part', syntax: 'handlebars', text: '[{{name}}{{missing}}]', defaults: undefined }],
    output: '[x]'
  },
  {
    name: 'a null of a tool\'s result is nothing in a partial in Go syntax, also below named arguments',
    sources: { syntax: 'handlebars', text: '{{> part (first (get_items 2)) name="x"}}' },
    partials: [{ name: 'part', syntax: 'go', text: '[{{$v := index . "inner" | index}}{{$v}}{{.inner.name}}]', defaults: undefined }],
    output: '[]'
  },
  {
    name: 'a partial that is given the root adds no step to ../ in its block, as in the package',
    sources: { syntax: 'handlebars', text: '{{#variables.item}}{{#with @root}}{{#> part this}}{{../name}}{{/part}}{{/with}}{{/variables.item}}' },
    partials: [{ name: 'part', syntax: 'handlebars', text: '{{> @partial-block}}', defaults: undefined }],
    output: 'm'
  },
  {
    name: 'a lookup in nothing by nothing is nothing',
    sources: { syntax: 'handlebars', text: '[{{lookup (fail 1) (fail 2)}}]' },
    output: '[]'
  }
]

describe('the comparison with the reference has found that', () => {
  for (const { name, sources, partials = [], output } of CASES) {
    it(name, async () => {
      const world = { salt: 0, variables: { t1: 'red', item: { name: 'm' } }, environs: [{ name: 'notes.deep.b', value: 'x', state: 'cached' as const }] }
      const rendered = await renderSources({ ...sources, partials, world })
      assert.deepEqual({ output: rendered.output, reason: rendered.reason }, { output, reason: '' })
    })
  }
})
