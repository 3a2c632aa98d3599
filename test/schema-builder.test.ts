import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Type as TypeBox } from 'typebox'
import { type TSchema, Type } from '../src/schema/builder.ts'

/** Schemas by the builder that they are about. */
const CASES: Readonly<Record<keyof typeof Type, ReadonlyArray<(build: typeof Type) => TSchema>>> = {
  Array: [
    build => build.Array(build.String()),
    build => build.Array(build.Object({ role: build.String() }), { description: 'a list', minItems: 1, maxItems: 20 })
  ],
  Boolean: [build => build.Boolean(), build => build.Boolean({ default: false })],
  Enum: [build => build.Enum(['go', 'handlebars']), build => build.Enum(['live', 'stub'], { type: 'string', description: 'one of them' })],
  Integer: [build => build.Integer(), build => build.Integer({ minimum: 0, maximum: 65535, default: 8080 })],
  Literal: [
    build => build.Literal('go'),
    build => build.Literal(1, { description: 'a version' }),
    build => build.Literal(false)
  ],
  Null: [build => build.Null(), build => build.Null({ description: 'nothing' })],
  Number: [build => build.Number(), build => build.Number({ minimum: 0 })],
  Object: [
    build => build.Object({}),
    build => build.Object({}, { additionalProperties: true }),
    build => build.Object({ first: build.String(), second: build.Integer() }, { $id: 'Pair', title: 'Pair', additionalProperties: false }),
    build => build.Object({ only: build.String() }, { type: 'record', required: ['other'], description: 'options win, in their places' }),
    build => build.Object({ inner: build.Object({ deep: build.Optional(build.Null()), deeper: build.Null() }) }, { examples: [{}] })
  ],
  Optional: [
    build => build.Object({ left: build.Optional(build.String()), kept: build.String() }),
    build => build.Object({ left: build.Optional(build.Optional(build.String({ description: 'twice' }))) }),
    build => build.Object({ ...build.Object({ left: build.Optional(build.String()), kept: build.String() }).properties, more: build.Null() }),
    build => build.Object({ list: build.Array(build.Optional(build.String())) }),
    build => {
      const shared = build.String({ minLength: 1 })
      return build.Object({ left: build.Optional(shared), kept: shared })
    }
  ],
  Record: [
    build => build.Record(build.String(), build.Integer()),
    build => build.Record(build.String({ pattern: '^[a-z]+$' }), build.String(), { description: 'by name' })
  ],
  Ref: [build => build.Ref('Error'), build => build.Ref('Error', { description: 'an error' })],
  String: [build => build.String(), build => build.String({ minLength: 1, maxLength: 512, examples: ['a.b'], writeOnly: true })],
  Union: [
    build => build.Union([build.Literal('auto'), build.Integer()]),
    build => build.Union([build.String(), build.Null()], { description: 'a text', default: null })
  ],
  Unknown: [build => build.Unknown(), build => build.Unknown({ description: 'anything' })],
  Unsafe: [
    build => build.Unsafe<string>(build.Unknown({ description: 'anything' })),
    build => build.Object({ left: build.Unsafe(build.Optional(build.String())), kept: build.Unsafe(build.String()), alike: build.Optional(build.Unsafe(build.String())) })
  ]
}

describe('the schema builder', () => {
  for (const [name, cases] of Object.entries(CASES)) {
    it(`gives for ${name} the same text as typebox`, () => {
      for (const build of cases) assert.equal(JSON.stringify(build(Type)), JSON.stringify(build(TypeBox)))
    })
  }

  it('leaves nothing in a schema but its keywords', () => {
    const schema = Type.Optional(Type.String({ minLength: 1 }))
    assert.deepEqual(Reflect.ownKeys(schema), ['type', 'minLength'])
  })
})
