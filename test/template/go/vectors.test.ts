import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Verdict } from './judge.ts'
import { runVectors } from './run-vectors.ts'

const LEAST_EXACT_MESSAGES = 0.99

describe('the Go engine under Go\'s own rules', () => {
  let verdicts: readonly Verdict[]

  before(async () => {
    verdicts = await runVectors(fileURLToPath(new URL('../../vectors/go-template.jsonl', import.meta.url)))
  })

  it('gives the output or the kind of error that Go gives, in every recorded case', () => {
    assert.equal(verdicts.length, 2092)
    assert.deepEqual(verdicts.filter(({ isRight }) => !isRight), [])
  })

  it('gives the same in spans when it is explained', () => {
    assert.deepEqual(verdicts.filter(({ got, explained }) => explained !== got), [])
  })

  it('gives Go\'s message for nearly every error', () => {
    const errors = verdicts.filter(({ hasMessage }) => hasMessage !== undefined)
    const exact = errors.filter(({ hasMessage }) => hasMessage === true)
    assert.ok(exact.length >= LEAST_EXACT_MESSAGES * errors.length, `${exact.length} of ${errors.length}`)
  })
})
