import { type Program } from './program.ts'
import { renderSources, type Rendered, sourcesOf } from './engine.ts'
import { interpret, type Verdict } from './reference/reference.ts'

/** What comparing an engine with the reference came to. */
export interface Comparison {
  readonly outcome: Verdict['kind']
  /** How they differ; `undefined` when they agree. */
  readonly difference: string | undefined
}

/**
 * Holds an engine against the reference. Where the reference succeeds: the same output, the same set of calls, each made
 * once, and no shared variable fetched twice. Where it fails, the engine fails as well. The kind of failure is held only
 * where it must be the same: if the reference meets a miss before anything had to be waited for, the engine reports misses,
 * which win over the errors behind them; else an engine goes on, behind what is pending, and may meet another failure first.
 */
export async function compare (program: Program): Promise<Comparison> {
  const expected = await interpret(program)
  if (expected.kind === 'unspecified') return { outcome: expected.kind, difference: undefined }
  let actual: Rendered
  try {
    actual = await renderSources(sourcesOf(program))
  } catch (error) {
    return { outcome: expected.kind, difference: `the engine throws ${(error as Error).stack}` }
  }
  const difference = expected.kind === 'output' ? differenceOf(expected, actual) : failureDifference(expected, actual)
  return { outcome: expected.kind, difference }
}

function differenceOf (expected: Extract<Verdict, { kind: 'output' }>, actual: Rendered): string | undefined {
  if (actual.kind !== 'output') return `expected ${JSON.stringify(expected.output)}\n  but the engine fails: ${actual.reason}`
  if (actual.output !== expected.output) return `expected ${JSON.stringify(expected.output)}\n  actual ${JSON.stringify(actual.output)}`
  const missing = [...expected.calls].filter(call => !actual.calls.includes(call))
  const surplus = actual.calls.filter(call => !expected.calls.has(call))
  if (missing.length + surplus.length > 0) return `calls missing: ${missing.join(', ')}\n  calls too many: ${surplus.join(', ')}`
  return repeated('call', actual.calls) ?? repeated('fetch', actual.fetched)
}

function repeated (what: string, names: readonly string[]): string | undefined {
  const twice = names.filter((name, index) => names.indexOf(name) !== index)
  return twice.length === 0 ? undefined : `${what} made twice: ${twice.join(', ')}`
}

function failureDifference (expected: Extract<Verdict, { kind: 'miss' | 'error' }>, actual: Rendered): string | undefined {
  if (actual.kind === 'output') return `expected a failure (${expected.reason})\n  actual ${JSON.stringify(actual.output)}`
  const isFirst = expected.calls.size === 0 && actual.fetched.length === 0
  return isFirst && expected.kind === 'miss' && actual.kind === 'error' ? `expected a miss\n  actual ${actual.reason}` : undefined
}

/** The sources of a program and what it runs over, for the report of a difference. */
export function describeProgram (program: Program): string {
  const { syntax, text, partials, world } = sourcesOf(program)
  const prompts = partials.map(({ name, syntax, text, defaults }) => `  partial "${name}" (${syntax}, defaults ${JSON.stringify(defaults)}): ${text}`)
  return [`  ${syntax}: ${text}`, ...prompts, `  over ${JSON.stringify(world)}`].join('\n')
}
