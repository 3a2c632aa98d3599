import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Verdict } from './judge.ts'
import { runVectors } from './run-vectors.ts'

/** Cases by the group, and those in which random templates once gave something else. */
const FILES = ['go-template.jsonl', 'go-fuzz.jsonl']

const RECORDED_CASES = 2092
const LEAST_EXACT_MESSAGES = 0.99

describe('the Go engine under Go\'s own rules', () => {
  let verdicts: readonly Verdict[]

  before(async () => {
    const runs = FILES.map(file => runVectors(fileURLToPath(new URL(`../../vectors/${file}`, import.meta.url))))
    verdicts = (await Promise.all(runs)).flat()
  })

  it('gives the output or the kind of error that Go gives, in every recorded case', () => {
    assert.ok(verdicts.length > RECORDED_CASES)
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
