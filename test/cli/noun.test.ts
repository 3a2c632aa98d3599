import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { oneOf } from '../../src/cli/entries/noun.ts'

describe('What a kind is called', () => {
  it('has the article that its first letter wants', () => { assert.deepEqual(['prompt', 'agent', 'extension'].map(oneOf), ['a prompt', 'an agent', 'an extension']) })
})
