import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json, stringifyJson } from '../../src/base/json.ts'
import { compileSchema, SchemaError } from '../../src/schema/compile.ts'

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'

/** A schema written as JSON text, for keys that object literals treat apart. */
const fromText = (text: string) => JSON.parse(text) as Json

describe('a compiled schema', () => {
  const valid: readonly [schema: Json, value: Json][] = [
    [{}, null],
    [true, { a: 1 }],
    [{ type: 'integer' }, 12345678901234567890n],
    [{ type: 'object', properties: { id: { type: 'integer', minimum: 1 } } }, { id: 12345678901234567890n }],
    [{ $schema: DRAFT_07, items: [{ type: 'string' }] }, ['a', 1]],
    [{ $schema: DRAFT_2020, prefixItems: [{ type: 'string' }], items: { type: 'integer' } }, ['a', 1]],
    [{ $schema: 'http://json-schema.org/draft-07/schema', definitions: { a: { type: 'string' } }, $ref: '#/definitions/a' }, 'x'],
    [{ type: 'string', format: 'no-such-format', 'x-unknown': { any: 'thing' } }, 'x'],
    [{ type: 'string', format: 'constructor' }, 'x'],
    [{ type: 'string', format: '__proto__' }, 'x'],
    [{ type: 'string', pattern: '^\\d{3}-[\\w-]+$' }, '123-a_b'],
    [{ type: 'string', pattern: '^\\p{L}+$' }, 'größe'],
    [{ items: { pattern: '^\\S+\\s\\p{Letter}+$' } }, ['x\u00a0a', 'x\u2028a', 'x\ufeffa']],
    [{ patternProperties: { '^\\p{Script=Greek}+$': { type: 'integer' } }, additionalProperties: false }, { αβγ: 1 }],
    [{ patternProperties: { '^x-': { type: 'integer' } }, additionalProperties: false }, { 'x-a': 1 }],
    [{ uniqueItems: true }, [{ a: 1 }, { a: 2 }, 1, '1', null]],
    [{ uniqueItems: false }, [1, 1]],
    [{ uniqueItems: true }, [1234567890123456789n, 1234567890123456788n]],
    [{ items: { uniqueItems: true } }, [[{ id: 1234567890123456789n }, { id: 1234567890123456788n }]]],
    [{ items: { enum: [1, 1234567890123456789n] } }, [1234567890123456789n, 1]],
    [{ enum: ['a', 1234567890123456789n] }, 1234567890123456789n],
    [{ const: 1234567890123456789n }, 1234567890123456789n],
    [{ properties: { a: { const: { id: 1234567890123456789n } } } }, { a: { id: 1234567890123456789n } }],
    [{ $defs: { id: { enum: [1234567890123456789n] } }, propertyNames: { maxLength: 1 }, additionalProperties: { $ref: '#/$defs/id' } }, { a: 1234567890123456789n }],
    [{ $schema: DRAFT_07, enum: [1234567890123456789n, 1234567890123456788n] }, 1234567890123456788n],
    [{ $schema: DRAFT_07, items: { enum: ['a', 'a'] } }, ['a']],
    [{ items: { multipleOf: 0.01 } }, [19.99, 0.07, 4.35, -4.35, 0, 1e6 + 0.01, 123456789012.34]],
    [{ items: { multipleOf: 1 } }, [1e21, 1, 12345678901234567890n]],
    [{ items: { multipleOf: 1e-8 } }, [12391239123, 0.00000003]],
    [{ multipleOf: 3 }, 1234567890123456789012n],
    [fromText('{"properties":{"__proto__":{"type":"string"}}}'), {}],
    [{ properties: { constructor: { type: 'integer' }, toString: { type: 'integer' } } }, {}],
    [{ $id: 'http://a.example/b', $defs: { x: { $id: 'c', type: 'string' } }, $ref: 'c' }, 'x'],
    [{ $defs: { constructor: { type: 'string' } }, $ref: '#/$defs/constructor' }, 'x'],
    [{ nullable: true, type: 'string' }, null],
    [{ $defs: { a: { pattern: 'x{1000}' } }, allOf: Array(100).fill({ $ref: '#/$defs/a' }) }, 1],
    [{ items: { enum: [1, 'a', true, null] } }, [null, true, 'a', 1]],
    [{ if: { type: 'string' }, then: { minLength: 1 }, else: { minimum: 1 } }, 'a'],
    [{ items: { format: 'url' } }, ['http://example.com', 'https://user:p@ss@example.com:8080/a?b@c', 'ftp://größe.example.de/', 'http://8.8.8.8/@', 'HTTP://a-b.example.com:80']],
    [{ default: { $ref: 'http://example.com/not-a-reference' }, const: { $ref: '#/x' } }, { $ref: '#/x' }]
  ]
  for (const [schema, value] of valid) {
    it(`accepts ${String(value)} by ${stringifyJson(schema).slice(0, 80)}`, () => assert.deepEqual(compileSchema(schema).validate(value), []))
  }

  const invalid: readonly [schema: Json, value: Json, violations: readonly (readonly [path: string, message: string])[]][] = [
    [{ type: 'string' }, 1, [['value', 'must be string']]],
    [{ type: 'integer' }, 1.5, [['value', 'must be integer']]],
    [{ type: 'integer' }, '1', [['value', 'must be integer']]],
    [{ required: ['a', 'b c'] }, {}, [['value.a', 'is required'], ['value["b c"]', 'is required']]],
    [{ required: ['constructor', '__proto__', 'toString'] }, {}, [['value.constructor', 'is required'], ['value.__proto__', 'is required'], ['value.toString', 'is required']]],
    [{ items: { properties: { 'a/b~c': { type: 'null' } } } }, [{}, { 'a/b~c': 1 }], [['value[1]["a/b~c"]', 'must be null']]],
    [{ additionalProperties: false }, { x: 1 }, [['value.x', 'is not expected']]],
    [{ unevaluatedProperties: false }, { x: 1 }, [['value.x', 'is not expected']]],
    [{ enum: ['a', 2] }, 'b', [['value', 'must be one of "a",2']]],
    [{ format: 'email' }, 'x', [['value', 'must match format "email"']]],
    [{ format: 'email' }, `a@${'b'.repeat(5000)}.org`, [['value', 'must match format "email"']]],
    ...['http://10.0.0.1', 'http://localhost', 'http://a b.com', 'http://user@', 'example.com', 'http://@example.com', `http://${':'.repeat(5000)}@example.com`]
      .map((value): [Json, Json, [string, string][]] => [{ format: 'url' }, value, [['value', 'must match format "url"']]]),
    [{ enum: ['constructor'] }, 'toString', [['value', 'must be one of "constructor"']]],
    [{ enum: [1] }, '1', [['value', 'must be one of 1']]],
    [{ if: { type: 'string' }, then: { minLength: 1 } }, '', [['value', 'must NOT have fewer than 1 characters'], ['value', 'must match "then" schema']]],
    [{ pattern: '^a+$' }, 'b', [['value', 'must match pattern "^a+$"']]],
    [{ uniqueItems: true }, [{ a: 1, b: 2 }, { b: 2, a: 1 }], [['value', 'must not have equal items']]],
    [{ uniqueItems: true }, [1234567890123456789n, 1, 1234567890123456789n], [['value', 'must not have equal items']]],
    [{ properties: { a: { enum: [1234567890123456789n, 'a'] } } }, { a: 1234567890123456788n }, [['value.a', 'must be one of 1234567890123456789,"a"']]],
    [{ const: 1234567890123456789n }, 1234567890123456788n, [['value', 'must be equal to constant']]],
    [{ multipleOf: 0.01 }, 19.991, [['value', 'must be multiple of 0.01']]],
    [{ multipleOf: 1e-8 }, 0.000000015, [['value', 'must be multiple of 1e-8']]],
    [{ multipleOf: 2 }, 9007199254740993n, [['value', 'must be multiple of 2']]],
    [{ multipleOf: 1 }, 1234567890123456.5, [['value', 'must be multiple of 1']]],
    [{ multipleOf: 10 }, 1234567890123450.5, [['value', 'must be multiple of 10']]],
    [{ multipleOf: 2 }, 4503599627370497, [['value', 'must be multiple of 2']]],
    [{ maximum: 5 }, 9007199254740993n, [['value', 'must be <= 5']]],
    [{ properties: { a: false } }, { a: 1 }, [['value.a', 'is not allowed']]],
    [{ $schema: DRAFT_07, dependencies: { a: ['b'] } }, { a: 1 }, [['value', 'must have property b when property a is present']]]
  ]
  for (const [schema, value, violations] of invalid) {
    it(`says what is wrong with ${stringifyJson(value).slice(0, 40)} by ${stringifyJson(schema).slice(0, 60)}`, () => {
      assert.deepEqual(compileSchema(schema).validate(value).map(({ path, message }) => [path, message]), violations)
    })
  }

  it('names the root as it is told to', () => {
    assert.deepEqual(compileSchema({ required: ['a'] }).validate({}, 'arguments'), [{ path: 'arguments.a', message: 'is required' }])
  })

  it('tells at most 20 violations', () => {
    assert.equal(compileSchema({ items: { type: 'string' } }).validate(Array(1000).fill(1)).length, 20)
  })

  it('tells one violation where members and what the schema asks of them may make very many', () => {
    assert.equal(compileSchema({ items: { required: Array.from({ length: 5000 }, (_name, index) => `k${index}`) } }).validate(Array(9000).fill({})).length, 1)
  })

  it('finds values in a long list', () => {
    const values = Array.from({ length: 600 }, (_value, index) => `value ${index}`)
    assert.deepEqual(compileSchema({ items: { enum: values } }).validate(Array.from({ length: 60_000 }, (_item, index) => values[index % 600] as string)), [])
  })

  it('tells one violation of a value with very many members', () => {
    assert.equal(compileSchema({ items: { allOf: Array(100).fill({ type: 'string' }) } }).validate(Array(300_000).fill(1)).length, 1)
  })

  it('changes neither the schema nor the value', () => {
    const schema = Object.freeze({ properties: Object.freeze({ a: Object.freeze({ type: 'integer', default: 1 }) }) })
    const value = Object.freeze({ b: '1' })
    compileSchema(schema).validate(value)
    assert.deepEqual([schema, value], [{ properties: { a: { type: 'integer', default: 1 } } }, { b: '1' }])
  })

  it('shares no identifier with another', () => {
    const one = compileSchema({ $id: 'http://a.example/shared', type: 'string' })
    const other = compileSchema({ $id: 'http://a.example/shared', type: 'integer' })
    assert.deepEqual([one.validate('x'), other.validate(1)], [[], []])
    assert.throws(() => compileSchema({ $ref: 'http://a.example/shared' }), SchemaError)
  })
})

describe('a bad schema', () => {
  const bad: readonly [title: string, schema: Json, message: RegExp][] = [
    ['names that are required twice', { required: ['a', 'a'] }, /^schema\.required must not have equal items$/],
    ['names that are required twice, in draft-07', { $schema: DRAFT_07, required: ['a', 'a'] }, /^schema\.required must not have equal items$/],
    ['text', 'string', /an object or a boolean/],
    ['list', [], /an object or a boolean/],
    ['null', null, /an object or a boolean/],
    ['unknown type', { properties: { a: { type: 'text' } } }, /^schema\.properties\.a\.type must be one of/],
    ['wrong keyword value', { properties: [] }, /schema\.properties must be object/],
    ['tuple under draft 2020-12', { items: [{}] }, /schema\.items must be object/],
    ['draft-04', { $schema: 'http://json-schema.org/draft-04/schema#' }, /is not supported: use draft 2020-12 or draft-07/],
    ['strange draft', { $schema: 1 }, /is not supported/],
    ['remote reference', { $ref: 'https://example.com/schema.json' }, /can't resolve reference/],
    ['remote draft', { $ref: DRAFT_07 }, /can't resolve reference/],
    ['file reference', { $ref: 'file:///etc/passwd' }, /can't resolve reference/],
    ['reference to nothing', { $ref: '#/definitions/none' }, /can't resolve reference/],
    ['reference to a prototype', { $ref: '#/constructor' }, /can't resolve reference/],
    ['reference into a prototype', { $defs: { a: {} }, $ref: '#/$defs/a/toString' }, /can't resolve reference/],
    ['broken reference', { $ref: '#/%' }, /URI malformed/],
    ['dynamic reference', { $dynamicRef: '#a' }, /\$dynamicRef is not supported/],
    ['asynchronous schema', { $async: true }, /\$async is not supported/],
    ['$data', { properties: { a: { maximum: { $data: '1/b' } } } }, /must be number/],
    ['look-ahead', { pattern: '^(?=.*x)' }, /not supported: it looks ahead or behind/],
    ['many properties of characters', { allOf: Array.from({ length: 4 }, (_pattern, index) => ({ pattern: `${'\\p{L}'.repeat(40)}${index}` })) }, /more than 20000 states/],
    ['back reference', { pattern: '(a)\\1' }, /not supported/],
    ['broken pattern', { pattern: '(' }, /not supported/],
    ['huge repeat', { pattern: 'a{2000}' }, /not supported/],
    ['long pattern', { pattern: 'a'.repeat(501) }, /longer than 500/],
    ['large automaton', { pattern: 'x{1000}'.repeat(30) }, /more than 20000 states/],
    ['large automata together', { allOf: Array(30).fill(0).map((_zero, index) => ({ pattern: `x{1000}${index}` })) }, /more than 20000 states/],
    ['deep schema', Array(50).fill(0).reduce<Json>(inner => ({ not: inner }), {}), /at most 40 levels/],
    ['many branches', { oneOf: Array(1500).fill({ const: 1 }) }, /at most 1000 objects, lists and booleans, not 1502$/],
    ['many schemas that are false', { properties: Object.fromEntries(Array.from({ length: 1000 }, (_member, index) => [`k${index}`, false])) }, /at most 1000 objects, lists and booleans, not 1002$/],
    ['large schema', { description: 'x'.repeat(65_537) }, /at most 65536 characters/]
  ]
  for (const [title, schema, message] of bad) {
    it(`is refused: ${title}`, () => assert.throws(() => compileSchema(schema), error => error instanceof SchemaError && message.test(error.message)))
  }

  const injections = ['"];globalThis.hacked=1;//', "'+(globalThis.hacked=1)+'", '`${globalThis.hacked=1}`', '\u2028globalThis.hacked=1', '*/globalThis.hacked=1/*', '\\";globalThis.hacked=1;//'] // eslint-disable-line no-template-curly-in-string
  for (const text of injections) {
    it(`runs no code that is written in it: ${JSON.stringify(text)}`, () => {
      const schemas: Json[] = [
        { properties: { [text]: { type: 'string' } }, required: [text] }, { const: text }, { enum: [text] }, { pattern: text }, { format: text }, { $id: `http://x/${text}` }, { $defs: { [text]: {} }, $ref: `#/$defs/${text}` },
        { patternProperties: { [text]: {} } }, { dependentRequired: { [text]: [text] } }, { [text]: text }, { $comment: text }, { title: text }, { $anchor: text }, { default: text }, { contentEncoding: text }
      ]
      for (const schema of schemas) {
        try {
          compileSchema(schema).validate({ [text]: text })
        } catch (error) {
          assert.ok(error instanceof SchemaError)
        }
      }
      assert.ok(!('hacked' in globalThis))
    })
  }
})

describe('a schema that would not end', () => {
  const doubling = Object.fromEntries(Array.from({ length: 30 }, (_level, index): [string, Json] => [`d${index}`, { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] }]))
  const members = Object.fromEntries(Array.from({ length: 100_000 }, (_member, index) => [`k${index}`, index]))
  const nested = (depth: number): Json => depth === 0 ? {} : { a: nested(depth - 1) }
  const cases: readonly [title: string, schema: Json, value: Json, message: RegExp][] = [
    ['references that double', { $defs: { ...doubling, d30: {} }, $ref: '#/$defs/d0' }, 1, /too much work/],
    ['references that double with the value\'s depth', { properties: { a: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } }, nested(90), /too much work/],
    ['a reference to itself', { $ref: '#' }, 1, /never ends|too much work/],
    ['a pattern with a large automaton on a large text', { pattern: '.{1000}'.repeat(15) }, 'x'.repeat(1_000_000), /too much work/],
    ['a pattern with a new set of states at each character', { pattern: '^(?:a|b)*a(?:a|b){12}$' }, 'aababbabaaabbbab'.repeat(60_000), /too much work/],
    ['many searches of a long list', { allOf: Array(300).fill({ contains: { const: 1 } }) }, [...Array<Json>(100_000).fill(2), 1], /too much work/],
    ['many properties of many items', { items: { properties: Object.fromEntries(Array.from({ length: 900 }, (_member, index) => [`k${index}`, { type: 'string' }])) } }, Array<Json>(500_000).fill({}), /too much work/],
    ['many looks at each name', { allOf: Array(300).fill({ propertyNames: { maxLength: 20 } }) }, members, /too much work/],
    ['many counts of the names', { allOf: Array(900).fill({ minProperties: 1 }) }, members, /too much work/],
    ['many lists of the names', { allOf: Array(300).fill({ not: { additionalProperties: false } }) }, members, /too much work/],
    ['many counts of the characters', { allOf: Array(900).fill({ maxLength: 10_000_000 }) }, 'x'.repeat(5_000_000), /too much work/],
    ['many formats of a long text', { allOf: Array(400).fill({ not: { format: 'uri' } }) }, `a:/${'~0'.repeat(500_000)}\0`, /too much work/],
    ['many comparisons of all items', { allOf: Array(400).fill({ uniqueItems: true }) }, Array.from({ length: 50_000 }, (_item, index) => index), /too much work/],
    ['many comparisons of a large object', { allOf: Array(400).fill({ not: { const: 1234567890123456789n } }) }, members, /too much work/],
    ['addresses that are nearly some', { contains: { format: 'url' } }, Array<Json>(1_000_000).fill(`http://${':'.repeat(4080)}`), /too much work/],
    ['many patterns on many names', { patternProperties: Object.fromEntries(Array.from({ length: 200 }, (_pattern, index) => [`^k${index}$`, true])) }, Object.fromEntries(Array.from({ length: 40_000 }, (_member, index) => [`k${index}`, 1])), /too much work/]
  ]
  for (const [title, schema, value, message] of cases) {
    it(`is stopped: ${title}`, { timeout: 20_000 }, () => {
      const [violation, ...others] = compileSchema(schema).validate(value)
      assert.match(violation?.message ?? '', message)
      assert.deepEqual(others, [])
    })
  }

  for (const pattern of ['^(a+)+$', '^(a|aa)+$', '^(a|a?)+$', '(x+x+)+y', '^([a-z]+)*$', '(.*a){20}']) {
    it(`runs in linear time: ${pattern}`, { timeout: 20_000 }, () => {
      compileSchema({ pattern }).validate('a'.repeat(50_000) + '!')
    })
  }

  it('tries a small pattern on a text as long as a body', () => {
    assert.deepEqual(compileSchema({ pattern: '^[\\s\\S]*\\S[\\s\\S]*$' }).validate('x\n'.repeat(500_000)), [])
  })

  it('compares 50,000 items for uniqueness', { timeout: 20_000 }, () => {
    assert.deepEqual(compileSchema({ uniqueItems: true }).validate(Array.from({ length: 50_000 }, (_item, index) => ({ a: index }))), [])
  })
})
