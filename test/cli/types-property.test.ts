import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import ts from 'typescript'
import { TypeWriter } from '../../src/cli/prompt-types.ts'
import { type Json, type JsonObject } from '../../src/base/json.ts'
import { compileSchema } from '../../src/schema/compile.ts'
import { property } from '../helpers/property.ts'

// Names and values are few, so that many values fit.
const name = fc.constantFrom('a', 'b', 'c')
const plain = fc.constantFrom<Json>('x', 'y', '', 0, 1, -1.5, true, false, null)
const value = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof({ maxDepth: 3, withCrossShrink: true }, plain, fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(name, tie('value'), { maxKeys: 3 }))
})).value

const typeName = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object')

const keyword = <T extends Json>(word: string, values: fc.Arbitrary<T>): fc.Arbitrary<[string, Json]> => values.map(each => [word, each])

/** Schemas of everything that a registration may say, of a few keywords each. */
const anySchema = fc.letrec<{ schema: Json }>(tie => ({
  schema: fc.oneof({ maxDepth: 3 }, fc.constantFrom<Json>(true, {}, { type: 'string' }, { type: 'number' }), fc.array(fc.oneof(
    keyword('type', fc.oneof(typeName, fc.uniqueArray(typeName, { minLength: 1, maxLength: 4 }))),
    keyword('properties', fc.dictionary(name, tie('schema'), { maxKeys: 3 })),
    keyword('required', fc.uniqueArray(name, { maxLength: 2 })),
    keyword('additionalProperties', fc.oneof(fc.boolean(), tie('schema'))),
    keyword('patternProperties', fc.dictionary(fc.constantFrom('^a', 'b$', '.'), tie('schema'), { maxKeys: 1 })),
    keyword('items', tie('schema')),
    keyword('prefixItems', fc.array(tie('schema'), { minLength: 1, maxLength: 2 })),
    keyword('minItems', fc.nat(2)),
    keyword('enum', fc.uniqueArray(value, { minLength: 1, maxLength: 4, selector: each => JSON.stringify(each) })),
    keyword('const', value),
    keyword('anyOf', fc.array(tie('schema'), { minLength: 1, maxLength: 3 })),
    keyword('oneOf', fc.array(tie('schema'), { minLength: 1, maxLength: 2 })),
    keyword('allOf', fc.array(tie('schema'), { minLength: 1, maxLength: 2 })),
    keyword('not', tie('schema')),
    keyword('maximum', fc.integer({ min: -1, max: 1 })),
    keyword('dependentRequired', fc.constant({ a: ['b'] })),
    keyword('$ref', fc.constantFrom('#/$defs/tree', '#/$defs/word'))
  ), { minLength: 1, maxLength: 3 }).map(words => Object.fromEntries(words) as Json))
})).schema

const DEFS = { tree: { type: 'object', properties: { a: { $ref: '#/$defs/tree' }, b: { type: 'number' } } }, word: { enum: ['x', 'y'] } }

/** Schemas that say nothing but what types can say too. */
const tellable = fc.letrec<{ schema: Json }>(tie => ({
  schema: fc.oneof({ maxDepth: 3 },
    fc.constantFrom<Json>({ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }, { type: ['string', 'null'] }, { enum: ['x', 0, null] }, { const: true }, { anyOf: [{ type: 'number' }, { const: 'x' }] }),
    tie('schema').map(items => ({ type: 'array', items })),
    fc.record({ properties: fc.dictionary(name, tie('schema'), { minKeys: 1, maxKeys: 3 }), isRequired: fc.boolean() }).map(({ properties, isRequired }) =>
      ({ type: 'object', properties, additionalProperties: false, ...(isRequired ? { required: Object.keys(properties) } : {}) })))
})).schema

/** Which of the assignments the compiler refuses. */
function refusedBy (cases: ReadonlyArray<readonly [schema: Json, value: Json]>): boolean[] {
  const lines = cases.map(([schema, each], index) => `export const v${index}: ${new TypeWriter(schema as JsonObject).typeOf(schema).replaceAll(/\s+/g, match => match.includes('\n') ? '; ' : match).replaceAll('{; ', '{ ')} = ${JSON.stringify(each)}`)
  const text = lines.join('\n')
  const options: ts.CompilerOptions = { strict: true, target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts'], types: [], noEmit: true }
  const host = ts.createCompilerHost(options)
  const file = ts.createSourceFile('cases.ts', text, ts.ScriptTarget.ES2022)
  const readFile = host.getSourceFile.bind(host)
  host.getSourceFile = (path, ...rest) => path === 'cases.ts' ? file : readFile(path, ...rest)
  const program = ts.createProgram(['cases.ts'], options, host)
  const syntax = program.getSyntacticDiagnostics(file)
  assert.deepEqual(syntax.map(({ start, messageText }) => `${lines[file.getLineAndCharacterOfPosition(start).line]}: ${String(messageText)}`), [])
  const refused = new Set(program.getSemanticDiagnostics(file).map(({ start = 0 }) => file.getLineAndCharacterOfPosition(start).line))
  return cases.map((_, index) => refused.has(index))
}

function accepts (schema: Json, each: Json): boolean {
  return compileSchema(schema).validate(each).length === 0
}

describe('types of schemas', () => {
  property('take every value that the service takes', 3000, given => {
    const cases = given.sample(fc.tuple(anySchema.map(schema => typeof schema === 'object' ? { ...schema as JsonObject, $defs: DEFS } : schema), value)).filter(([schema, each]) => accepts(schema, each))
    given.wasOfUse(cases.length, 0.15)
    const refused = refusedBy(cases)
    const wrong = cases.filter((_, index) => refused[index])
    assert.deepEqual(wrong.slice(0, 3).map(each => JSON.stringify(each)), [])
  })

  property('refuse every value that the service refuses, where types can tell', 2000, given => {
    const cases = given.sample(fc.tuple(tellable, value))
    const refused = refusedBy(cases)
    const wrong = cases.filter(([schema, each], index) => refused[index] === accepts(schema, each))
    assert.deepEqual(wrong.slice(0, 3).map(each => JSON.stringify(each)), [])
    given.wasOfUse(refused.filter(each => !each).length, 0.05)
  })

  it('end for a schema that leads to itself', () => {
    const schema = { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }] }, b: { properties: { x: { $ref: '#/$defs/a' }, y: { $ref: '#/$defs/b' } } } }, $ref: '#/$defs/a' }
    assert.ok(new TypeWriter(schema).typeOf(schema).length < 100_000)
  })
})
