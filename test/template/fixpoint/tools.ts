import { type Json, type JsonObject } from '../../../src/base/json.ts'

/** What a tool of the test is registered with: it takes `key` and `mode`. */
export interface Tool {
  readonly name: string
  /** Defaults of its parameters. */
  readonly defaults: JsonObject
  /** What a failed call gives instead of nothing. */
  readonly fallback: Json | undefined
  /** What it can answer; which of them depends on the arguments alone. */
  readonly outcomes: ReadonlyArray<(key: Json) => Json>
}

/** Thrown by an outcome: the call fails. */
class Failure extends Error {}

const fails = (): never => {
  throw new Failure('the tool fails')
}

const full = (key: Json): Json => ({ name: `n${plain(key)}`, on: true, size: 2, tags: ['x', 'y'], items: [{ name: 'deep', on: false, size: 0, tags: [] }], inner: { name: 'inner', on: true } })
const sparse = (key: Json): Json => ({ name: plain(key), on: false, tags: [], inner: null })

const TOOLS_LIST: readonly Tool[] = [
  tool('get_text', [key => `t${plain(key)}`, key => `u${plain(key)}`, () => 'a', () => '', () => '{{x}}', fails]),
  tool('get_number', [() => 0, () => 1, () => 2, fails], 7),
  tool('get_flag', [() => true, () => false, () => true, () => false, fails]),
  tool('get_texts', [() => ['a', 'b', 'c'], () => [], key => [plain(key), 'z'], fails]),
  tool('get_items', [key => [full(key), sparse(key), full('f')], () => [], key => [sparse(key), sparse('s')], fails], []),
  tool('get_item', [full, sparse, () => ({}), () => null, fails]),
  tool('ping', [() => 'pong']),
  tool('fail', [fails])
]

/** The tools that programs may call. Each is a function of its arguments and the program's salt; some calls fail. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(TOOLS_LIST.map(each => [each.name, each]))

/** The one argument object of a call: positional arguments by their order, defaults where nothing is given. */
export function mapArguments ({ defaults }: Tool, positional: readonly Json[], named: JsonObject): JsonObject {
  const given = positional.map((value, index): [string, Json] => [index === 0 ? 'key' : 'mode', value])
  return { ...defaults, ...Object.fromEntries(given), ...named }
}

/** What makes two calls the same: the tool and its arguments, whatever their order. */
export function callKey (name: string, values: JsonObject): string {
  return `${name} ${canonical(values)}`
}

/** The answer of a call; `undefined` when it failed and nothing stands in for it. */
export function answer (tool: Tool, values: JsonObject, salt: number): Json | undefined {
  const outcome = tool.outcomes[hash(`${salt} ${callKey(tool.name, values)}`) % tool.outcomes.length] as (key: Json) => Json
  try {
    return outcome(values['key'] ?? null)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return tool.fallback
  }
}

function tool (name: string, outcomes: Tool['outcomes'], fallback?: Json): Tool {
  return { name, defaults: { mode: 'quick' }, fallback, outcomes }
}

function plain (key: Json): string {
  return typeof key === 'object' ? '' : String(key).slice(0, 8)
}

function canonical (value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = value as JsonObject
  return `{${Object.keys(members).sort().map(name => `${JSON.stringify(name)}:${canonical(members[name] as Json)}`).join()}}`
}

function hash (text: string): number {
  let sum = 2166136261
  for (let index = 0; index < text.length; index++) sum = Math.imul(sum ^ text.charCodeAt(index), 16777619)
  return (sum ^ (sum >>> 15)) >>> 0
}
