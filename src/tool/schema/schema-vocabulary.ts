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
 * Replaces parts of ajv with which a stranger's schema or value could keep it busy for ever. Work is metered. `enum` and `uniqueItems`
 * compare each value once, instead of with every other one. `$dynamicRef` is refused. Numbers are compared as they were written, with all
 * digits.
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

/** Replaces the keyword `uniqueItems` of an ajv instance: the new check compares integers with all digits. */
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

/**
 * Gives a text for a value. Two values have the same text if and only if they are equal. The meter counts the text after it was made, since
 * its length is not known before.
 */
function textOf (value: Json, meter: WorkMeter | undefined): string {
  const text = canonicalJson(value)
  meter?.readText(text.length)
  return text
}

/** A check of a value. `parent[name]` is the place of the value: a check uses it to find the original integer, with all digits. */
type Check = (value: Json, parent: Json, name: string | number) => boolean

/**
 * Copies the definition of an ajv keyword, and replaces its check.
 * @param checkOf makes the new check from the keyword's value in the schema, whose integers have all digits; `undefined` keeps ajv's own check
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

/**
 * Makes the check whether a value equals one of `values`. If none of these has an integer that a floating-point number cannot represent, the
 * result is `undefined`, since ajv's own check is faster.
 */
function oneOf (values: readonly Json[], meter: WorkMeter): Check | undefined {
  if (!values.some(holdsBigint)) return undefined
  const texts = new Set(values.map(canonicalJson))
  return (value, parent, name) => texts.has(textOf(exactMember(value, parent, name), meter))
}

/**
 * Makes the check whether a value is one of `values`, by one look into a set; ajv would compare them one after the other. The result is
 * `undefined` if one of `values` is an object or list.
 */
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

/** Checks that a reference leads to a part of the schema. ajv would follow `#/constructor` into JavaScript's own objects. @throws Error when it does not */
function checkPointer (reference: string, root: unknown): void {
  const segments = decodeURIComponent(reference.replace(/^[^#]*#?/, '')).split('/').slice(1).map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (!segments.some(segment => segment in Object.prototype)) return
  let place = reference.startsWith('#') ? root : undefined
  for (const segment of segments) {
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, segment)) throw new Error(`can't resolve reference ${reference}`)
    place = (place as Record<string, unknown>)[segment]
  }
}
