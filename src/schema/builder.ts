import { type Type as TypeBox, type TObjectOptions, type TRecord, type TSchema, type TString } from 'typebox'

export type { Static, TSchema } from 'typebox'

type Schema = Readonly<Record<string, unknown>>

/** JSON Schema says so only in the list `required` of the object, which `Object` makes from this set. */
const optional = new WeakSet<Schema>()

const ofType = (type: string) => (options?: Schema): Schema => ({ type, ...options })

const builders = {
  Array: (items: Schema, options?: Schema): Schema => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Enum: (values: readonly string[], options?: Schema): Schema => ({ enum: values, ...options }),
  Integer: ofType('integer'),
  Literal: (value: string | number | boolean, options?: Schema): Schema => ({ type: typeof value, const: value, ...options }),
  Null: ofType('null'),
  Number: ofType('number'),
  Object (properties: Readonly<Record<string, Schema>>, options?: Schema): Schema {
    const required = Object.entries(properties)
      .filter(([, schema]) => !optional.has(schema))
      .map(([name]) => name)
    return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...options }
  },
  Optional (schema: Schema): Schema {
    // The same schema may be required elsewhere.
    const copy = { ...schema }
    optional.add(copy)
    return copy
  },
  Record: (names: Schema, value: Schema, options?: Schema): Schema => ({
    type: 'object',
    patternProperties: { [String(names['pattern'] ?? '^.*$')]: value },
    ...options
  }),
  Ref: (id: string, options?: Schema): Schema => ({ $ref: id, ...options }),
  String: ofType('string'),
  Union: (anyOf: readonly Schema[], options?: Schema): Schema => ({ anyOf, ...options }),
  Unknown: (options?: Schema): Schema => ({ ...options }),
  Unsafe: (schema: Schema): Schema => schema
}

/**
 * In the manner of typebox, whose types it has: the package itself loads 370 modules, 0.15 s of every start. `Record` replaces typebox's own
 * declaration, which also allows names that are no texts.
 */
export const Type = builders as unknown as Pick<typeof TypeBox, Exclude<keyof typeof builders, 'Record'>> & {
  readonly Record: <Value extends TSchema>(names: TString, value: Value, options?: TObjectOptions) => TRecord<'^.*$', Value>
}
