import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json, type JsonObject } from '../../src/base/json.ts'
import { checkArguments, mapArguments, parseParameters } from '../../src/tool/parameters.ts'
import { SchemaError } from '../../src/schema/compile.ts'

const SYMBOL = { type: 'object', properties: { symbol: { type: 'string' }, depth: { type: 'integer', default: 2 } }, required: ['symbol'] }
const OPTIONS = { type: 'object', properties: { options: { type: 'object' }, text: { type: 'string' } } }
const STRICT_OPTIONS = { ...OPTIONS, additionalProperties: false }

describe('mapping of arguments', () => {
  const cases: readonly [title: string, parameters: Json | undefined, positional: Json[], named: JsonObject, mapped: JsonObject][] = [
    ['positional ones in declared order', SYMBOL, ['x', 5], {}, { symbol: 'x', depth: 5 }],
    ['defaults where nothing is given', SYMBOL, ['x'], {}, { symbol: 'x', depth: 2 }],
    ['null that is given', SYMBOL, ['x', null], {}, { symbol: 'x', depth: null }],
    ['named ones by name', SYMBOL, [], { depth: 1, symbol: 'x' }, { symbol: 'x', depth: 1 }],
    ['positional and named ones together', SYMBOL, ['x'], { depth: 9 }, { symbol: 'x', depth: 9 }],
    ['a sole object as the whole', SYMBOL, [{ symbol: 'x', more: 1 }], {}, { symbol: 'x', more: 1, depth: 2 }],
    ['a sole object as the whole, though it violates', SYMBOL, [{ symbol: 1 }], {}, { symbol: 1, depth: 2 }],
    ['a sole object as the whole when it fits the schema and the first parameter both', OPTIONS, [{ text: 'x' }], {}, { text: 'x' }],
    ['a sole object as the first parameter when it fits no other way', STRICT_OPTIONS, [{ a: 1 }], {}, { options: { a: 1 } }],
    ['an object beside a named one as the first parameter', OPTIONS, [{ a: 1 }], { text: 'x' }, { options: { a: 1 }, text: 'x' }],
    ['a sole object as the whole without parameters', undefined, [{ a: 1 }], {}, { a: 1 }],
    ['a sole list as the first parameter', [{ name: 'list', type: 'array' }], [[1]], {}, { list: [1] }],
    ['nothing', undefined, [], {}, {}],
    ['more than there are names', SYMBOL, ['x', 1, 'z'], {}, { symbol: 'x', depth: 1, 'arguments[2]': 'z' }],
    ['the order of the list form', [{ name: 'b' }, { name: '1' }, { name: 'a' }], [1, 2, 3], {}, { b: 1, 1: 2, a: 3 }]
  ]
  for (const [title, parameters, positional, named, expected] of cases) {
    it(`takes ${title}`, () => {
      assert.deepEqual(mapArguments(parameters === undefined ? undefined : parseParameters(parameters), positional, named), expected)
    })
  }

  it('takes __proto__ for a name like any other', () => {
    const named = JSON.parse('{"__proto__":{"polluted":1}}') as JsonObject
    const mapped = mapArguments(parseParameters(SYMBOL), [], named)
    assert.ok(Object.hasOwn(mapped, '__proto__'))
    assert.equal((mapped as { polluted?: unknown }).polluted, undefined)
  })

  const wrong: readonly [parameters: Json | undefined, positional: Json[], message: string][] = [
    [SYMBOL, [], 'arguments.symbol is required'],
    [SYMBOL, ['x', 'y'], 'arguments.depth must be integer'],
    [SYMBOL, ['x', 1, 'z'], 'arguments[2] is one too many: the tool takes symbol, depth'],
    [undefined, ['x'], 'arguments[0] is one too many: the tool declares no parameters']
  ]
  for (const [parameters, positional, message] of wrong) {
    it(`makes a failed call of ${JSON.stringify(positional)}: ${message}`, () => {
      const parsed = parameters === undefined ? undefined : parseParameters(parameters)
      const [violation] = checkArguments(parsed, mapArguments(parsed, positional, {}))
      assert.equal(`${violation?.path} ${violation?.message}`, message)
    })
  }
})

describe('parameters', () => {
  const cases: readonly [title: string, declared: Json, names: string[], required: unknown, defaults: JsonObject][] = [
    ['the list', [{ name: 'a', type: 'string' }, { name: 'b', default: 1 }, { name: 'c', required: false }, { name: 'd', default: 2, required: true }], ['a', 'b', 'c', 'd'], ['a', 'd'], { b: 1, d: 2 }],
    ['an empty list', [], [], [], {}],
    ['a JSON Schema', SYMBOL, ['symbol', 'depth'], ['symbol'], { depth: 2 }],
    ['a schema with nothing but properties', { properties: { a: {} } }, ['a'], undefined, {}],
    ['a bare map', { code: { type: 'string' }, depth: { type: 'integer', default: 1, required: true } }, ['code', 'depth'], ['depth'], { depth: 1 }],
    ['a bare map with a parameter called type', { type: { type: 'string' } }, ['type'], [], {}],
    ['a bare map with a parameter called properties', { properties: { type: 'array' } }, ['properties'], [], {}],
    ['an empty object', {}, [], undefined, {}]
  ]
  for (const [title, declared, names, required, defaults] of cases) {
    it(`are read from ${title}`, () => {
      const parameters = parseParameters(declared)
      assert.deepEqual([parameters.names, parameters.schema['required'], parameters.defaults], [names, required, defaults])
    })
  }

  const bad: readonly Json[] = ['text', 1, null, [1], [{}], [{ name: '' }], [{ name: 'a' }, { name: 'a' }], [{ name: 'a', type: 'text' }], { a: 1, b: {} }]
  for (const declared of bad) {
    it(`are refused as ${JSON.stringify(declared)}`, () => assert.throws(() => parseParameters(declared), SchemaError))
  }
})
