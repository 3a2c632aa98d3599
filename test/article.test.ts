import assert from 'node:assert/strict'
import { it } from 'node:test'
import { withArticle } from '../src/base/text.ts'

it('a noun has the article that its first letter wants', () => {
  assert.deepEqual(['prompt', 'agent', 'extension'].map(withArticle), ['a prompt', 'an agent', 'an extension'])
})
