import { _, type CodeKeywordDefinition, type FuncKeywordDefinition, type KeywordCxt } from 'ajv'
import { type default as Ajv } from 'ajv/dist/core.js'
import referenceKeyword from 'ajv/dist/vocabularies/core/ref.js'
import constKeyword from 'ajv/dist/vocabularies/validation/const.js'
import enumKeyword from 'ajv/dist/vocabularies/validation/enum.js'
import multipleOfKeyword from 'ajv/dist/vocabularies/validation/multipleOf.js'
import { canonicalJson, holdsBigint, type Json, type JsonObject } from '../../base/json.ts'
import { exactly, exactMember, isMultiple } from '../rest/exact-numbers.ts'
import { installFormats } from './schema-formats.ts'
import { installMeter, isContainer } from './schema-metering.ts'
import { type WorkMeter } from './work-meter.ts'

/**
 * Replaces keywords of ajv with which the schema or value of a stranger could make it work without end. Work is metered. `enum` and `uniqueItems`
 * compare each value once instead of with every other value. `$dynamicRef` is refused. Numbers that must be equal, or multiples, are compared with
 * all their digits.
 */
export function installVocabulary (ajv: Ajv.default, meter: WorkMeter): void {
  installFormats(ajv, meter)
  for (const keyword of ['$ref', '$dynamicRef', 'multipleOf', 'enum', 'const']) ajv.removeKeyword(keyword)
  ajv.addKeyword(meteredReference(meter))
  ajv.addKeyword({ keyword: '$dynamicRef', code: () => { throw new Error('$dynamicRef is not supported') } })
  ajv.addKeyword(checkedBy(multipleOfKeyword.default as CodeKeywordDefinition, multipleOf))
  ajv.addKeyword(checkedBy(enumKeyword.default as CodeKeywordDefinition, stated => oneOf(stated as readonly Json[], meter) ?? among(stated as readonly Json[])))
  ajv.addKeyword(checkedBy(constKeyword.default as CodeKeywordDefinition, stated => oneOf([stated], meter)))
  replaceUniqueItems(ajv, meter)
  installMeter(ajv, meter)
}

/** Replaces `uniqueItems`, so that it compares integers with all their digits. */
export function replaceUniqueItems (ajv: Ajv.default, meter?: WorkMeter): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword(uniqueItems(meter))
}

function uniqueItems (meter: WorkMeter | undefined): FuncKeywordDefinition {
  return {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have equal items' },
    validate: (wanted: boolean, items: Json[]) => !wanted || new Set((exactly(items) as Json[]).map(item => textOf(item, meter))).size === items.length
  }
}

/** A text that only equal values share. It is paid for after it was made, because its length is not known before. */
function textOf (value: Json, meter: WorkMeter | undefined): string {
  const text = canonicalJson(value)
  meter?.readText(text.length)
  return text
}

/** Checks a value. `parent` and `name` are the value's place, at which its integers are found with all digits. */
type Check = (value: Json, parent: Json, name: string | number) => boolean

/**
 * A keyword of ajv with another check.
 * @param checkOf makes the check from the keyword's value in the schema, with all digits; `undefined` keeps ajv's own check
 */
function checkedBy (definition: CodeKeywordDefinition, checkOf: (stated: Json) => Check | undefined): CodeKeywordDefinition {
  return {
    ...definition,
    code (context: KeywordCxt) {
      const { gen, data, it, keyword, parentSchema } = context
      const check = checkOf((exactly(parentSchema as JsonObject) as JsonObject)[keyword] as Json)
      if (check === undefined) return definition.code(context)
      context.pass(_`${gen.scopeValue('func', { ref: check })}(${data}, ${it.parentData}, ${it.parentDataProperty})`)
    }
  }
}

function multipleOf (step: Json): Check {
  return (value, parent, name) => isMultiple(exactMember(value, parent, name) as number | bigint, step as number | bigint)
}

/** The check of an `enum` with large integers; `undefined` without them, because ajv's own check is faster then. */
function oneOf (values: readonly Json[], meter: WorkMeter): Check | undefined {
  if (!values.some(holdsBigint)) return undefined
  const texts = new Set(values.map(canonicalJson))
  return (value, parent, name) => texts.has(textOf(exactMember(value, parent, name), meter))
}

/** The check of an `enum` of texts and numbers, in which a value is found at once. ajv would compare one after the other. */
function among (values: readonly Json[]): Check | undefined {
  if (values.some(isContainer)) return undefined
  const known = new Set(values)
  return value => known.has(value)
}

function meteredReference (meter: WorkMeter): CodeKeywordDefinition {
  const { code, ...definition } = referenceKeyword.default as CodeKeywordDefinition
  return {
    ...definition,
    code (context) {
      checkPointer(context.schema as string, context.it.schemaEnv.root.schema)
      const counter = context.gen.scopeValue('obj', { ref: meter })
      context.gen.code(_`${counter}.followReference()`)
      code(context)
    }
  }
}

/** Refuses a reference such as `#/constructor`, which ajv would follow into JavaScript's own objects. */
function checkPointer (reference: string, root: unknown): void {
  const segments = decodeURIComponent(reference.replace(/^[^#]*#?/, '')).split('/').slice(1).map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (!segments.some(segment => segment in Object.prototype)) return
  let place = reference.startsWith('#') ? root : undefined
  for (const segment of segments) {
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, segment)) throw new Error(`can't resolve reference ${reference}`)
    place = (place as Record<string, unknown>)[segment]
  }
}
