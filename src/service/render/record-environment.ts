import { type Json, stringifyJson } from '../../base/json.ts'
import { type EnvironSource, type EnvironValue } from '../../template/run/environ-source.ts'
import { markToolResult, NOTHING } from '../../template/value.ts'
import { bundleTooLarge, type BundleContent, type RecordedCall, type RecordedEnviron, throughJson } from './bundle.ts'
import { type CallTool } from './call-tool.ts'
import { type RenderEnvironment } from './render-environment.ts'

/** A recording of a render: the environment that the render uses (shared variables, tools and clock), and all values that it has given to the render. */
export interface Recording {
  readonly environment: RenderEnvironment
  /** All recorded values, in an order that does not depend on timing. */
  learned (): Pick<BundleContent, 'now' | 'environs' | 'tools'>
}

/**
 * Adds the size of a value that the environment gave to a render to the size of the recording, and returns the value unchanged.
 * @throws RENDER_BUDGET when the recording is too large
 */
type Pay = <T>(learned: T) => T

type Writable<T> = { -readonly [Key in keyof T]: T[Key] }

/**
 * Wraps the environment of a render so that each value that it gives is recorded. The real environment is asked for a value only once: later
 * passes over the templates get the recorded value, as a replay of the recording will.
 * @param limit the largest recording, in bytes; beyond it the render ends with RENDER_BUDGET
 */
export function recordEnvironment ({ environs, callTool, now = new Date() }: RenderEnvironment, limit: number): Recording {
  const entries = new Map<string, RecordedEnviron>()
  const calls = new Map<string, RecordedCall>()
  let bytes = 0
  const pay: Pay = learned => {
    bytes += Buffer.byteLength(stringifyJson(learned))
    if (bytes > limit) throw bundleTooLarge(limit)
    return learned
  }
  return {
    environment: { now, environs: recordEnvirons(environs, entries, pay), callTool: recordCalls(callTool, calls, pay) },
    learned: () => ({ now: now.toISOString(), environs: sorted(entries), tools: sorted(calls) })
  }
}

function recordEnvirons (live: EnvironSource, entries: Map<string, Writable<RecordedEnviron>>, pay: Pay): EnvironSource {
  function entryOf (name: string): Writable<RecordedEnviron> {
    let entry = entries.get(name)
    if (entry === undefined) {
      entry = pay({ name })
      entries.set(name, entry)
    }
    return entry
  }

  function keep (name: string, value: EnvironValue | undefined): EnvironValue | undefined {
    const entry = entryOf(name)
    if (value === undefined) {
      entry.gone = true
      return undefined
    }
    const kept = { value: throughJson(pay(value.value)), bytes: value.bytes }
    Object.assign(entry, kept)
    return kept
  }

  return {
    has: name => (entryOf(name).exists ??= pay(live.has(name))),
    hides: name => live.hides !== undefined && (entryOf(name).hidden ??= pay(live.hides(name))),
    hasBelow: name => (entryOf(name).isBranch ??= pay(live.hasBelow(name))),
    segmentsBelow: name => (entryOf(name).segments ??= pay([...live.segmentsBelow(name)])),
    namesBelow (name, most) {
      const entry = entryOf(name)
      const names = entry.names ?? live.namesBelow(name, most)
      // There are too many names to be listed, which ends the render.
      if (names === undefined) return undefined
      entry.names ??= pay([...names])
      return entry.names
    },
    cached (name) {
      const { value, bytes } = entries.get(name) ?? {}
      if (bytes !== undefined) return { value: value as Json, bytes }
      const known = live.cached(name)
      return known === undefined ? undefined : keep(name, known)
    },
    async fetch (names, signal) {
      const values = await live.fetch(names, signal)
      return new Map(names.flatMap(name => {
        const kept = keep(name, values.get(name))
        return kept === undefined ? [] : [[name, kept]]
      }))
    }
  }
}

function recordCalls (live: CallTool, calls: Map<string, RecordedCall>, pay: Pay): CallTool {
  return async (call, options) => {
    const answer = await live(call, options)
    const { value } = answer
    const made = pay({ tool: call.tool.id, arguments: call.arguments })
    if (value === NOTHING) {
      calls.set(call.key, made)
      return answer
    }
    const kept = throughJson(pay(value as Json))
    markToolResult(kept)
    calls.set(call.key, { ...made, value: kept })
    return { ...answer, value: kept }
  }
}

function sorted<T> (things: ReadonlyMap<string, T>): T[] {
  return [...things.keys()].sort().map(key => things.get(key) as T)
}
