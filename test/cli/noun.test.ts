import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withArticle } from '../../src/base/text.ts'
import { manyOf } from '../../src/cli/entries/noun.ts'

describe('What a kind is called', () => {
  it('has the article that its first letter wants', () => {
    assert.deepEqual(['prompt', 'agent', 'extension'].map(withArticle), ['a prompt', 'an agent', 'an extension'])
  })

  it('names several by the word that counts', () => { assert.deepEqual(['shared variable', 'list of tests'].map(manyOf), ['shared variables', 'lists of tests']) })
})
