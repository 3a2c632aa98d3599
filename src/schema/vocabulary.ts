import { _, type CodeKeywordDefinition, type KeywordCxt } from 'ajv'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { default as Ajv } from 'ajv/dist/core.js'
import referenceKeyword from 'ajv/dist/vocabularies/core/ref.js'
import constKeyword from 'ajv/dist/vocabularies/validation/const.js'
import enumKeyword from 'ajv/dist/vocabularies/validation/enum.js'
import multipleOfKeyword from 'ajv/dist/vocabularies/validation/multipleOf.js'
import { canonicalJson, holdsBigint, type Json, type JsonObject, segmentsOf } from '../base/json.ts'

/** An honest value must not be refused because the process was suspended for a while. */
const FREE_WORK = 1_000_000

/** In ms, after `FREE_WORK` is used up. */
const MAX_MILLISECONDS = 100

/** For following a `$ref`, and for trying a pattern (in addition to the text's characters). */
const STEP_WORK = 100

/** For applying a subschema, and for reading a text, in addition to its names or characters. */
const SMALL_STEP_WORK = 10

const CHARACTERS_PER_WORK = 4

/** The clock is looked at each time that this work is done. */
const WORK_PER_LOOK = 5000

/** Up to this number of states an automaton is fast on any text: it computes each of its few sets of states once. */
const SMALL_AUTOMATON = 12

/** States times length of the text, for larger automata. Such a text takes a third of a second at worst. */
const MAX_TEST = 2_000_000

export class WorkError extends Error {
  override readonly name = 'WorkError'

  constructor () {
    super('takes too much work to check')
  }
}

/** Limits one validation by time: linear steps can still block for minutes, and an automaton takes 1 to 3,000 ns for a character. */
export class WorkMeter {
  #spent = 0
  /** On the clock of `performance.now()`. */
  #usedUpAt: number | undefined
  #nextLook = FREE_WORK

  reset (): void {
    this.#spent = 0
    this.#usedUpAt = undefined
    this.#nextLook = FREE_WORK
  }

  /** @throws WorkError */
  followReference (): void {
    this.#charge(STEP_WORK)
  }

  /** @throws WorkError */
  applySubschema (size: number): void {
    this.#charge(SMALL_STEP_WORK + size)
  }

  /** @throws WorkError */
  listNames (count: number): void {
    this.#charge(count)
  }

  /** `length` is in UTF-16 units. @throws WorkError */
  readText (length: number): void {
    this.#charge(SMALL_STEP_WORK + length / CHARACTERS_PER_WORK)
  }

  /** To be called before the pattern is tried. @throws WorkError */
  tryPattern (length: number, states: number): void {
    const work = length * states
    if (states > SMALL_AUTOMATON && work > MAX_TEST) throw new WorkError()
    this.#charge(STEP_WORK + work)
  }

  #charge (work: number): void {
    this.#spent += work
    if (this.#spent <= this.#nextLook) return
    this.#nextLook = this.#spent + WORK_PER_LOOK
    const now = performance.now()
    this.#usedUpAt ??= now
    if (now - this.#usedUpAt > MAX_MILLISECONDS) throw new WorkError()
  }
}

/** The originals, with all digits, of values whose big integers were replaced. */
const originals = new WeakMap<object, Json>()

/** ajv only knows numbers, so each `bigint` becomes the nearest one; `exactly` finds the original again. */
export function toNumbers (value: Json): Json {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null || !holdsBigint(value)) return value
  const numbers = Array.isArray(value)
    ? value.map(toNumbers)
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toNumbers(member as Json)]))
  originals.set(numbers, value)
  return numbers
}

export function exactly (value: Json): Json {
  return typeof value === 'object' && value !== null ? originals.get(value) ?? value : value
}

function exactMember (value: Json, parent: Json, name: string | number): Json {
  if (typeof value !== 'number') return exactly(value)
  const whole = exactly(parent)
  const exact = typeof whole === 'object' && whole !== null ? (whole as JsonObject)[name] : undefined
  return typeof exact === 'bigint' && Number(exact) === value ? exact : value
}

/** Floating-point forms can be rounded, so a tiny difference is allowed. */
function isMultiple (value: number | bigint, step: number | bigint): boolean {
  const areIntegers = isInteger(value) && isInteger(step)
  if (isInteger(step) && !isInteger(value)) return false
  if (areIntegers) return typeof value === 'number' && typeof step === 'number' ? value % step === 0 : BigInt(value) % BigInt(step) === 0n
  const times = Number(value) / Number(step)
  return Math.abs(times - Math.round(times)) <= 2 * Number.EPSILON * Math.abs(times)
}

function isInteger (value: number | bigint): boolean {
  return typeof value === 'bigint' || Number.isInteger(value)
}

const APPLICATORS = [
  'allOf', 'anyOf', 'oneOf', 'not', 'if', 'properties', 'patternProperties', 'additionalProperties', 'propertyNames', 'dependentSchemas', 'dependencies',
  'items', 'prefixItems', 'additionalItems', 'contains', 'unevaluatedProperties', 'unevaluatedItems'
]

const LISTING = ['patternProperties', 'additionalProperties', 'propertyNames', 'unevaluatedProperties', 'minProperties', 'maxProperties']

const COUNTING = ['minLength', 'maxLength']

/** Counts the work that grows with the value. References, patterns and formats count theirs in code of their own. */
function installMeter (ajv: Ajv.default, meter: WorkMeter): void {
  const counterIn = ({ gen }: KeywordCxt) => gen.scopeValue('obj', { ref: meter })
  before(ajv, APPLICATORS, context => {
    const apply = context.subschema.bind(context)
    context.subschema = (applied, valid) => {
      const held = (context.parentSchema as JsonObject)[applied.keyword as string] as Json
      const subschema = applied.schemaProp === undefined ? held : (held as JsonObject)[applied.schemaProp]
      context.gen.code(_`${counterIn(context)}.applySubschema(${sizeOf(subschema as Json)})`)
      return apply(applied, valid)
    }
  })
  before(ajv, LISTING, context => {
    context.gen.code(_`${counterIn(context)}.listNames(Object.keys(${context.data}).length)`)
  })
  before(ajv, COUNTING, context => {
    context.gen.code(_`${counterIn(context)}.readText(${context.data}.length)`)
  })
}

/** It changes the keywords' definitions, which no other ajv instance shares. */
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

function sizeOf (subschema: Json): number {
  if (!isContainer(subschema)) return 1
  return Object.entries(subschema).reduce((size, [keyword, stated]: [string, Json]) => size + costOf(keyword, stated), 1)
}

/** 1 too for an `enum` without objects and lists: a value is found in it at once. */
function costOf (keyword: string, stated: Json): number {
  if (!isContainer(stated) || (keyword === 'enum' && !Object.values(stated).some(isContainer))) return 1
  return Object.keys(stated).length
}

function isContainer (value: Json): value is JsonObject | readonly Json[] {
  return typeof value === 'object' && value !== null
}

/** In UTF-16 units: no address, date or name is longer. Formats checked by functions take any length. */
const MAX_FORMATTED = 4096

/** A user name before the host takes quadratic time in the expression for `url`; the replacement takes linear time. */
const ANY_USER = '(?:\\S+(?::\\S*)?@)?'
const USER = '(?:[^\\s/]+@)?'

const { source, flags } = fullFormats.url as RegExp
const URL_PATTERN = new RegExp(source.replace(ANY_USER, USER), flags)

type Format = typeof fullFormats[keyof typeof fullFormats]

const FORMATS = Object.entries<Format>({ ...fullFormats, url: URL_PATTERN }).map(([name, format]) => ({ name, format, check: checkOf(format) }))

/** Each check takes time linear to the text's length, which the meter counts. */
function installFormats (ajv: Ajv.default, meter: WorkMeter): void {
  for (const { name, format, check } of FORMATS) {
    ajv.addFormat(name, check === undefined
      ? format
      : text => {
        meter.readText(text.length)
        return check(text)
      })
  }
}

/** `undefined` for formats of numbers, and for formats that accept any text. */
function checkOf (format: Format): ((text: string) => boolean) | undefined {
  if (format instanceof RegExp) return text => text.length <= MAX_FORMATTED && format.test(text)
  if (typeof format === 'function') return format
  return typeof format === 'object' && !('type' in format) ? format.validate as (text: string) => boolean : undefined
}

/** Replaces parts of ajv with which a stranger's schema or value could keep it busy for ever, or that lose digits. */
export function installVocabulary (ajv: Ajv.default, meter: WorkMeter): void {
  installFormats(ajv, meter)
  for (const keyword of ['$ref', '$dynamicRef', 'multipleOf', 'enum', 'const', 'uniqueItems']) ajv.removeKeyword(keyword)
  ajv.addKeyword(meteredReference(meter))
  ajv.addKeyword({ keyword: '$dynamicRef', code: () => { throw new Error('$dynamicRef is not supported') } })
  ajv.addKeyword(checkedBy(multipleOfKeyword.default as CodeKeywordDefinition, multipleOf))
  ajv.addKeyword(checkedBy(enumKeyword.default as CodeKeywordDefinition, stated => oneOf(stated as readonly Json[], meter) ?? among(stated as readonly Json[])))
  ajv.addKeyword(checkedBy(constKeyword.default as CodeKeywordDefinition, stated => oneOf([stated], meter)))
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: (wanted: boolean, items: Json[]) => !wanted || areUnique(items, meter) })
  installMeter(ajv, meter)
}

/** Compares integers with all digits. */
function areUnique (items: readonly Json[], meter: WorkMeter): boolean {
  return new Set((exactly(items) as readonly Json[]).map(item => textOf(item, meter))).size === items.length
}

/** Equal values, and no others, have equal texts. Counted after it was made, since its length is not known before. */
function textOf (value: Json, meter: WorkMeter): string {
  const text = canonicalJson(value)
  meter.readText(text.length)
  return text
}

/** By `parent[name]` a check finds the original integer, with all digits. */
type Check = (value: Json, parent: Json, name: string | number) => boolean

/** `undefined` from `checkOf` keeps ajv's own check. */
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

/** `undefined` without an integer that a floating-point number cannot represent, since ajv's own check is faster. */
function oneOf (values: readonly Json[], meter: WorkMeter): Check | undefined {
  if (!values.some(holdsBigint)) return undefined
  const texts = new Set(values.map(canonicalJson))
  return (value, parent, name) => texts.has(textOf(exactMember(value, parent, name), meter))
}

/** One look into a set; ajv would compare one after the other. `undefined` if a value is an object or list. */
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

/** ajv would follow `#/constructor` into JavaScript's own objects. @throws Error when the reference leads to no part of the schema */
function checkPointer (reference: string, root: unknown): void {
  const segments = segmentsOf(decodeURIComponent(reference.replace(/^[^#]*#?/, '')))
  if (!segments.some(segment => segment in Object.prototype)) return
  let place = reference.startsWith('#') ? root : undefined
  for (const segment of segments) {
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, segment)) throw new Error(`can't resolve reference ${reference}`)
    place = (place as Record<string, unknown>)[segment]
  }
}
