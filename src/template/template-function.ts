import { canonicalJson, type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { isObject, memberNames, NOTHING, type Value } from './value.ts'

/**
 * An argument of a function as text: numbers and booleans as they print, null and `NOTHING` (the result of a failed tool) as the empty text.
 * @throws FunctionError for a list or an object
 */
export function textArgument (value: Value | undefined, name: string, context: FunctionContext): string {
  if (typeof value === 'string') {
    chargeText(value.length, context)
    return value
  }
  if (value === null || value === NOTHING || value === undefined) return ''
  if (typeof value === 'object') throw new FunctionError(`${name} must be a text, not ${kindOf(value)}`)
  return String(value)
}

/** An argument of a function as a list; null and `NOTHING` (the result of a failed tool) are the empty list. @throws FunctionError for anything else */
export function listArgument (value: Value | undefined, name: string): readonly Value[] {
  if (Array.isArray(value)) return value as readonly Value[]
  if (value === null || value === NOTHING || value === undefined) return []
  throw new FunctionError(`${name} must be a list, not ${kindOf(value)}`)
}

/** An argument of a function as a count. @throws FunctionError unless it is an integer from 0 to `most` */
export function countArgument (value: Value | undefined, name: string, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value
  const range = most === Number.MAX_SAFE_INTEGER ? 'an integer, 0 or more' : `an integer from 0 to ${most}`
  throw new FunctionError(`${name} must be ${range}, not ${typeof value === 'number' ? value : kindOf(value)}`)
}

/** The text that a value prints as: objects and lists as JSON, null and `NOTHING` (the result of a failed tool) as the empty text. */
export function printed (value: Value, context: FunctionContext): string {
  if (typeof value !== 'object') return typeof value === 'string' ? value : String(value)
  if (value === null || value === NOTHING) return ''
  measureJson(value, 0, context)
  return stringifyJson(value)
}

/** The kind of a value in the words of an error: `a list`, `an object`. */
export function kindOf (value: Value | undefined): string {
  if (value === null || value === NOTHING || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (isObject(value)) return 'an object'
  if (typeof value === 'string') return 'a text'
  return typeof value === 'boolean' ? 'a boolean' : 'a number'
}

/** The length of text that costs one visit (the unit in which the work of a render is counted and limited), in UTF-16 units. */
const UNITS_PER_VISIT = 64

/**
 * The most nested levels in a value that a function looks through. Data from outside has at most 100 levels; functions, and contexts of partials, put
 * further levels around it. The limit keeps every recursion over values within the stack.
 */
const MAX_VALUE_DEPTH = 200

/** Counts the work of reading or making a text against the limit of the render. @param length the text's length, in UTF-16 units */
export function chargeText (length: number, context: FunctionContext): void {
  if (length >= UNITS_PER_VISIT) context.charge(Math.floor(length / UNITS_PER_VISIT))
}

/**
 * The cost of a member of an object, in addition to that of its value, in visits (units of a render's work). Listing and looking up names takes several
 * times as long as going through a list.
 */
const VISITS_PER_NAME = 4

/** How many times more a tool's arguments cost than their JSON text: they are assigned to the tool's parameters, and sorted by name to find equal calls. */
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

/**
 * Counts the work of a tool call's arguments against the limit of the render, each time that a template reaches the call.
 * @throws FunctionError when one of them nests too deeply, RENDER_BUDGET
 */
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
    context.charge(VISITS_PER_NAME + Math.floor(name.length / UNITS_PER_VISIT))
    measure((value as { readonly [name: string]: Value })[name] as Value, indent, depth + 1, context)
  }
}

/** What the functions of a template can use of the run (one rendering of a template). */
export interface FunctionContext {
  /** The time of the run, which stays the same throughout. */
  now (): Date
  /**
   * Counts work against the limit of the render, before the work is done. One visit is the work for one element or 64 UTF-16 units of text that the
   * function reads or makes.
   */
  charge (visits: number): void
}

/**
 * A function that both template languages offer under one name. Before the call, the language resolves arguments that are `PENDING`, `Absent` or lazy, so
 * `apply` gets only plain data and `NOTHING` (the result of a failed tool). `and`, `or` and `default` are not among these functions, because they must
 * not evaluate every argument.
 */
export interface TemplateFunction {
  readonly name: string
  /** The names of the arguments for the documentation; in Go the value before a `|` becomes the last one: `separator list`. */
  readonly parameters: string
  readonly summary: string
  /** An example in each template language, which the tests run; the docs print that in Handlebars. */
  readonly example: { readonly go: string, readonly handlebars: string, readonly variables: Readonly<Record<string, unknown>>, readonly output: string }
  /** The least and the greatest number of arguments. */
  readonly arity: { readonly least: number, readonly most: number }
  /** Computes the result. @throws FunctionError with a reason, to which the language adds the place */
  apply (args: readonly Value[], context: FunctionContext): Value
}

/** Thrown when a function cannot work on its arguments. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError'
}

/** A registered tool, as templates call it. */
export interface LinkedTool {
  readonly kind: 'tool'
  /** The name of the function in templates: `codebase_lookup_ref`. */
  readonly name: string
  /** The tool's id: `codebase.lookup_ref`. */
  readonly id: string
  /** Turns positional and named arguments into the tool's one object of arguments, with defaults filled in. */
  mapArguments (positional: readonly Json[], named: JsonObject): JsonObject
}

/** A tool call that a template makes. When a render makes equal calls, the tool is called only once. */
export interface ToolCall {
  readonly tool: LinkedTool
  readonly arguments: JsonObject
  /** The key of the call, made from the tool and the sorted arguments: equal calls have equal keys. */
  readonly key: string
}

/** The key of a tool call, by which equal calls are recognised. */
export function toolCallKey (id: string, values: JsonObject): string {
  return `${id} ${canonicalJson(values)}`
}
