import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pluralOf } from '../src/base/text.ts'

describe('The plural of a noun', () => {
  for (const [noun, plural] of [['tool', 'tools'], ['shared variable', 'shared variables'], ['list of tests', 'lists of tests']] as const) {
    it(`of "${noun}" is "${plural}"`, () => { assert.equal(pluralOf(noun), plural) })
  }
})
