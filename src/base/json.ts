import { createHash } from 'node:crypto'
import { parse as parseLossless, stringify as stringifyLossless } from 'lossless-json'
import { beginningOf, hasAtMost } from './text.ts'

/** Any JSON value. Integers beyond 2^53 are `bigint`, so that no digit gets lost. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject

/** A JSON object. Its member names may come from strangers, so members are read with `Object.hasOwn`. */
export interface JsonObject { readonly [key: string]: Json }

/** Whether a value is an object, and not a list or null. */
export function isJsonObject (value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The deepest nesting of objects and lists in any JSON that the service reads. Code that recurses over JSON relies on this limit. */
export const MAX_JSON_DEPTH = 100

/** A number with at least this many digits may have digits that a double cannot hold. */
const DIGITS_OF_DOUBLES = 16

/** The greatest number of digits of an integer in JSON that the service reads. All digits are kept, so their number must have a bound. */
export const MAX_DIGITS = 1000

/** Matches exponents of three digits or more. A number with a shorter one is never too large for a double, unless it has many digits, too. */
const LONG_EXPONENT = /\d[eE]\+?\d{3}/

/** A place in a text. Line and column count from 1; columns count UTF-16 units. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** Says that a text is no JSON, nests too deeply, or has a number that is too large. The message names the place in the text. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
  /** The message without the place. */
  readonly reason: string
  readonly place: TextPlace | undefined

  constructor (reason: string, place?: TextPlace) {
    super(place === undefined ? reason : `${reason} at line ${place.line}, column ${place.column}`)
    this.reason = reason
    this.place = place
  }
}

/**
 * Parses JSON without losing digits: integers beyond 2^53 become `bigint`. The slower parser that can do so runs only for a text with 16 digits in a
 * row. A byte order mark is refused, as RFC 8259 allows. A number such as 1e400 is refused, too: JavaScript would read it as Infinity, and write it
 * as null.
 * @throws JsonError
 */
export function parseJson (text: string): Json {
  const { hasLongNumber, tooDeepAt } = hasManyDigits(text) || mayBeDeep(text) ? scan(text) : NOTHING_FOUND
  if (tooDeepAt !== undefined) throw new JsonError(`nested deeper than ${MAX_JSON_DEPTH}`, placeOf(text, tooDeepAt))
  const value = parsePlainly(text, hasLongNumber)
  if ((hasLongNumber || LONG_EXPONENT.test(text)) && holdsInfinity(value)) throw findOverflow(text)
  return value
}

/**
 * Parses a text that `stringifyJson` has written; long numbers keep all their digits. The text may nest deeper than `MAX_JSON_DEPTH`, because
 * the service puts the data of strangers into data of its own.
 * @throws JsonError
 */
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

/**
 * Whether a text has 16 digits in a row. It looks only at every 16th character, because any such row covers one of those places. This takes a third
 * of the time of a regular expression, and is done for every body of a request.
 */
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

/** Whether a JSON text nests deeper than `MAX_JSON_DEPTH`. For texts that are not parsed by `parseJson`, which checks this itself. */
export function isTooDeep (text: string): boolean {
  return mayBeDeep(text) && scan(text).tooDeepAt !== undefined
}

/** Writes a value as JSON. A `bigint` is written with all its digits. */
export function stringifyJson (value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent)
  } catch {
    return stringifyLossless(value, null, indent) as string
  }
}

/** Writes a value as JSON with sorted member names, so that equal values have equal texts. */
export function canonicalJson (value: Json): string {
  return stringifyJson(sortKeys(value))
}

/** A hash of a JSON value, which is equal for equal values on every replica. It has 12 characters that need no escaping. */
export function contentHash (content: Json): string {
  return createHash('sha256').update(canonicalJson(content)).digest('base64url').slice(0, 12)
}

/** A JSON object to which members are still added. */
export interface MutableObject { [name: string]: Json }

/**
 * Sets a member of an object that is being built. A plain assignment to the name `__proto__` would set the prototype. `Object.fromEntries`, or a
 * spread, would take V8 1 to 2 µs; this takes some nanoseconds for each member.
 */
export function setMember (object: MutableObject, name: string, value: Json): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  else object[name] = value
}

/** Whether objects and lists in a value nest deeper than `levels`. The check itself goes no deeper. */
export function isDeeper (value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(member => isDeeper(member, levels - 1))
}

/** Whether a value has an integer that a double cannot hold. */
export function holdsBigint (value: Json): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint'
  // Every value of a render passes through this loop, and Object.values would take twice as long for a large object.
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

/** Reads a number: an integer that a double cannot hold exactly becomes a bigint; every other number becomes what JSON.parse makes of it. */
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

/** Whether a text has so many brackets that it possibly nests too deeply. V8 counts brackets in a quarter of the time of a full scan. */
function mayBeDeep (text: string): boolean {
  return !['[', '{'].every(bracket => hasAtMost(text, bracket, MAX_JSON_DEPTH / 2))
}

interface Findings {
  /** Whether a number has 16 digits in a row. */
  readonly hasLongNumber: boolean
  /** The index at which the text begins to nest deeper than `MAX_JSON_DEPTH`; left out when it never does. */
  readonly tooDeepAt?: number
}

const NOTHING_FOUND: Findings = { hasLongNumber: false }

/** Scans a JSON text for long numbers and deep nesting. It stops where the text nests too deeply. */
function scan (text: string): Findings {
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

/**
 * Finds the mistake in a text that is no JSON. The slower parser, which keeps all digits, is asked for it, because its messages are better
 * than those of V8.
 */
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

/** Makes the error about the first number that a double cannot hold because it is too large. Integers never are, since all their digits are kept. */
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

function placeOf (text: string, index: number): TextPlace {
  const before = text.slice(0, index)
  return { line: before.split('\n').length, column: index - before.lastIndexOf('\n') }
}
