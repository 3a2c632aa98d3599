import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EnvironIndex } from '../../src/registry/kinds/environ-names.ts'
import { type AvailableNames, withNearNames } from '../../src/service/render-prompt.ts'
import { type Json, type JsonObject } from '../../src/base/json.ts'

/** Shared variables, with the values of those that are in memory. */
function shared (values: Readonly<Record<string, Json | undefined>>): AvailableNames['environs'] {
  const index = new EnvironIndex()
  index.apply(Object.keys(values).map(name => [name, true] as const))
  return {
    hasBelow: name => index.hasBelow(name),
    namesBelow: (name, limit) => index.namesBelow(name, limit),
    cached: name => values[name] === undefined ? undefined : { value: values[name], bytes: 1 }
  }
}

const NOTHING_THERE: AvailableNames = { variables: {}, environs: shared({}), isAskedFor: () => false }
const near = (path: string, present: Partial<AvailableNames>) => withNearNames([{ path, line: 1, column: 1 }], { ...NOTHING_THERE, ...present })[0]?.near

describe('what may be meant for a missing value', () => {
  const cases: ReadonlyArray<readonly [path: string, variables: JsonObject, body: JsonObject | undefined, near: string | undefined]> = [
    ['variables.language', { langauge: 'go' }, undefined, 'variables.langauge'],
    ['variables.language', { Language: 'go' }, undefined, 'variables.Language'],
    ['variables.user.name', { user: { nam: 'Ada' } }, undefined, 'variables.user.nam'],
    ['variables.language', { tongue: 'go' }, undefined, undefined],
    ['variables.language', {}, { language: 'go' }, 'language'],
    ['variables.language', { langauge: 'go' }, { language: 'go' }, 'variables.langauge'],
    ['variables.language', {}, { variable: { language: 'go' } }, 'variable.language'],
    ['variables.language', {}, { inputs: { language: 'go' } }, 'inputs.language'],
    ['variables.language', { language: null }, { inputs: { language: 'go' } }, undefined],
    ['variables.user.name', { user: 'Ada' }, { name: 'Ada' }, undefined],
    ['variables.list.name', { list: ['name'] }, undefined, undefined],
    ['vscode.rules', { rulse: 'x' }, { vscode: {} }, undefined],
    ['variables.constructo', {}, {}, undefined],
    ['variables', { variable: 1 }, {}, undefined]
  ]
  for (const [path, variables, body, expected] of cases) {
    it(`is ${expected ?? 'unknown'} for ${path} in ${JSON.stringify(body ?? variables)}`, () => {
      assert.equal(near(path, { variables, body }), expected)
    })
  }

  const sharedCases: ReadonlyArray<readonly [path: string, near: string | undefined]> = [
    ['vscode.selecton', 'vscode.selection'],
    ['vscode.editor.nmae', 'vscode.editor.name'],
    ['vscode.editor.theme.drak', 'vscode.editor.theme.dark'],
    ['vscode.unread.nmae', undefined],
    ['vscode.window', undefined],
    ['vscdoe.selection', undefined],
    ['vscode', undefined]
  ]
  for (const [path, expected] of sharedCases) {
    it(`is ${expected ?? 'unknown'} for the shared variable ${path}`, () => {
      const environs = shared({ 'vscode.selection': 'x', 'vscode.editor': { name: 'vim', theme: { dark: true } }, 'vscode.editor.font': 'mono', 'vscode.unread': undefined })
      assert.equal(near(path, { environs }), expected)
    })
  }

  it('is not looked for below a branch of very many shared variables', () => {
    const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`many.name${index}`, 1]))
    assert.equal(near('many.nam', { environs: shared(names(1000)) }), undefined)
    assert.equal(near('many.nmae1', { environs: shared(names(1000)) }), 'many.name1')
    assert.equal(near('many.nmae1', { environs: shared(names(1001)) }), undefined)
  })

  it('is nothing that the prompt asks for itself', () => {
    const isAskedFor = (path: string) => path === 'variables.files' || path === 'vscode.selection'
    assert.equal(near('variables.file', { variables: { files: [], fil: 'x' }, isAskedFor }), 'variables.fil')
    assert.equal(near('variables.file', { variables: { files: [] }, isAskedFor }), undefined)
    assert.equal(near('vscode.selecton', { environs: shared({ 'vscode.selection': 1 }), isAskedFor }), undefined)
  })

  it('is not looked for among very many or very long names, nor for very many misses', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [index < 999 ? `name${'x'.repeat(20)}${index}` : 'langauge', 1]))
    assert.equal(near('variables.language', { variables: many }), undefined)
    assert.equal(near(`variables.${'x'.repeat(200)}`, { variables: { [`${'x'.repeat(200)}y`]: 1 } }), undefined)
    const misses = Array.from({ length: 30 }, (_, index) => ({ path: 'variables.language', line: index, column: 1 }))
    assert.equal(withNearNames(misses, { ...NOTHING_THERE, variables: { langauge: 1 } }).filter(miss => miss.near !== undefined).length, 20)
  })
})
