import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PartialCycles } from '../../src/registry/link/partial-cycles.ts'
import { registered } from '../helpers/registered.ts'

const cases: ReadonlyArray<{ fact: string, prompts: Readonly<Record<string, string>>, cycle: readonly string[] | undefined }> = [
  { fact: 'no partials', prompts: { a: 'x' }, cycle: undefined },
  { fact: 'a chain', prompts: { a: 'x {{> b}}', b: 'x {{> c}}', c: 'x' }, cycle: undefined },
  { fact: 'the same partial twice', prompts: { a: 'x {{> b}}{{> c}}', b: '{{> c}}', c: 'x' }, cycle: undefined },
  { fact: 'itself', prompts: { a: 'x {{> a}}' }, cycle: ['a', 'a'] },
  { fact: 'each other', prompts: { a: 'x {{> b}}', b: 'x {{> a}}' }, cycle: ['a', 'b', 'a'] },
  { fact: 'a way into a circle', prompts: { a: 'x {{> b}}', b: 'x {{> c}}', c: 'x {{> b}}' }, cycle: ['a', 'b', 'c', 'b'] },
  { fact: 'a circle behind a part that ends', prompts: { a: 'x {{> b}}{{> c}}', b: 'x', c: 'x {{> a}}' }, cycle: ['a', 'c', 'a'] },
  { fact: 'a circle with a condition in it', prompts: { a: 'x {{> b}}', b: '{{#if variables.x}}{{> a}}{{/if}}' }, cycle: undefined },
  { fact: 'a circle that an inline partial opens', prompts: { a: '{{#*inline "c"}}stop{{/inline}}{{> b}}', b: 'x {{> c}}', c: 'x {{> a}}' }, cycle: undefined },
  { fact: 'a circle of both languages', prompts: { a: 'x {{> b}}', b: '{{template "a" .}}' }, cycle: ['a', 'b', 'a'] },
  { fact: 'a circle through a local template', prompts: { a: '{{define "l"}}{{template "b" .}}{{end}}{{template "l" .}}', b: '{{> a}}' }, cycle: ['a', 'b', 'a'] }
]

describe('PartialCycles', () => {
  for (const { fact, prompts, cycle } of cases) {
    it(`finds ${cycle === undefined ? 'nothing' : cycle.join(' → ')} for ${fact}`, async t => {
      const { registry } = await registered(t, Object.fromEntries(Object.entries(prompts).map(([id, text]) => [`templates:${id}`, text])))
      assert.deepEqual(new PartialCycles(registry.generation.prompts).find('a'), cycle)
    })
  }

  it('finds the same whatever was asked before', async t => {
    const { registry } = await registered(t, { 'templates:a': 'x {{> b}}', 'templates:b': 'x {{> c}}', 'templates:c': 'x {{> b}}', 'templates:d': 'x' })
    const cycles = new PartialCycles(registry.generation.prompts)
    const found = ['d', 'c', 'b', 'a'].map(id => cycles.find(id))
    assert.deepEqual(found, [undefined, ['c', 'b', 'c'], ['b', 'c', 'b'], ['a', 'b', 'c', 'b']])
  })

  it('follows a chain as long as the registry', async t => {
    const length = 3000
    const prompts = Array.from({ length }, (_, index) => [`templates:p${index}`, index === length - 1 ? 'end' : `{{> p${index + 1}}}`])
    const { registry } = await registered(t, Object.fromEntries(prompts))
    assert.equal(new PartialCycles(registry.generation.prompts).find('p0'), undefined)
  })
})
