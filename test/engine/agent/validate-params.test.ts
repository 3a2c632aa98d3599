import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { chosenOf, findProblem, textOf } from '../../../src/engine/agent-engine.ts'
import { type AgentParameter, type AgentTool } from '../../../src/registry/kinds/agent-setting.ts'
import { property } from '../../helpers/property.ts'

const required: AgentParameter = { type: 'string', maxLength: 5, absent: 'which?', empty: 'say it', tooLong: 'shorter' }

function tool (parameters: AgentTool['parameters']): AgentTool {
  return { name: 'find', tool: 'x.find', label: 'find', errorLabel: 'Error', failed: '', parameters, arguments: {}, show: [] }
}

const cases: ReadonlyArray<readonly [title: string, parameters: AgentTool['parameters'], values: JsonObject, problem: string | undefined]> = [
  ['a value that is well', { q: required }, { q: 'abc' }, undefined],
  ['no value', { q: required }, {}, 'absent find::q: which?'],
  ['null', { q: required }, { q: null }, 'absent find::q: which?'],
  ['an empty text', { q: required }, { q: '' }, 'empty find::q: say it'],
  ['white space', { q: required }, { q: ' \n ' }, 'empty find::q: say it'],
  ['an empty text without words for it', { q: { type: 'string', absent: 'which?' } }, { q: '' }, 'empty find::q: which?'],
  ['the very length', { q: required }, { q: '12345' }, undefined],
  ['one more', { q: required }, { q: '123456' }, 'tooLong find::q: shorter'],
  ['the length without the space around it', { q: required }, { q: ' 12345 ' }, undefined],
  ['characters of two units each', { q: required }, { q: '🍁🍁🍁🍁🍁' }, undefined],
  ['a number by its digits', { q: required }, { q: 123456 }, 'tooLong find::q: shorter'],
  ['false as a value', { q: required }, { q: false }, undefined],
  ['an optional parameter that is absent', { q: { type: 'string', maxLength: 5 } }, {}, undefined],
  ['an optional parameter that is too long', { q: { type: 'string', maxLength: 1, tooLong: 'shorter' } }, { q: 'ab' }, 'tooLong find::q: shorter'],
  ['the first of two problems', { a: required, b: required }, { b: '' }, 'absent find::a: which?'],
  ['a name that every object has', { toString: required }, {}, 'absent find::toString: which?']
]

describe('the check of parameters', () => {
  for (const [title, parameters, values, expected] of cases) {
    it(`${expected === undefined ? 'accepts' : 'finds'} ${title}`, () => {
      const problem = findProblem(tool(parameters), values)
      assert.equal(problem && `${problem.reason} ${problem.name}: ${problem.text}`, expected)
    })
  }

  property('accepts just the texts of 1 to maxLength characters', 100, given => {
    given.holds(fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 20 }), (text, maxLength) => {
      const length = Array.from(text.trim()).length
      const problem = findProblem(tool({ q: { ...required, maxLength } }), { q: text })
      assert.equal(problem?.reason, length === 0 ? 'empty' : length > maxLength ? 'tooLong' : undefined)
    }))
  })

  property('throws at no value, and what it accepts is what is called', 100, given => {
    given.holds(fc.property(fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue() as fc.Arbitrary<Json>), values => {
      const find = tool({ q: required, n: { type: 'number' } })
      const chosen = chosenOf(find, values)
      assert.ok(Object.keys(chosen).every(name => name === 'q' || name === 'n'))
      if (findProblem(find, values) === undefined) assert.equal(chosen['q'], textOf(values['q'] as Json))
    }))
  })
})
