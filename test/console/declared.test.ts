import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addParameter, besideOf, type Change, changeParameter, othersOf, readParameters, removeParameter } from '../../console/prompts/declared.ts'

const LIST = [{ name: 'a', type: 'string', minLength: 2 }, { description: 'B', name: 'b', default: 1 }]
const SCHEMA = { type: 'object', properties: { a: { type: 'string', minLength: 2 }, b: { default: 1 } }, required: ['a'], additionalProperties: false }
const MAP = { a: { type: 'string', required: true, minLength: 2 }, type: { default: 1 } }

describe('Declared parameters', () => {
  const read: ReadonlyArray<readonly [title: string, declared: unknown, names: ReadonlyArray<readonly [name: string, isRequired: boolean]> | undefined]> = [
    ['a list, of which those without a default are required', LIST, [['a', true], ['b', false]]],
    ['a list that says what is required', [{ name: 'a', required: false }, { name: 'b', default: 1, required: true }], [['a', false], ['b', true]]],
    ['a JSON Schema', SCHEMA, [['a', true], ['b', false]]],
    ['a map, a parameter of which is called type', MAP, [['a', true], ['type', false]]],
    ['a JSON Schema without properties', { type: 'object' }, []],
    ['none', undefined, []],
    ['none, said so', null, []],
    ['a text, which is none of the forms', 'name', undefined]
  ]
  for (const [title, declared, names] of read) {
    it(`are read from ${title}`, () => { assert.deepEqual(readParameters(declared)?.map(({ name, isRequired }) => [name, isRequired]), names) })
  }

  const changed: ReadonlyArray<readonly [title: string, declared: unknown, index: number, change: Change, after: unknown]> = [
    ['a name in a list', LIST, 0, { name: 'c' }, [{ name: 'c', type: 'string', minLength: 2 }, LIST[1]]],
    ['a name in a JSON Schema, where it is required, too', SCHEMA, 0, { name: 'c' }, { ...SCHEMA, properties: { c: SCHEMA.properties.a, b: SCHEMA.properties.b }, required: ['c'] }],
    ['a name in a map, at its place', MAP, 0, { name: 'c' }, { c: MAP.a, type: MAP.type }],
    ['a default, which is taken away', LIST, 1, { schema: { default: undefined } }, [LIST[0], { description: 'B', name: 'b' }]],
    ['what is required of a list, by what it needs to say', LIST, 0, { isRequired: false }, [{ ...LIST[0], required: false }, LIST[1]]],
    ['what is required again, and nothing more needs to be said', [{ name: 'a', required: false }], 0, { isRequired: true }, [{ name: 'a' }]],
    ['what is required of a JSON Schema', SCHEMA, 1, { isRequired: true }, { ...SCHEMA, required: ['a', 'b'] }],
    ['what is no longer required of a JSON Schema', SCHEMA, 0, { isRequired: false }, { ...SCHEMA, required: [] }],
    ['what is no longer required of a map', MAP, 0, { isRequired: false }, { ...MAP, a: { type: 'string', minLength: 2 } }],
    ['a description of a JSON Schema, with nothing about what is required', { properties: { a: {} } }, 0, { schema: { description: 'A' } }, { properties: { a: { description: 'A' } } }],
    ['nothing that is no object', [true, { name: 'a' }], 0, { name: 'b' }, [true, { name: 'a' }]]
  ]
  for (const [title, declared, index, change, after] of changed) {
    it(`change ${title}`, () => { assert.deepEqual(changeParameter(declared, index, change), after) })
  }

  it('keep the order of members in what is changed', () => {
    assert.equal(JSON.stringify(changeParameter(LIST, 1, { name: 'c' })), JSON.stringify([LIST[0], { description: 'B', name: 'c', default: 1 }]))
  })

  it('get another one in their own form, a list where there was none', () => {
    const text = { type: 'string' }
    assert.deepEqual(addParameter(undefined, 'n'), [{ name: 'n', ...text }])
    assert.deepEqual(addParameter(LIST, 'n'), [...LIST, { name: 'n', ...text }])
    assert.deepEqual(addParameter(SCHEMA, 'n'), { ...SCHEMA, properties: { ...SCHEMA.properties, n: text } })
    assert.deepEqual(addParameter(MAP, 'n'), { ...MAP, n: text })
  })

  it('lose one with what is required of it', () => {
    assert.deepEqual(removeParameter(LIST, 0), [LIST[1]])
    assert.deepEqual(removeParameter(SCHEMA, 0), { ...SCHEMA, properties: { b: SCHEMA.properties.b }, required: [] })
    assert.deepEqual(removeParameter(MAP, 0), { type: MAP.type })
  })

  it('say what the form does not show', () => {
    assert.deepEqual(LIST.map(othersOf), [{ minLength: 2 }, {}])
    assert.deepEqual([besideOf(SCHEMA), besideOf(LIST), besideOf(MAP)], [{ additionalProperties: false }, {}, {}])
  })
})
