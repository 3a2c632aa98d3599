import { _, type CodeKeywordDefinition, type KeywordCxt } from 'ajv'
import { type default as Ajv } from 'ajv/dist/core.js'
import { memberNames } from '../../template/member-names.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type WorkMeter } from './work-meter.ts'

/** The keywords of JSON Schema that have subschemas, in any draft. */
const APPLICATORS = [
  'allOf', 'anyOf', 'oneOf', 'not', 'if', 'properties', 'patternProperties', 'additionalProperties', 'propertyNames', 'dependentSchemas', 'dependencies',
  'items', 'prefixItems', 'additionalItems', 'contains', 'unevaluatedProperties', 'unevaluatedItems'
]

/** The keywords that list all names of an object before they look at the first one. */
const LISTING = ['patternProperties', 'additionalProperties', 'propertyNames', 'unevaluatedProperties', 'minProperties', 'maxProperties']

/** The keywords that count the characters of a text. */
const COUNTING = ['minLength', 'maxLength']

/**
 * Makes validations pay for work that grows with the value: each subschema that is applied, anew for each item and member, the names of objects, and
 * the lengths of texts. References, patterns and formats pay for themselves.
 */
export function installMeter (ajv: Ajv.default, meter: WorkMeter): void {
  const counterIn = ({ gen }: KeywordCxt) => gen.scopeValue('obj', { ref: meter })
  before(ajv, APPLICATORS, context => {
    const apply = context.subschema.bind(context)
    context.subschema = (applied, valid) => {
      // The keyword `if` also applies the contents of `then` and `else`.
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

/** Writes code into a validation before the code of each of the keywords. The definitions that are changed belong to one ajv alone. */
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

/** The cost of a subschema itself: its keywords, with the names and values that they list. */
function sizeOf (subschema: Json): number {
  if (!isContainer(subschema)) return 1
  return Object.entries(subschema).reduce((size, [keyword, stated]: [string, Json]) => size + costOf(keyword, stated), 1)
}

/** The cost of a keyword. In an `enum` without objects and lists a value is found at once. */
function costOf (keyword: string, stated: Json): number {
  if (!isContainer(stated) || (keyword === 'enum' && !Object.values(stated).some(isContainer))) return 1
  return Object.keys(stated).length
}

/** Whether a value is an object or a list. */
export function isContainer (value: Json): value is JsonObject | readonly Json[] {
  return typeof value === 'object' && value !== null
}
