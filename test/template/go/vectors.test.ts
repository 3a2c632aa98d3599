import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parseJson } from '../../../src/base/json.ts'
import { classOf, GO_DIFFERENCES } from './differences.ts'
import { judge, type Vector, type Verdict } from './judge.ts'

/** Cases by the group, and those in which random templates once gave something else. */
const FILES = ['go-template.jsonl', 'go-fuzz.jsonl']

const RECORDED_CASES = 2103

/** What the service gives in a case in which it gives something else than Go. */
interface Difference { readonly id: string, readonly class: string, readonly got: string }

function linesOf<T> (file: string): readonly T[] {
  return readFileSync(new URL(`../../vectors/${file}`, import.meta.url), 'utf8').split('\n').filter(line => line !== '').map(line => parseJson(line) as unknown as T)
}

const differences = new Map(linesOf<Difference>('go-differences.jsonl').map(line => [line.id, line]))
const verdicts: readonly Verdict[] = FILES.flatMap(file => linesOf<Vector>(file)).map(judge)

describe('the Go engine, beside what Go gave', () => {
  it('gives the text or the reason that Go gives, in every recorded case that the table of differences does not have', () => {
    assert.equal(verdicts.length, RECORDED_CASES)
    assert.deepEqual(verdicts.filter(({ vector, expected, got }) => !differences.has(vector.id) && got !== expected), [])
  })

  it('gives what the table has, in every other case', () => {
    const others = verdicts.filter(({ vector }) => differences.has(vector.id))
    assert.equal(others.length, differences.size)
    assert.deepEqual(others.filter(({ vector, got }) => got !== differences.get(vector.id)?.got), [])
    assert.deepEqual(others.filter(({ expected, got }) => got === expected), [])
  })

  for (const { name } of GO_DIFFERENCES) {
    it(`differs by the class "${name}" in the cases that the table says`, () => {
      const explained = verdicts.filter(verdict => verdict.got !== verdict.expected && classOf(verdict) === name).map(({ vector }) => vector.id)
      assert.ok(explained.length > 0)
      assert.deepEqual(explained.sort(), [...differences.values()].filter(each => each.class === name).map(({ id }) => id).sort())
    })
  }

  it('gives the same in spans when it is explained', () => {
    assert.deepEqual(verdicts.filter(({ got, explained }) => explained !== got), [])
  })
})
