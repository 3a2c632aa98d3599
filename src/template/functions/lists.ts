import { stringifyJson } from '../../base/json.ts'
import { inheritToolResult, isObject, NOTHING, type Value, type ValueObject } from '../value.ts'
import { listArgument, textArgument } from './arguments.ts'
import { chargeText, measureJson } from './cost.ts'
import { type FunctionContext, type TemplateFunction } from './function.ts'

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

/** The functions of templates that work on lists. */
export const LIST_FUNCTIONS: readonly TemplateFunction[] = [first, last, sortBy, groupBy]

function elementAt (list: readonly Value[], index: number): Value {
  const element = list.at(index)
  return element === undefined ? NOTHING : element
}

function segments (path: Value | undefined, context: FunctionContext): readonly string[] {
  const text = textArgument(path, 'path', context)
  return text === '' ? [] : text.split('.')
}

/** The value to which a path of member names leads in an element; null when a member is missing. Inherited members do not count. */
function memberAt (element: Value, path: readonly string[]): Value {
  let value = element
  for (const segment of path) {
    // JavaScript has the length of a list as an own property, but it is no member of the data.
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
    // `measureJson` looks through the whole element, although only the key is turned into text: a group nests its elements one level deeper, and
    // `measureJson` refuses values that nest too deeply.
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

/**
 * The order of `sortBy`: numbers, then texts by code units, then booleans (false first), then everything else,
 * which is all equal. Integers of any size compare exactly.
 */
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
