import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import protobuf from 'protobufjs'
import { type JsonObject } from '../../src/base/json.ts'
import { decodeMessage, encodeMessage } from '../../src/tool/grpc/grpc-type.ts'

const PROTO = `
syntax = "proto3";
message Maps {
  map<bool, string> flags = 1; map<int64, string> signed = 2; map<uint64, string> unsigned = 3; map<sint64, string> zigzag = 4;
  map<fixed64, string> fixed = 5; map<sfixed64, string> signed_fixed = 6; map<int32, int64> short = 7; map<string, bool> named = 8;
  Maps one = 9; repeated Maps several = 10; map<string, Maps> by_name = 11; map<int64, Maps> by_number = 12;
}
`
const { Maps } = protobuf.parse(PROTO, { keepCase: true }).root.nested as { Maps: protobuf.Type }
Maps.root.resolveAll()

const LEAST = '-9223372036854775808'
const MOST = '9223372036854775807'
const MOST_UNSIGNED = '18446744073709551615'

/** The members that were given: maps that are empty come as such. */
function roundTrip (values: JsonObject): JsonObject {
  return withoutEmpty(decodeMessage(Maps, encodeMessage(Maps, values)) as JsonObject) as JsonObject
}

function withoutEmpty (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  if (typeof value !== 'object' || value === null) return value
  const full = Object.entries(value).filter(([, member]) => member !== null && (typeof member !== 'object' || Object.keys(member as object).length > 0))
  return Object.fromEntries(full.map(([name, member]) => [name, withoutEmpty(member)]))
}

describe('a field of a protobuf message that is called as what every object inherits', () => {
  const INHERITED = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', '__defineGetter__', '__lookupSetter__']
  const proto = (names: readonly string[]) => `syntax = "proto3"; message A {
    string class = 1; A one = 2; repeated A several = 3; map<string, A> by_name = 4;
    ${names.map((name, index) => `string ${name} = ${index + 10}; int32 ${name}_ = ${index + 30};`).join(' ')}
  }`
  const typeOf = (names: readonly string[]): protobuf.Type => {
    const { root } = protobuf.parse(proto(names), { keepCase: true })
    root.resolveAll()
    return root.lookupType('A')
  }
  const A = typeOf(INHERITED)
  /** The same bytes under names that nothing inherits. */
  const Plain = typeOf(INHERITED.map(name => `plain${name}`))
  const places: readonly [where: string, place: (message: JsonObject) => JsonObject][] = [
    ['at the top', message => message],
    ['in a message', message => ({ class: 'x', one: message })],
    ['in a list', message => ({ class: 'x', several: [message, message] })],
    ['in a map', message => ({ class: 'x', by_name: { constructor: message } })]
  ]
  for (const [where, place] of places) {
    it(`is not sent when it is not given, ${where}`, () => {
      const values = place({ class: 'Book' })
      assert.equal(encodeMessage(A, values).toString('hex'), encodeMessage(Plain, values).toString('hex'))
    })

    it(`is sent as it is given, ${where}`, () => {
      const given = place(Object.fromEntries(INHERITED.map(name => [name, `my ${name}`])))
      const plain = place(Object.fromEntries(INHERITED.map(name => [`plain${name}`, `my ${name}`])))
      assert.equal(encodeMessage(A, given).toString('hex'), encodeMessage(Plain, plain).toString('hex'))
    })
  }
})

describe('a map of a protobuf message', () => {
  // The bytes are those of https://protobuf.dev/programming-guides/encoding/#maps
  const encodings: readonly [values: JsonObject, bytes: string][] = [
    [{ flags: { false: 'x' } }, '0a050800120178'],
    [{ flags: { true: 'x' } }, '0a050801120178'],
    [{ signed: { 5: 'x' } }, '12050805120178'],
    [{ signed: { '-7': 'x' } }, '120e08f9ffffffffffffffff01120178'],
    [{ unsigned: { [MOST_UNSIGNED]: 'x' } }, '1a0e08ffffffffffffffffff01120178'],
    [{ fixed: { '9007199254740993': 'x' } }, '2a0c090100000000002000120178']
  ]
  for (const [values, bytes] of encodings) {
    it(`is encoded and decoded: ${JSON.stringify(values)}`, () => {
      assert.equal(encodeMessage(Maps, values).toString('hex'), bytes)
      assert.deepEqual(withoutEmpty(decodeMessage(Maps, Buffer.from(bytes, 'hex'))), values)
    })
  }

  it('has keys of every type, at any depth', () => {
    const keys = { flags: { true: 'a', false: 'b' }, signed: { [LEAST]: 'a', 0: 'b', [MOST]: 'c' }, unsigned: { 0: 'a', [MOST_UNSIGNED]: 'b' }, zigzag: { '-1': 'a', 12345678: 'b' }, fixed: { [MOST_UNSIGNED]: 'a' }, signed_fixed: { [LEAST]: 'a' }, short: { '-1': 9007199254740993n }, named: { false: true, 12345678: true } }
    const values: JsonObject = { ...keys, one: keys, several: [keys, { several: [keys] }], by_name: { x: keys }, by_number: { [LEAST]: keys } }
    assert.deepEqual(roundTrip(values), values)
  })

  it('has the key 0 where the bytes leave it out', () => {
    assert.deepEqual(withoutEmpty(decodeMessage(Maps, Buffer.from('12031201780a03120179', 'hex'))), { signed: { 0: 'x' }, flags: { false: 'y' } })
  })

  for (const values of [{ flags: { no: 'x' } }, { flags: { '': 'x' } }, { one: { flags: { 0: 'x' } } }] as JsonObject[]) {
    it(`has no key but true and false for a bool: ${JSON.stringify(values)}`, () => {
      assert.throws(() => encodeMessage(Maps, values), { message: 'a key of a map<bool, …> must be "true" or "false"' })
    })
  }
})

describe('the text of an enum', () => {
  const { root } = protobuf.parse('syntax = "proto3"; enum Level { LEVEL_UNKNOWN = 0; LEVEL_HIGH = 1; } message A { Level one = 1; repeated Level several = 2; map<string, Level> by_name = 3; A inner = 4; }', { keepCase: true })
  root.resolveAll()
  const A = root.lookupType('A')

  const places: readonly [where: string, place: (text: string) => JsonObject][] = [
    ['in a field', text => ({ one: text })],
    ['in a list', text => ({ several: ['LEVEL_HIGH', text] })],
    ['in a map', text => ({ by_name: { a: text } })],
    ['in a message', text => ({ inner: { one: text } })]
  ]
  for (const [where, place] of places) {
    it(`is sent as its number ${where}`, () => {
      assert.deepEqual(decodeMessage(A, encodeMessage(A, place('LEVEL_HIGH'))), decodeMessage(A, encodeMessage(A, place(1 as unknown as string))))
    })

    it(`is refused where the enum does not have it, ${where}`, () => {
      assert.throws(() => encodeMessage(A, place('LEVEL_HIGHH')), { message: /must be one of LEVEL_UNKNOWN, LEVEL_HIGH, not "LEVEL_HIGHH"$/ })
    })
  }
})
