import { EnvironIndex, NameList } from '../../src/registry/kinds/environ-names.ts'
import { DEFAULT_LIMITS, type EnvironSource, type EnvironValue, type RunOptions } from '../../src/template/run.ts'
import { type Json } from '../../src/base/json.ts'

/** Shared variables that a test holds, with a record of what was fetched. */
export interface FakeEnvirons extends EnvironSource {
  readonly fetched: Array<readonly string[]>
}

/** @param values by path; none is in memory at first, as after a start, unless `inMemory` says so */
export function fakeEnvirons (values: Readonly<Record<string, Json>>, { inMemory = false } = {}): FakeEnvirons {
  const index = new EnvironIndex()
  index.replace(NameList.of(Object.keys(values)))
  const entry = (name: string): EnvironValue => ({ value: values[name] as Json, bytes: JSON.stringify(values[name]).length })
  const fetched: Array<readonly string[]> = []
  return {
    fetched,
    has: name => index.has(name),
    hasBelow: name => index.hasBelow(name),
    namesBelow: (name, limit) => index.namesBelow(name, limit),
    segmentsBelow: name => index.segmentsBelow(name),
    cached: name => inMemory && Object.hasOwn(values, name) ? entry(name) : undefined,
    async fetch (names) {
      fetched.push(names)
      return new Map(names.filter(name => Object.hasOwn(values, name)).map(name => [name, entry(name)]))
    }
  }
}

/** Options of a run that has time, and no tools unless given. */
export function runOptions (options: Partial<RunOptions> = {}): RunOptions {
  return {
    environs: fakeEnvirons({}),
    callTool: call => Promise.reject(new Error(`no tool ${call.tool.name}`)),
    now: new Date(0),
    deadline: performance.now() + 60_000,
    timeout: 60_000,
    signal: new AbortController().signal,
    limits: DEFAULT_LIMITS,
    ...options
  }
}
