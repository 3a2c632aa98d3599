import { _, type CodeKeywordDefinition, type KeywordCxt } from 'ajv'
import { type default as Ajv } from 'ajv/dist/core.js'
import { memberNames } from '../../template/member-names.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type WorkMeter } from './work-meter.ts'

/** The keywords that have subschemas, in all dialects of JSON Schema. */
const APPLICATORS = [
  'allOf', 'anyOf', 'oneOf', 'not', 'if', 'properties', 'patternProperties', 'additionalProperties', 'propertyNames', 'dependentSchemas', 'dependencies',
  'items', 'prefixItems', 'additionalItems', 'contains', 'unevaluatedProperties', 'unevaluatedItems'
]

/** The keywords for which a validation first lists all member names of an object. */
const LISTING = ['patternProperties', 'additionalProperties', 'propertyNames', 'unevaluatedProperties', 'minProperties', 'maxProperties']

/** The keywords for which a validation counts the characters of a text. */
const COUNTING = ['minLength', 'maxLength']

/**
 * Makes validations count the work that grows with the value: each subschema that is applied to an item or member, the member names of
 * objects, and the lengths of texts. References, patterns and formats have code of their own that counts their work.
 */
export function installMeter (ajv: Ajv.default, meter: WorkMeter): void {
  const counterIn = ({ gen }: KeywordCxt) => gen.scopeValue('obj', { ref: meter })
  before(ajv, APPLICATORS, context => {
    const apply = context.subschema.bind(context)
    context.subschema = (applied, valid) => {
      // For `if`, the applied subschema can also be that of `then` or `else`.
      const held = (context.parentSchema as JsonObject)[applied.keyword as string] as Json
      const subschema = applied.schemaProp === undefined ? held : (held as JsonObject)[applied.schemaProp]
      context.gen.code(_`${counterIn(context)}.applySubschema(${sizeOf(subschema as Json)})`)
      return apply(applied, valid)
    }
  })
  before(ajv, LISTING, context => {
    const names = context.gen.scopeValue('func', { ref: memberNames })
    context.gen.code(_`${counterIn(context)}.listNames(${names}(${context.data}).length)`)
  })
  before(ajv, COUNTING, context => {
    context.gen.code(_`${counterIn(context)}.readText(${context.data}.length)`)
  })
}

/** Makes ajv generate additional code before the code of each of these keywords. It changes their definitions, which no other ajv instance shares. */
function before (ajv: Ajv.default, keywords: readonly string[], write: (context: KeywordCxt) => void): void {
  for (const keyword of keywords) {
    const definition = ajv.getKeyword(keyword)
    if (typeof definition !== 'object') continue
    const { code } = definition as CodeKeywordDefinition
    Object.assign(definition, {
      code (context: KeywordCxt, type?: string) {
        write(context)
        code(context, type)
      }
    })
  }
}

/** Gives the size of a subschema, as `WorkMeter` counts it: 1, and for each keyword what `costOf` gives. */
function sizeOf (subschema: Json): number {
  if (!isContainer(subschema)) return 1
  return Object.entries(subschema).reduce((size, [keyword, stated]: [string, Json]) => size + costOf(keyword, stated), 1)
}

/** Gives the number of names or values that a keyword lists, else 1. It is 1 too for an `enum` without objects and lists: a value is found in it at once. */
function costOf (keyword: string, stated: Json): number {
  if (!isContainer(stated) || (keyword === 'enum' && !Object.values(stated).some(isContainer))) return 1
  return Object.keys(stated).length
}

/** Whether a value is an object or a list. */
export function isContainer (value: Json): value is JsonObject | readonly Json[] {
  return typeof value === 'object' && value !== null
}
