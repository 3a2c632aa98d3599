import { canonicalJson, type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { isObject, memberNames, NOTHING, type Value } from './value.ts'

/** Null and `NOTHING` are the empty text. @throws FunctionError for a list or an object */
export function textArgument (value: Value | undefined, name: string, context: FunctionContext): string {
  if (typeof value === 'string') {
    chargeText(value.length, context)
    return value
  }
  if (value === null || value === NOTHING || value === undefined) return ''
  if (typeof value === 'object') throw new FunctionError(`${name} must be a text, not ${kindOf(value)}`)
  return String(value)
}

/** Null and `NOTHING` are the empty list. @throws FunctionError for anything else */
export function listArgument (value: Value | undefined, name: string): readonly Value[] {
  if (Array.isArray(value)) return value as readonly Value[]
  if (value === null || value === NOTHING || value === undefined) return []
  throw new FunctionError(`${name} must be a list, not ${kindOf(value)}`)
}

/** @throws FunctionError unless it is an integer from 0 to `most` */
export function countArgument (value: Value | undefined, name: string, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value
  const range = most === Number.MAX_SAFE_INTEGER ? 'an integer, 0 or more' : `an integer from 0 to ${most}`
  throw new FunctionError(`${name} must be ${range}, not ${typeof value === 'number' ? value : kindOf(value)}`)
}

/** Objects and lists are JSON, null and `NOTHING` the empty text. */
export function printed (value: Value, context: FunctionContext): string {
  if (typeof value !== 'object') return typeof value === 'string' ? value : String(value)
  if (value === null || value === NOTHING) return ''
  measureJson(value, 0, context)
  return stringifyJson(value)
}

export function kindOf (value: Value | undefined): string {
  if (value === null || value === NOTHING || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (isObject(value)) return 'an object'
  if (typeof value === 'string') return 'a text'
  return typeof value === 'boolean' ? 'a boolean' : 'a number'
}

/** In UTF-16 units. A visit is the unit in which a render's work is limited. */
const LENGTH_PER_WORK_UNIT = 64

/** Keeps recursion within the stack: outside data has at most 100 levels; functions and partials add further ones. */
const MAX_VALUE_DEPTH = 200

/** `length` is in UTF-16 units. */
export function chargeText (length: number, context: FunctionContext): void {
  if (length >= LENGTH_PER_WORK_UNIT) context.charge(Math.floor(length / LENGTH_PER_WORK_UNIT))
}

/** In visits: listing and looking up names takes several times as long as going through a list. */
const WORK_PER_NAME = 4

/** Arguments are assigned to the tool's parameters, and sorted by name to find equal calls. */
const TIMES_PER_ARGUMENT = 6

/**
 * Counts the work of making a value's JSON text against the limit of the render, before the text is made: some visits (units of work) for each element and
 * member, and one for each 64 UTF-16 units.
 * @param indent the number of spaces per level; 0 for JSON on one line
 * @throws FunctionError when the value nests too deeply, RENDER_BUDGET
 */
export function measureJson (value: Value, indent: number, context: FunctionContext): void {
  measure(value, indent, 0, context)
}

/** Charges each time a template reaches the call. @throws FunctionError when an argument nests too deeply, RENDER_BUDGET */
export function measureArguments (values: Iterable<Value>, context: FunctionContext): void {
  const dearer: FunctionContext = { now: () => context.now(), charge: visits => context.charge(visits * TIMES_PER_ARGUMENT) }
  for (const value of values) measureJson(value, 0, dearer)
}

function measure (value: Value, indent: number, depth: number, context: FunctionContext): void {
  context.charge(1)
  chargeText(indent * depth, context)
  if (typeof value === 'string') return chargeText(value.length, context)
  if (typeof value !== 'object' || value === null || value === NOTHING) return
  if (depth >= MAX_VALUE_DEPTH) throw new FunctionError(`the value nests deeper than ${MAX_VALUE_DEPTH} levels`)
  if (Array.isArray(value)) {
    for (const member of value as readonly Value[]) measure(member, indent, depth + 1, context)
    return
  }
  for (const name of memberNames(value)) {
    context.charge(WORK_PER_NAME + Math.floor(name.length / LENGTH_PER_WORK_UNIT))
    measure((value as { readonly [name: string]: Value })[name] as Value, indent, depth + 1, context)
  }
}

export interface FunctionContext {
  /** Stays the same throughout the run. */
  now (): Date
  /** Called before the work is done; a visit is one element, or 64 UTF-16 units of text. */
  charge (visits: number): void
}

/** A function of both languages. They resolve arguments first, so `apply` gets only plain data and `NOTHING`. */
export interface TemplateFunction {
  readonly name: string
  /** For the documentation: `separator list`. In Go the value before a `|` is the last one. */
  readonly parameters: string
  readonly summary: string
  /** The tests run both; the docs print that in Handlebars. */
  readonly example: { readonly go: string, readonly handlebars: string, readonly variables: Readonly<Record<string, unknown>>, readonly output: string }
  readonly arity: { readonly least: number, readonly most: number }
  /** @throws FunctionError with a reason, to which the language adds the place */
  apply (args: readonly Value[], context: FunctionContext): Value
}

/** A function cannot work on its arguments; the language adds the place. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError'
}

export interface LinkedTool {
  readonly kind: 'tool'
  /** The name of the function in templates: `codebase_lookup_ref`. */
  readonly name: string
  /** The tool's id: `codebase.lookup_ref`. */
  readonly id: string
  mapArguments (positional: readonly Json[], named: JsonObject): JsonObject
}

/** Equal calls of a render are made only once. */
export interface ToolCall {
  readonly tool: LinkedTool
  readonly arguments: JsonObject
  readonly key: string
}

export function toolCallKey (id: string, values: JsonObject): string {
  return `${id} ${canonicalJson(values)}`
}
