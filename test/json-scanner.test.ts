import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { JsonScanner } from '../src/base/json-scanner.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, listOf, ownField } from '../src/base/json.ts'
import { parseJsonText } from '../src/http/request-reading.ts'
import { property } from './helpers/property.ts'

const ROLE = Buffer.from('role')

/** At an offset of a larger buffer, and slice by slice. */
function scan (text: string, offset = 0, slice = 1024): JsonScanner {
  const bytes = Buffer.from(' '.repeat(offset) + text).subarray(offset)
  const scanner = new JsonScanner(bytes, 'messages', ROLE)
  while (!scanner.isOver) scanner.run(slice)
  return scanner
}

function valuesOf (text: string, { members }: JsonScanner): Array<[string, Json]> {
  const bytes = Buffer.from(text)
  return Array.from(members, ([name, { value, end }]) => [name, parseJsonText(bytes.toString('utf8', value, end))])
}

function parsed (text: string): Json | undefined {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}

function sorted (entries: ReadonlyArray<readonly [string, Json]>): ReadonlyArray<readonly [string, Json]> {
  return [...entries].sort(([one], [other]) => one < other ? -1 : 1)
}

function countOfMessages (value: JsonObject): number | undefined {
  const messages = ownField(value, 'messages')
  const fits = Array.isArray(messages) && listOf(messages).every(each => isJsonObject(each) && typeof ownField(each, 'role') === 'string')
  return fits ? listOf(messages).length : undefined
}

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 40 }))
const message = fc.oneof(fc.record({ role: fc.oneof(text, fc.integer()), content: fc.jsonValue() }, { requiredKeys: [] }), fc.jsonValue())
const request = fc.record({ messages: fc.oneof(fc.array(message), fc.jsonValue()), model: text, 'a"\n': fc.jsonValue(), n: fc.double() }, { requiredKeys: [] })
const written = fc.tuple(fc.oneof(request, fc.dictionary(text, fc.jsonValue()), fc.jsonValue()), fc.constantFrom(0, 1, '\t'), fc.boolean())
  .map(([value, indent, isEscaped]) => {
    const json = JSON.stringify(value, null, indent)
    return isEscaped ? json.replace(/[^ -~\t\n]|(?<=\w)e(?=\w)/g, each => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`) : json
  })
const piece = fc.constantFrom('', '{', '}', '[', ']', ',', ':', '"', '\\', '\\u', '\\ud800', '/', '0', '-', '.5', 'e', 'e9', 'E+999', '1', '\n', '\u0001', '\u007f', 'é', '😀', 'true', 'nul', '__proto__', '"role":', ' ')
const damaged = fc.tuple(written, fc.array(fc.tuple(fc.nat(), fc.nat(2), piece), { maxLength: 3 })).map(([json, changes]) =>
  changes.reduce((sum, [at, cut, put]) => sum.slice(0, at % (sum.length + 1)) + put + sum.slice(at % (sum.length + 1) + cut), json).toWellFormed())

describe('JsonScanner', () => {
  property('takes what the parser takes as an object, and finds the same members', 20_000, given => {
    let taken = 0
    given.holds(fc.property(damaged, fc.nat(3), fc.integer({ min: 1, max: 40 }), (json, offset, slice) => {
      const value = parsed(json)
      if (!isJsonObject(value)) return assert.throws(() => scan(json, offset, slice), JsonError)
      const scanner = scan(json, offset, slice)
      assert.deepEqual(sorted(valuesOf(json, scanner)), sorted(Object.entries(value)))
      if (countOfMessages(value) !== scanner.items) assert.match(json, /role.*role/s, 'only a second role of one message may be judged otherwise')
      taken++
    }))
    given.wasOfUse(taken, 0.2)
  })

  const refused: ReadonlyArray<readonly [json: string, words: RegExp]> = [
    ['', /the text ends too early at line 1, column 1$/],
    ['{"model": "m", "messages": [{"role": "us', /the text ends too early at line 1, column 41$/],
    ['{"a": "é",\n "b": 01}', /a number begins with 0 at line 2, column 7$/],
    ['{"a": 1e400}', /1\.8e308 is the most that can be held, and a number is beyond it/],
    [`{"a": ${'9'.repeat(1001)}}`, /an integer has more than 1000 digits/],
    ['{"a": {"\\u005f_proto__": 1}}', /the key "__proto__" is not allowed/],
    [`{"a": ${'['.repeat(100)}`, /nested deeper than 100 at line 1, column 106/],
    ['{"a": "\n"}', /a control character, which must be escaped/],
    ['{"a": "\\x"}', /an escape that JSON does not have at line 1, column 8/],
    ['{"a": é}', /"é" is not expected/],
    ['[]', /it is no object/],
    ['7', /it is no object/],
    [`{${Array.from({ length: 1001 }, (_, index) => `"${index}":0`).join()}}`, /more than 1000 members/]
  ]
  for (const [json, words] of refused) {
    it(`refuses ${JSON.stringify(json.slice(0, 40))} in words`, () => assert.throws(() => scan(json), words))
  }

  it('tells a member that is there twice, escaped or not, but not one of an inner object', () => {
    assert.equal(scan('{"model":"a","messages":[],"mod\\u0065l":"b"}').duplicate, 'model')
    assert.equal(scan('{"a":{"b":1,"b":2}}').duplicate, undefined)
  })
})
