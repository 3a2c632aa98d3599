import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withNearNames } from '../../src/service/near-variables.ts'
import { type JsonObject } from '../../src/template/value.ts'

const near = (path: string, variables: JsonObject, body?: JsonObject) => withNearNames([{ path, line: 1, column: 1 }], variables, body)[0]?.near

describe('what may be meant for a missing value', () => {
  const cases: ReadonlyArray<readonly [path: string, variables: JsonObject, body: JsonObject | undefined, near: string | undefined]> = [
    ['variables.language', { langauge: 'go' }, undefined, 'variables.langauge'],
    ['variables.language', { Language: 'go' }, undefined, 'variables.Language'],
    ['variables.user.name', { user: { nam: 'Ada' } }, undefined, 'variables.user.nam'],
    ['variables.language', { tongue: 'go' }, undefined, undefined],
    ['variables.language', {}, { language: 'go' }, 'language'],
    ['variables.language', { langauge: 'go' }, { language: 'go' }, 'variables.langauge'],
    ['variables.user.name', { user: 'Ada' }, { name: 'Ada' }, undefined],
    ['variables.list.name', { list: ['name'] }, undefined, undefined],
    ['vscode.rules', { rulse: 'x' }, { vscode: {} }, undefined],
    ['variables.constructo', {}, {}, undefined],
    ['variables', { variable: 1 }, {}, undefined]
  ]
  for (const [path, variables, body, expected] of cases) {
    it(`is ${expected ?? 'unknown'} for ${path} in ${JSON.stringify(body ?? variables)}`, () => {
      assert.equal(near(path, variables, body), expected)
    })
  }

  it('is not looked for among very many or very long names, nor for very many misses', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [index < 999 ? `name${'x'.repeat(20)}${index}` : 'langauge', 1]))
    assert.equal(near('variables.language', many), undefined)
    assert.equal(near(`variables.${'x'.repeat(200)}`, { [`${'x'.repeat(200)}y`]: 1 }), undefined)
    const misses = Array.from({ length: 30 }, (_, index) => ({ path: 'variables.language', line: index, column: 1 }))
    assert.equal(withNearNames(misses, { langauge: 1 }).filter(miss => miss.near !== undefined).length, 20)
  })
})
