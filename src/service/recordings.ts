import type { Caller } from '../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../access/environ-view.ts'
import { bundleIncomplete } from '../base/errors.ts'
import { canonicalJson, type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import type { Generation } from '../registry/generation.ts'
import type { EnvironSource, EnvironValue } from '../template/run.ts'
import { toolCallKey } from '../template/template-function.ts'
import { markToolResult, NOTHING, type Value } from '../template/value.ts'
import { defaultOf } from '../tool/registered-tool.ts'
import {
  type Bundle, type BundleContent, bundleTooLarge, checkBundle, type RecordedCall, type RecordedEnviron, sealBundle, throughJson
} from './bundle.ts'
import { type CallTool, findPrompt, type RenderEnvironment, type RenderResult, type RenderPrompt, type RenderRequest } from './render-prompt.ts'

/** Calls no tool: a recorded call gives its recorded result, any other the default from the tool's registration. */
export function knownTools (generation: Generation, recorded: readonly RecordedCall[]): CallTool {
  const known = new Map(recorded.map(call => [toolCallKey(call.tool, call.arguments), call]))
  const stub = stubTools(generation)
  return async (call, options) => {
    const answer = known.get(call.key)
    return answer === undefined ? await stub(call, options) : { value: recordedValue(answer), outcome: 'recorded', durationMs: 0 }
  }
}

interface RecordingsOptions {
  readonly renderPrompt: RenderPrompt
  readonly environs: VisibleEnvirons
  readonly callTool: RenderEnvironment['callTool']
  /** In bytes: a recording must fit into the body of a request. */
  readonly maxBody: number
}

interface ReplayRequest extends Omit<RenderRequest, 'variables' | 'environment'> {
  readonly bundle: Bundle
  readonly variables: JsonObject | undefined
}

export interface Recordings {
  record (request: RenderRequest): Promise<RenderResult & { readonly bundle: Bundle }>
  /** Calls no tool and reads no variable. @throws BUNDLE_INVALID, BUNDLE_STALE, BUNDLE_INCOMPLETE */
  replay (request: ReplayRequest): Promise<RenderResult>
  stub (request: RenderRequest): Promise<RenderResult>
}

export function createRecordings ({ renderPrompt, environs, callTool, maxBody }: RecordingsOptions): Recordings {
  const environmentFor = (caller: Caller, tools: RenderEnvironment['callTool']): RenderEnvironment => ({
    environs: visibleEnvirons(environs, caller),
    callTool: tools
  })

  return {
    async record (request) {
      const history = throughJson([...request.history ?? []])
      const { environment, learned } = recordEnvironment(environmentFor(request.caller, callTool), maxBody)
      const variables = throughJson(request.variables)
      const rendering = await renderPrompt({ ...request, variables, history, environment })
      const { id, revision } = rendering.prompt
      const bundle = sealBundle({ version: 2, prompt: { id, revision }, variables, history, caller: request.caller.facts, ...learned() }, maxBody)
      return { ...rendering, bundle }
    },
    async replay ({ bundle, variables = bundle.variables, history = bundle.history, ...request }) {
      checkBundle(bundle, request.chosen?.prompt ?? findPrompt(request.generation, request.id), request.caller)
      const caller = { ...request.caller, facts: bundle.caller }
      return renderPrompt({ ...request, caller, history, variables: throughJson(variables), environment: replayEnvironment(bundle) })
    },
    stub: request => renderPrompt({ ...request, environment: environmentFor(request.caller, stubTools(request.generation)) })
  }
}

interface RenderRecording {
  readonly environment: RenderEnvironment
  /** In an order that does not depend on timing. */
  learned (): Pick<BundleContent, 'now' | 'environs' | 'tools'>
}

/** @throws RENDER_BUDGET when the recording is too large */
type Pay = <T>(learned: T) => T

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** Asks for each value once: later passes get the recorded one, as a replay will. Beyond `limit` bytes: RENDER_BUDGET. */
function recordEnvironment ({ environs, callTool, now = new Date() }: RenderEnvironment, limit: number): RenderRecording {
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

function recordEnvirons (live: EnvironSource, entries: Map<string, Mutable<RecordedEnviron>>, pay: Pay): EnvironSource {
  function entryOf (name: string): Mutable<RecordedEnviron> {
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

function stubTools (generation: Generation): CallTool {
  return async ({ tool }) => {
    const definition = generation.tools.get(tool.id)?.definition
    return { value: definition === undefined ? NOTHING : defaultOf(definition), outcome: 'stubbed', durationMs: 0 }
  }
}

/** A render with other variables may need a value that was not recorded. @throws BUNDLE_INCOMPLETE */
function replayEnvironment (bundle: Bundle): RenderEnvironment {
  const calls = new Map(bundle.tools.map(call => [toolCallKey(call.tool, call.arguments), call]))
  return {
    now: new Date(bundle.now),
    environs: replayEnvirons(new Map(bundle.environs.map(entry => [entry.name, entry]))),
    async callTool ({ tool, arguments: values, key }) {
      const call = calls.get(key)
      if (call === undefined) throw bundleIncomplete(`a call of ${tool.name} with ${canonicalJson(values)}`)
      return { value: recordedValue(call), outcome: 'recorded', durationMs: 0 }
    }
  }
}

function replayEnvirons (entries: ReadonlyMap<string, RecordedEnviron>): EnvironSource {
  function answer<Member extends keyof RecordedEnviron> (name: string, member: Member): NonNullable<RecordedEnviron[Member]> {
    const recorded = entries.get(name)?.[member]
    if (recorded === undefined || recorded === null) throw bundleIncomplete(`the shared variable "${name}"`)
    return recorded
  }

  return {
    has: name => answer(name, 'exists'),
    hides: name => entries.get(name)?.hidden === true,
    hasBelow: name => answer(name, 'isBranch'),
    namesBelow: name => answer(name, 'names'),
    segmentsBelow: name => answer(name, 'segments'),
    cached (name) {
      const entry = entries.get(name)
      if (entry?.gone === true) return undefined
      return { value: entry?.value ?? null, bytes: answer(name, 'bytes') }
    },
    // Only names without a value arrive here; all recorded values are in memory already.
    fetch: async () => new Map()
  }
}

function recordedValue (call: RecordedCall): Value {
  if (call.value === undefined) return NOTHING
  markToolResult(call.value)
  return call.value
}
