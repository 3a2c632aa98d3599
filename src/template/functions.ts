import { stringifyJson } from '../base/json.ts'
import type { Syntax } from './language.ts'
import { inheritToolResult, isObject, NOTHING, type Value, type ValueObject } from './value.ts'
import {
  chargeText, countArgument, type FunctionContext, FunctionError, kindOf, listArgument, measureJson, type TemplateFunction, textArgument
} from './template-function.ts'
import { STRING_FUNCTIONS } from './string-functions.ts'

const first: TemplateFunction = {
  name: 'first',
  parameters: 'list',
  summary: 'The first element, or nothing.',
  example: {
    go: '{{ .variables.files | first }}',
    handlebars: '{{first variables.files}}',
    variables: { files: ['a.go', 'b.go'] },
    output: 'a.go'
  },
  arity: { least: 1, most: 1 },
  apply: ([list]) => elementAt(listArgument(list, 'list'), 0)
}

const last: TemplateFunction = {
  name: 'last',
  parameters: 'list',
  summary: 'The last element, or nothing.',
  example: {
    go: '{{ .variables.files | last }}',
    handlebars: '{{last variables.files}}',
    variables: { files: ['a.go', 'b.go'] },
    output: 'b.go'
  },
  arity: { least: 1, most: 1 },
  apply: ([list]) => elementAt(listArgument(list, 'list'), -1)
}

const sortBy: TemplateFunction = {
  name: 'sortBy',
  parameters: 'path list',
  summary: 'Sorted by the member at `path` (`author.name`; `""`: the element itself): numbers, texts by code units, booleans, those without it; equal ones keep their order.',
  example: {
    go: '{{ range .variables.files | sortBy "size" }}{{ .name }} {{ end }}',
    handlebars: '{{#each (sortBy "size" variables.files)}}{{name}} {{/each}}',
    variables: { files: [{ name: 'b.go', size: 20 }, { name: 'a.go', size: 3 }] },
    output: 'a.go b.go '
  },
  arity: { least: 2, most: 2 },
  apply: ([path, list], context) => sorted(listArgument(list, 'list'), segments(path, context), context)
}

const groupBy: TemplateFunction = {
  name: 'groupBy',
  parameters: 'path list',
  summary: 'Groups `{key, items}` by the member at `path`, in order of appearance; without it the key is null.',
  example: {
    go: '{{ range .variables.files | groupBy "kind" }}{{ .key }}:{{ range .items }} {{ .name }}{{ end }};{{ end }}',
    handlebars: '{{#each (groupBy "kind" variables.files)}}{{key}}:{{#each items}} {{name}}{{/each}};{{/each}}',
    variables: { files: [{ kind: 'go', name: 'a' }, { kind: 'md', name: 'b' }, { kind: 'go', name: 'c' }] },
    output: 'go: a c;md: b;'
  },
  arity: { least: 2, most: 2 },
  apply: ([path, list], context) => grouped(listArgument(list, 'list'), segments(path, context), context)
}

const LIST_FUNCTIONS: readonly TemplateFunction[] = [first, last, sortBy, groupBy]

function elementAt (list: readonly Value[], index: number): Value {
  const element = list.at(index)
  return element === undefined ? NOTHING : element
}

function segments (path: Value | undefined, context: FunctionContext): readonly string[] {
  const text = textArgument(path, 'path', context)
  return text === '' ? [] : text.split('.')
}

/** Null when a member is missing; inherited members do not count. */
function memberAt (element: Value, path: readonly string[]): Value {
  let value = element
  for (const segment of path) {
    // JavaScript's own `length` of a list is no member of the data.
    const isHolder = isObject(value) || (Array.isArray(value) && segment !== 'length')
    if (!isHolder || !Object.hasOwn(value as object, segment)) return null
    value = (value as unknown as ValueObject)[segment] as Value
  }
  return value
}

function sorted (list: readonly Value[], path: readonly string[], context: FunctionContext): readonly Value[] {
  const comparisons = Math.ceil(Math.log2(list.length + 1))
  context.charge(list.length * (path.length + comparisons))
  const keyed = list.map(element => ({ element, key: memberAt(element, path) }))
  for (const { key } of keyed) if (typeof key === 'string') chargeText(key.length * comparisons, context)
  const result = keyed.sort((one, other) => compareForSorting(one.key, other.key)).map(({ element }) => element)
  inheritToolResult(result, list)
  return result
}

function grouped (list: readonly Value[], path: readonly string[], context: FunctionContext): readonly Value[] {
  context.charge(list.length * (path.length + 1))
  const groups = new Map<string, { key: Value, items: Value[] }>()
  for (const element of list) {
    // Measures the whole element, though only the key becomes text: groups nest it a level deeper, which must be refused here.
    measureJson(element, 0, context)
    const key = memberAt(element, path)
    const identity = stringifyJson(key)
    const group = groups.get(identity)
    if (group === undefined) groups.set(identity, { key, items: [element] })
    else group.items.push(element)
  }
  const result = [...groups.values()]
  for (const group of result) inheritToolResult(group.items, list)
  inheritToolResult(result, list)
  return result
}

/** Numbers, then texts by code units, then booleans, then all else as equal. Integers of any size compare exactly. */
function compareForSorting (one: Value, other: Value): number {
  const rank = rankOf(one)
  const difference = rank - rankOf(other)
  if (difference !== 0 || rank === LAST_RANK) return difference
  return less(one, other) ? -1 : less(other, one) ? 1 : 0
}

const LAST_RANK = 3

function rankOf (value: Value): number {
  switch (typeof value) {
    case 'number':
    case 'bigint': return 0
    case 'string': return 1
    case 'boolean': return 2
    default: return LAST_RANK
  }
}

function less (one: Value, other: Value): boolean {
  return (one as number) < (other as number)
}

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December']
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** Longer tokens come first, so that `MMMM` is not read as twice `MM`. */
const TOKENS: ReadonlyMap<string, (date: Date) => string> = new Map([
  ['YYYY', date => String(date.getUTCFullYear()).padStart(4, '0')],
  ['MMMM', date => MONTHS[date.getUTCMonth()] as string],
  ['MMM', date => (MONTHS[date.getUTCMonth()] as string).slice(0, 3)],
  ['MM', date => twoDigits(date.getUTCMonth() + 1)],
  ['DD', date => twoDigits(date.getUTCDate())],
  ['dddd', date => DAYS[date.getUTCDay()] as string],
  ['ddd', date => (DAYS[date.getUTCDay()] as string).slice(0, 3)],
  ['HH', date => twoDigits(date.getUTCHours())],
  ['mm', date => twoDigits(date.getUTCMinutes())],
  ['ss', date => twoDigits(date.getUTCSeconds())],
  ['SSS', date => String(date.getUTCMilliseconds()).padStart(3, '0')]
])

const TOKEN = new RegExp([...TOKENS.keys()].join('|'), 'g')

/** Matches a token of a date format, or a text in brackets, which is printed as it is: `[at] HH:mm`. */
const TOKEN_OR_LITERAL = new RegExp(`\\[([^\\]]*)\\]|${TOKEN.source}`, 'g')

/** In visits: a format is parsed anew each time. */
const WORK_PER_DATE = 40

/** ISO 8601 as in JSON documents. Without a time zone it is UTC, unlike in JavaScript. */
const ISO = /^(\d{4}-\d{2}-(\d{2}))(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/

const date: TemplateFunction = {
  name: 'date',
  parameters: 'format value?',
  summary: 'A time in UTC; the value is an ISO 8601 text or milliseconds since 1970, else the time of the render. ' +
    'The format may hold `YYYY`, `MMMM` (January), `MMM` (Jan), `MM`, `DD`, `dddd` (Sunday), `ddd` (Sun), `HH`, `mm`, `ss`, `SSS`; text in `[brackets]` stands for itself.',
  example: {
    go: '{{ .variables.changed | date "YYYY-MM-DD [at] HH:mm" }}',
    handlebars: '{{date "YYYY-MM-DD [at] HH:mm" variables.changed}}',
    variables: { changed: '2026-02-03T10:20:30+01:00' },
    output: '2026-02-03 at 09:20'
  },
  arity: { least: 1, most: 2 },
  apply: (args, context) => {
    const format = textArgument(args[0], 'format', context)
    if (args.length === 2 && (args[1] === NOTHING || args[1] === null)) return ''
    const time = args.length === 1 ? context.now() : timeOf(args[1] as Value, context)
    context.charge(WORK_PER_DATE)
    // The text of the longest token, `September` for `MMMM`, is about twice as long.
    chargeText(format.length * 2, context)
    return formatted(time, format)
  }
}

const DATE_FUNCTIONS: readonly TemplateFunction[] = [date]

function formatted (time: Date, format: string): string {
  const textOf = (token: string): string => (TOKENS.get(token) as (date: Date) => string)(time)
  // Split at the last closing bracket: looking for one after every opening bracket would take quadratic time.
  const end = format.lastIndexOf(']') + 1
  return (
    format.slice(0, end).replace(TOKEN_OR_LITERAL, (token, literal: string | undefined) => literal ?? textOf(token)) +
    format.slice(end).replace(TOKEN, textOf)
  )
}

function timeOf (value: Value, context: FunctionContext): Date {
  if (typeof value === 'string') chargeText(value.length, context)
  const time = typeof value === 'string' ? parseIso(value) : new Date(typeof value === 'number' ? value : NaN)
  if (!Number.isNaN(time.getTime())) return time
  const got = typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeof value === 'number' ? String(value) : kindOf(value)
  throw new FunctionError(`value must be an ISO 8601 time or milliseconds since 1970, not ${got}`)
}

function parseIso (text: string): Date {
  const match = ISO.exec(text.trim())
  if (match === null) return new Date(NaN)
  const [whole, day = '', dayOfMonth, zone] = match
  // JavaScript would take the 30th of February for the 2nd of March.
  if (new Date(day).getUTCDate() !== Number(dayOfMonth)) return new Date(NaN)
  const standard = whole.replace(' ', 'T')
  const hasZone = zone !== undefined || standard === day
  return new Date(hasZone ? standard : `${standard}Z`)
}

function twoDigits (number: number): string {
  return String(number).padStart(2, '0')
}

const json: TemplateFunction = {
  name: 'json',
  parameters: 'indent? value',
  summary: 'The value as JSON on one line, or with `indent` spaces (at most 10) a level; nothing is `null`.',
  example: {
    go: '{{ .variables.file | json }}',
    handlebars: '{{json variables.file}}',
    variables: { file: { name: 'a "b".go', size: 3 } },
    output: '{"name":"a \\"b\\".go","size":3}'
  },
  arity: { least: 1, most: 2 },
  apply: (args, context) => {
    const indent = args.length === 2 ? countArgument(args[0], 'indent', 10) : 0
    const value = args.at(-1) as Value
    if (value === NOTHING) return 'null'
    measureJson(value, indent, context)
    return stringifyJson(value, indent)
  }
}

const JSON_FUNCTIONS: readonly TemplateFunction[] = [json]

export const FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map(
  [...STRING_FUNCTIONS, ...LIST_FUNCTIONS, ...JSON_FUNCTIONS, ...DATE_FUNCTIONS].map(each => [each.name, each]))

const GO_WORDS = [
  'and', 'block', 'break', 'call', 'continue', 'default', 'define', 'else', 'end', 'eq', 'false', 'ge', 'gt', 'html', 'if', 'index', 'js', 'le',
  'len', 'lt', 'ne', 'nil', 'not', 'or', 'print', 'printf', 'println', 'range', 'slice', 'template', 'true', 'urlquery', 'with'
]
const HANDLEBARS_WORDS = ['as', 'blockHelperMissing', 'each', 'helperMissing', 'inline', 'log', 'lookup', 'null', 'this', 'undefined', 'unless']

/** No template can read these members, but a tool of such a name would confuse people who read templates. */
const JAVASCRIPT_WORDS = ['__proto__', 'constructor', 'hasOwnProperty', 'prototype', 'toString', 'valueOf']

export const LANGUAGE_WORDS: Readonly<Record<Syntax, ReadonlySet<string>>> = { go: new Set(GO_WORDS), handlebars: new Set(HANDLEBARS_WORDS) }

/** No tool may have these names: it would hide a function on which templates rely. */
export const RESERVED_FUNCTIONS: ReadonlySet<string> = new Set([...FUNCTIONS.keys(), ...GO_WORDS, ...HANDLEBARS_WORDS, ...JAVASCRIPT_WORDS])
