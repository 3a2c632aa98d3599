import { _, type CodeKeywordDefinition, type FuncKeywordDefinition, type KeywordCxt } from 'ajv'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { default as Ajv } from 'ajv/dist/core.js'
import referenceKeyword from 'ajv/dist/vocabularies/core/ref.js'
import constKeyword from 'ajv/dist/vocabularies/validation/const.js'
import enumKeyword from 'ajv/dist/vocabularies/validation/enum.js'
import multipleOfKeyword from 'ajv/dist/vocabularies/validation/multipleOf.js'
import { canonicalJson, holdsBigint, type Json, type JsonObject } from '../../base/json.ts'
import { memberNames } from '../../template/value.ts'

/**
 * The free work: the units of work that every validation can do before its time counts. An honest value must not be refused because the
 * process was suspended for a while.
 */
const FREE_WORK = 1_000_000

/** The longest time for which a validation can go on after it has used up `FREE_WORK`, in ms. */
const MAX_MILLISECONDS = 100

/** The units of work for following a `$ref`, and for trying a pattern. For a pattern, the work for the characters of the text is added. */
const STEP_WORK = 100

/** The units of work for applying a subschema, and for reading a text. The work for the names in the subschema, or for the characters, is added. */
const SMALL_STEP_WORK = 10

/** The number of characters of a text that are read for one unit of work. */
const CHARACTERS_PER_WORK = 4

/** After a validation has used up `FREE_WORK`, it compares its time with the limit each time that it has done this many further units of work. */
const WORK_PER_LOOK = 5000

/** Up to this number of states, the automaton of a regular expression is fast on any text: it has few sets of states, and computes each only once. */
const SMALL_AUTOMATON = 12

/**
 * For an automaton with more states than `SMALL_AUTOMATON`: the largest product of its states and the length of the text. In the worst
 * case, where each character leads to a new set of states, such a text takes a third of a second.
 */
const MAX_TEST = 2_000_000

/** The error that a value takes more work to check than any honest schema needs. */
export class WorkError extends Error {
  override readonly name = 'WorkError'

  constructor () {
    super('takes too much work to check')
  }
}

/**
 * Limits the work of one validation. Each step is linear, but references that double (`allOf: [{$ref: a}, {$ref: a}]`), a thousand
 * `contains` over a long list, or patterns with a large automaton could block the process for seconds or minutes. The limit is on time,
 * since the work of an automaton is not known before: it takes from 1 to 3,000 ns for a character.
 */
export class WorkMeter {
  #spent = 0
  /** The time at which this validation had done all of `FREE_WORK`, on the clock of `performance.now()`. */
  #usedUpAt: number | undefined
  /** The amount of work at which the clock is looked at next. */
  #nextLook = FREE_WORK

  /** Sets the counted work to 0, before a new validation begins. */
  reset (): void {
    this.#spent = 0
    this.#usedUpAt = undefined
    this.#nextLook = FREE_WORK
  }

  /** Adds the work of following a reference. @throws WorkError if the validation has taken too long */
  followReference (): void {
    this.#charge(STEP_WORK)
  }

  /** Adds the work of applying a subschema. @param size the number of names and values in the subschema @throws WorkError */
  applySubschema (size: number): void {
    this.#charge(SMALL_STEP_WORK + size)
  }

  /** Adds the work of listing the member names of an object. @throws WorkError */
  listNames (count: number): void {
    this.#charge(count)
  }

  /** Adds the work of reading a text. @param length in UTF-16 units @throws WorkError */
  readText (length: number): void {
    this.#charge(SMALL_STEP_WORK + length / CHARACTERS_PER_WORK)
  }

  /** Adds the work of trying a pattern on a text of this length, before it is tried. @param states of the pattern's automaton @throws WorkError */
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

/** The original values, with all digits, of objects and lists whose big integers were replaced by numbers. */
const originals = new WeakMap<object, Json>()

/** Replaces each `bigint` in a value by the nearest number, since the package ajv only knows numbers. The original value can be found again with `exactly`. */
export function toNumbers (value: Json): Json {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null || !holdsBigint(value)) return value
  const numbers = Array.isArray(value)
    ? value.map(toNumbers)
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toNumbers(member as Json)]))
  originals.set(numbers, value)
  return numbers
}

/** The original of an object or list that `toNumbers` has converted, with all digits of its integers; any other value as it is. */
export function exactly (value: Json): Json {
  return typeof value === 'object' && value !== null ? originals.get(value) ?? value : value
}

/** The original value of a member, with all digits if it was a big integer. @param value the member's value in `parent`, which `toNumbers` has converted */
function exactMember (value: Json, parent: Json, name: string | number): Json {
  if (typeof value !== 'number') return exactly(value)
  const whole = exactly(parent)
  const exact = typeof whole === 'object' && whole !== null ? (whole as JsonObject)[name] : undefined
  return typeof exact === 'bigint' && Number(exact) === value ? exact : value
}

/**
 * Whether a number is a multiple of another one, in the decimal form in which both were written. Their floating-point forms can be
 * rounded, so a tiny difference is allowed.
 */
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
function installMeter (ajv: Ajv.default, meter: WorkMeter): void {
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
function isContainer (value: Json): value is JsonObject | readonly Json[] {
  return typeof value === 'object' && value !== null
}

/**
 * The longest text that a regular expression checks, in UTF-16 units: no address, date or name is longer. Formats
 * checked by functions, such as `uri` and `byte`, take any length.
 */
const MAX_FORMATTED = 4096

/**
 * The part of the regular expression for `url` that matches a user name before the host, which takes quadratic time, and its replacement
 * that takes linear time.
 */
const ANY_USER = '(?:\\S+(?::\\S*)?@)?'
const USER = '(?:[^\\s/]+@)?'

const { source, flags } = fullFormats.url as RegExp
const URL_PATTERN = new RegExp(source.replace(ANY_USER, USER), flags)

type Format = typeof fullFormats[keyof typeof fullFormats]

const FORMATS = Object.entries<Format>({ ...fullFormats, url: URL_PATTERN }).map(([name, format]) => ({ name, format, check: checkOf(format) }))

/** Adds the known formats, such as `date` and `email`, to an ajv. Each check takes time linear to the text's length, which the meter counts as work. */
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

/** The check of a format for texts; `undefined` for formats of numbers, and for formats that accept any text. */
function checkOf (format: Format): ((text: string) => boolean) | undefined {
  if (format instanceof RegExp) return text => text.length <= MAX_FORMATTED && format.test(text)
  if (typeof format === 'function') return format
  return typeof format === 'object' && !('type' in format) ? format.validate as (text: string) => boolean : undefined
}

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
