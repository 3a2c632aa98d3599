import { memberNames } from '../member-names.ts'
import { NOTHING, type Value } from '../value.ts'
import { type FunctionContext, FunctionError } from './function.ts'

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
