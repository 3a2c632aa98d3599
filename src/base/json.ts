import { createHash } from 'node:crypto'
import { parse as parseLossless, stringify as stringifyLossless } from 'lossless-json'
import { beginningOf, hasAtMost } from './text.ts'

/** Integers beyond 2^53 are `bigint`, so that no digit gets lost. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject

/** Member names may come from strangers, so members are read with `Object.hasOwn`. */
export interface JsonObject { readonly [key: string]: Json }

export function isJsonObject (value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// From a service or a model, in any form: a value of the wrong type counts as an empty one.

export function textOf (value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function listOf (value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value as readonly Json[] : []
}

/** Its members that are objects. */
export function objectsIn (value: Json | undefined, name: string): JsonObject[] {
  return listOf(ownField(objectOf(value), name)).filter(isJsonObject)
}

export function objectOf (value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** Not what every object inherits, such as `constructor`. */
export function ownField<T> (given: Readonly<Record<string, T>>, name: string): T | undefined
export function ownField (given: Json | undefined, name: string): Json | undefined
export function ownField (given: Json | undefined, name: string): Json | undefined {
  return isJsonObject(given) && Object.hasOwn(given, name) ? given[name] : undefined
}

export function textIn (given: Json | undefined, name: string): string {
  return textOf(ownField(given, name))
}

/** Of a JSON pointer: https://www.rfc-editor.org/rfc/rfc6901 */
export function segmentsOf (pointer: string): string[] {
  return pointer.split('/').slice(1).map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** In any JSON that the service reads; code that recurses over JSON relies on this limit. */
export const MAX_JSON_DEPTH = 100

/** A number with at least this many digits may have digits that a double cannot hold. */
const DIGITS_OF_DOUBLES = 16

/** All digits of an integer are kept, so their number must have a bound. */
export const MAX_DIGITS = 1000

/** A number with a shorter exponent is never too large for a double, unless it has many digits, too. */
const LONG_EXPONENT = /\d[eE]\+?\d{3}/

/** Line and column count from 1; columns count UTF-16 units. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly reason: string
  readonly place: TextPlace | undefined

  constructor (reason: string, place?: TextPlace) {
    super(place === undefined ? reason : `${reason} at line ${place.line}, column ${place.column}`)
    this.reason = reason
    this.place = place
  }
}

/** Integers beyond 2^53 become `bigint`; no byte order mark (RFC 8259), no 1e400, which JS would write as null. @throws JsonError */
export function parseJson (text: string): Json {
  const { hasLongNumber, tooDeepAt } = hasManyDigits(text) || mayBeDeep(text) ? scan(text) : NOTHING_FOUND
  if (tooDeepAt !== undefined) throw new JsonError(`nested deeper than ${MAX_JSON_DEPTH}`, placeOf(text, tooDeepAt))
  const value = parsePlainly(text, hasLongNumber)
  if ((hasLongNumber || LONG_EXPONENT.test(text)) && holdsInfinity(value)) throw findOverflow(text)
  return value
}

/** For texts of `stringifyJson`: deeper than MAX_JSON_DEPTH where strangers' data is put into the service's own. @throws JsonError */
export function parseOwnJson (text: string): Json {
  return parsePlainly(text, hasManyDigits(text))
}

function parsePlainly (text: string, hasLongNumber: boolean): Json {
  try {
    const plain = JSON.parse(text) as Json
    return hasLongNumber ? parseExactly(text) : plain
  } catch {
    throw findMistake(text)
  }
}

/** Any such row covers a 16th character: a third of a regular expression's time, for every body of a request. */
function hasManyDigits (text: string): boolean {
  for (let at = DIGITS_OF_DOUBLES - 1; at < text.length; at += DIGITS_OF_DOUBLES) {
    if (isDigit(text, at) && digitsAround(text, at) >= DIGITS_OF_DOUBLES) return true
  }
  return false
}

function digitsAround (text: string, at: number): number {
  let start = at
  while (isDigit(text, start - 1)) start--
  let end = at + 1
  while (isDigit(text, end)) end++
  return end - start
}

function isDigit (text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0x30 && code <= 0x39
}

/** For texts that are not parsed by `parseJson`, which checks this itself. */
export function isTooDeep (text: string): boolean {
  return mayBeDeep(text) && scan(text).tooDeepAt !== undefined
}

export function stringifyJson (value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent)
  } catch {
    return stringifyLossless(value, null, indent) as string
  }
}

/** Member names are sorted, so that equal values have equal texts. */
export function canonicalJson (value: Json): string {
  return stringifyJson(sortKeys(value))
}

/** Equal for equal values on every replica; 12 characters that need no escaping. */
export function contentHash (content: Json): string {
  return createHash('sha256').update(canonicalJson(content)).digest('base64url').slice(0, 12)
}

export interface MutableObject { [name: string]: Json }

/** Assigning `__proto__` would set the prototype; `Object.fromEntries` or a spread takes V8 1 to 2 µs, this some ns a member. */
export function setMember (object: MutableObject, name: string, value: Json): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  else object[name] = value
}

/** The check itself goes no deeper. */
export function isDeeper (value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(member => isDeeper(member, levels - 1))
}

export function holdsBigint (value: Json): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint'
  // Every value of a render passes here, and Object.values would take twice as long for a large object.
  return Object.keys(value).some(name => holdsBigint((value as JsonObject)[name] as Json))
}

function sortKeys (value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const members = value as JsonObject
  const sorted: MutableObject = {}
  for (const name of Object.keys(members).sort()) setMember(sorted, name, sortKeys(members[name] as Json))
  return sorted
}

function parseExactly (text: string): Json {
  return parseLossless(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) as Json
}

function parseNumber (digits: string): number | bigint {
  const number = Number(digits)
  if (Number.isSafeInteger(number) || !/^-?\d+$/.test(digits)) return number
  if (digits.length > MAX_DIGITS) throw new SyntaxError(`an integer has more than ${MAX_DIGITS} digits`)
  return BigInt(digits)
}

function holdsInfinity (value: Json): boolean {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity
  return Object.values(value).some(holdsInfinity)
}

/** V8 counts brackets in a quarter of the time of a full scan. */
function mayBeDeep (text: string): boolean {
  return !['[', '{'].every(bracket => hasAtMost(text, bracket, MAX_JSON_DEPTH / 2))
}

interface JsonScan {
  readonly hasLongNumber: boolean
  /** Where it nests deeper than `MAX_JSON_DEPTH`; left out when it never does. */
  readonly tooDeepAt?: number
}

const NOTHING_FOUND: JsonScan = { hasLongNumber: false }

function scan (text: string): JsonScan {
  let hasLongNumber = false
  let depth = 0
  let digits = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
      continue
    }
    if (code >= 0x30 && code <= 0x39) {
      if (++digits === DIGITS_OF_DOUBLES) hasLongNumber = true
      continue
    }
    digits = 0
    if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > MAX_JSON_DEPTH) return { hasLongNumber, tooDeepAt: index }
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return { hasLongNumber }
}

/** The slower parser is asked, because its messages are better than those of V8. */
function findMistake (text: string): JsonError {
  if (text.trim() === '') return new JsonError('the text is empty')
  try {
    parseExactly(text)
    return new JsonError('it is not JSON')
  } catch (error) {
    const { message } = error as Error
    const [position, index] = / at position (\d+)$/.exec(message) ?? []
    return position === undefined ? new JsonError(message) : new JsonError(message.slice(0, -position.length), placeOf(text, Number(index)))
  }
}

/** Integers are never too large, since all their digits are kept. */
function findOverflow (text: string): JsonError {
  let inString = false
  for (const { 0: found, index } of text.matchAll(/\\.|"|-?\d[\d.eE+-]*/g)) {
    if (found === '"') inString = !inString
    else if (!inString && /[.eE]/.test(found) && !Number.isFinite(Number(found))) {
      return new JsonError(`1.8e308 is the most that can be held, not ${beginningOf(found, 20)}`, placeOf(text, index))
    }
  }
  return new JsonError('1.8e308 is the most that can be held, and a number is beyond it')
}

export function placeOf (text: string, index: number): TextPlace {
  const before = text.slice(0, index)
  return { line: before.split('\n').length, column: index - before.lastIndexOf('\n') }
}
