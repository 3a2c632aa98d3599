import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Suggestions } from '../../src/registry/unknown-names.ts'

describe('what the names in a prompt may mean', () => {
  it('is not the prompt itself', () => {
    const near = new Suggestions('greet', { prompts: new Map([['greet', 1], ['great', 1]]), tools: new Map(), environs: [], parameters: [] })
    assert.deepEqual(near.of([{ kind: 'templates', name: 'gret' }]), ['great'])
  })

  it('is told once, also where it was looked for in two ways', () => {
    const near = new Suggestions('review.a', { prompts: new Map([['review.diff', 1]]), tools: new Map(), environs: [], parameters: [] })
    assert.deepEqual(near.of([{ kind: 'templates', name: 'review.dif' }, { kind: 'templates', name: 'diff' }]), ['review.diff'])
  })

  it('is looked for among 20,000 names, for all of the prompt together', () => {
    let compared = 0
    function * names (): Generator<string> {
      for (;;) yield `name${compared++}`
    }
    const near = new Suggestions('a', { prompts: { keys: names }, tools: new Map(), environs: names(), parameters: [] })
    for (const name of ['first', 'second', 'third']) near.of([{ kind: 'templates', name }, { kind: 'environs', name }])
    assert.ok(compared > 19_000 && compared <= 20_010, `${compared} names`)
  })
})
