import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Registry } from '../../src/registry/registry.ts'
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

describe('Partials that include each other without end', () => {
  for (const { fact, prompts, cycle } of cases) {
    it(`are ${cycle === undefined ? 'none' : cycle.join(' → ')} for ${fact}`, async t => {
      const { registry } = await registered(t, Object.fromEntries(Object.entries(prompts).map(([id, text]) => [`templates:${id}`, text])))
      assert.deepEqual(cycleOf(registry, 'a'), cycle)
    })
  }

  it('are the same for whichever prompt', async t => {
    const { registry } = await registered(t, { 'templates:a': 'x {{> b}}', 'templates:b': 'x {{> c}}', 'templates:c': 'x {{> b}}', 'templates:d': 'x' })
    const found = ['d', 'c', 'b', 'a'].map(id => cycleOf(registry, id))
    assert.deepEqual(found, [undefined, ['c', 'b', 'c'], ['b', 'c', 'b'], ['a', 'b', 'c', 'b']])
  })

  it('are found when a change closes the circle, and not once another has opened it', async t => {
    const { registry, write } = await registered(t, { 'templates:a': 'x {{> b}}', 'templates:b': 'x {{> c}}', 'templates:c': 'x' })
    const states: unknown[] = []
    for (const c of ['{{> a}}', '{{#if variables.x}}{{> a}}{{/if}}']) {
      await write({ 'templates:c': c })
      states.push(cycleOf(registry, 'a'), registry.generation.prompts.get('a')?.state)
    }
    assert.deepEqual(states, [['a', 'b', 'c', 'a'], 'unlinked', undefined, 'valid'])
  })

  it('are looked for in a chain as long as the registry', async t => {
    const length = 3000
    const prompts = Array.from({ length }, (_, index) => [`templates:p${index}`, index === length - 1 ? 'end' : `{{> p${index + 1}}}`])
    const { registry } = await registered(t, Object.fromEntries(prompts))
    assert.equal(cycleOf(registry, 'p0'), undefined)
  })
})

/** The way that a prompt's diagnostic tells. */
function cycleOf ({ generation }: Registry, id: string): readonly string[] | undefined {
  const found = generation.prompts.get(id)?.diagnostics.find(({ code }) => code === 'PARTIAL_CYCLE')
  return found?.message.split(': ')[1]?.split(' → ')
}
