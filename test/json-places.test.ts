import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Json } from '../src/base/json.ts'
import { type JsonPath, placesInJson } from '../src/base/json-places.ts'
import { property } from './helpers/property.ts'

const TEXT = '\n{\n  "a": 1,\r\n\t"b\\"}": [true, {"c": "x,]}"}, [],{}], "\\u0064":\n{}, "a": {"e": null}\n}'

describe('Places in JSON', () => {
  const places: ReadonlyArray<readonly [fact: string, path: JsonPath, place: string]> = [
    ['the beginning of the whole', [], '2:1'],
    ['a member at its name', ['b"}'], '4:2'],
    ['an item at itself', ['b"}', 1], '4:17'],
    ['a member of an item', ['b"}', 1, 'c'], '4:18'],
    ['an item behind texts with brackets', ['b"}', 3], '4:35'],
    ['a name that is written with escapes', ['d'], '4:40'],
    ['the last of two members of one name', ['a'], '5:5'],
    ['a member of the last of two', ['a', 'e'], '5:11'],
    ['where a member would be that is not there', ['a', 'gone', 'deeper'], '5:5'],
    ['where an item would be that is not there', ['b"}', 9], '4:2'],
    ['the object that lacks an inherited name', ['constructor'], '2:1']
  ]
  for (const [fact, path, place] of places) {
    it(`tells ${fact}`, () => {
      const [{ line, column } = { line: 0, column: 0 }] = placesInJson(TEXT, [path])
      assert.equal(`${line}:${column}`, place)
    })
  }

  property('tells every member and item of generated values where a parse of the rest finds it', 500, given => {
    given.holds(fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
      const parts = partsOf(value as Json)
      const text = JSON.stringify(value, null, indent)
      const found = placesInJson(text, parts.map(({ path }) => path))
      for (const [index, { path, part }] of parts.entries()) {
        const { line, column } = found[index] as { line: number, column: number }
        const rest = text.split('\n').slice(line - 1).join('\n').slice(column - 1)
        const name = path.at(-1)
        const written = typeof name === 'string' ? `${JSON.stringify(name)}:${indent === undefined ? '' : ' '}` : ''
        assert.ok(rest.startsWith(written + (JSON.stringify(part)[0] as string)), `${JSON.stringify(path)} in ${text}`)
      }
    }))
  })
})

function partsOf (value: Json, path: JsonPath = []): Array<{ readonly path: JsonPath, readonly part: Json }> {
  if (typeof value !== 'object' || value === null) return [{ path, part: value }]
  const members = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return [{ path, part: value }, ...members.flatMap(([name, member]) => partsOf(member as Json, [...path, name]))]
}
