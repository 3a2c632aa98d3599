import { createHash } from 'node:crypto'
import type { Caller } from '../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../access/views.ts'
import { bundleIncomplete, bundleInvalid, bundleStale, renderBudget, type ServiceError } from '../base/errors.ts'
import { canonicalJson, type Json, type JsonObject, stringifyJson, JsonError, MAX_JSON_DEPTH, parseJson } from '../base/json.ts'
import type { Generation, Prompt } from '../registry/generation.ts'
import type { EnvironSource, EnvironValue } from '../template/run.ts'
import { toolCallKey } from '../template/template-function.ts'
import { markToolResult, NOTHING, type Value } from '../template/value.ts'
import { defaultOf } from '../tool/registered-tool.ts'
import type { CallTool, RenderEnvironment, RenderResult, RenderPrompt, RenderRequest } from './render-prompt.ts'
import { type Static, Type } from '../schema/builder.ts'

/** Calls no tool: a recorded call gives its recorded result, any other the default from the tool's registration. */
export function knownTools (generation: Generation, recorded: readonly RecordedCall[]): CallTool {
  const known = new Map(recorded.map(call => [toolCallKey(call.tool, call.arguments), call]))
  const stub = stubTools(generation)
  return async (call, options) => {
    const answer = known.get(call.key)
    return answer === undefined ? await stub(call, options) : { value: recordedValue(answer), outcome: 'recorded', durationMs: 0 }
  }
}

export interface Recordings {
  record (request: RenderRequest): Promise<RenderResult & { readonly bundle: Bundle }>
  /** Calls no tool and reads no variable. @throws BUNDLE_INVALID, BUNDLE_STALE, BUNDLE_INCOMPLETE */
  replay (request: Omit<RenderRequest, 'variables' | 'environment'> & {
    readonly bundle: Bundle
    readonly variables: JsonObject | undefined
  }): Promise<RenderResult>
  stub (request: RenderRequest): Promise<RenderResult>
}

export function createRecordings ({ renderPrompt, environs, callTool, maxBody }: {
  readonly renderPrompt: RenderPrompt
  readonly environs: VisibleEnvirons
  readonly callTool: RenderEnvironment['callTool']
  /** In bytes: a recording must fit into the body of a request. */
  readonly maxBody: number
}): Recordings {
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
      checkBundle(bundle, request.chosen.prompt, request.caller)
      const caller = { ...request.caller, facts: bundle.caller }
      return renderPrompt({ ...request, caller, history, variables: throughJson(variables), environment: replayEnvironment(bundle) })
    },
    stub: request => renderPrompt({ ...request, environment: environmentFor(request.caller, stubTools(request.generation)) })
  }
}

/** @throws RENDER_BUDGET when the recording is too large */
type Pay = <T>(learned: T) => T

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** Asks for each value once: later passes get the recorded one, as a replay will. Beyond `limit` bytes: RENDER_BUDGET. */
function recordEnvironment ({ environs, callTool, now = new Date() }: RenderEnvironment, limit: number) {
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

/** In characters. */
const MAX_SHOWN = 200

const json = (description: string) => Type.Unsafe<Json>(Type.Unknown({ description }))
const jsonObject = (description: string) => Type.Unsafe<JsonObject>(Type.Object({}, { additionalProperties: true, description }))

const RecordedEnvironSchema = Type.Object({
  name: Type.String({ description: 'Dotted path; empty for the root' }),
  exists: Type.Optional(Type.Boolean({ description: 'Whether that very key exists' })),
  isBranch: Type.Optional(Type.Boolean({ description: 'Whether keys exist below it' })),
  hidden: Type.Optional(Type.Boolean({ description: 'Whether it is published and was kept from the caller' })),
  names: Type.Optional(Type.Array(Type.String(), { description: 'All names below it' })),
  segments: Type.Optional(Type.Array(Type.String(), { description: 'The segments that follow it' })),
  value: Type.Optional(json('Its value')),
  bytes: Type.Optional(Type.Integer({ minimum: 0, description: 'The size of the value in the store' })),
  gone: Type.Optional(Type.Boolean({ description: 'It had no value when it was read' }))
}, { additionalProperties: false })

const RecordedCallSchema = Type.Object({
  tool: Type.String({ description: 'Id of the tool' }),
  arguments: jsonObject('The arguments as they were mapped'),
  value: Type.Optional(json('What the call gave, or what stood in for it; left out for nothing'))
}, { additionalProperties: false })

/** Everything that a render depended on: the same prompt with the same bundle gives the same bytes. */
export const BundleSchema = Type.Object({
  version: Type.Literal(2, { description: 'Of this format' }),
  prompt: Type.Object({ id: Type.String(), revision: Type.String() }, { additionalProperties: false }),
  caller: jsonObject('What the templates saw of who asked'),
  now: Type.String({ maxLength: 40, description: 'The clock that the templates saw, ISO 8601' }),
  variables: jsonObject('As the caller gave them'),
  history: Type.Array(jsonObject('A message'), { maxItems: 1000, description: 'The conversation so far, as the caller gave it' }),
  environs: Type.Array(RecordedEnvironSchema),
  tools: Type.Array(RecordedCallSchema),
  hash: Type.String({ description: 'SHA-256 of all the rest as canonical JSON, base64url' })
}, { additionalProperties: false, title: 'Bundle', description: 'All that a recorded render depended on' })

type RecordedEnviron = Static<typeof RecordedEnvironSchema>
type RecordedCall = Static<typeof RecordedCallSchema>
export type Bundle = Static<typeof BundleSchema>
type BundleContent = Omit<Bundle, 'hash'>

/** `limit` is the largest request body in bytes, since a replay sends the bundle in one. @throws RENDER_BUDGET */
export function sealBundle (content: BundleContent, limit: number): Bundle {
  const bundle = { ...content, hash: hashOf(content) }
  const body = stringifyJson({ bundle })
  if (Buffer.byteLength(body) > limit) throw bundleTooLarge(limit)
  parseBounded(body)
  return bundle
}

/** The hash guards against accidents; forging gains nothing: a replay shows what its caller sent. @throws BUNDLE_INVALID, BUNDLE_STALE */
function checkBundle ({ hash, ...content }: Bundle, prompt: Prompt, caller: Caller): void {
  if (hashOf(content) !== hash) throw bundleInvalid('its hash does not fit its content')
  if (content.prompt.id !== prompt.id) throw bundleInvalid(`it was recorded from prompt "${content.prompt.id}", not "${prompt.id}"`)
  if (Number.isNaN(Date.parse(content.now))) throw bundleInvalid(`its clock "${content.now}" is no time`)
  if (!mayReplay(caller, content)) {
    const who = `it was recorded for the caller ${inShort(content.caller)}, and this one is ${inShort(caller.facts)}`
    throw bundleInvalid(`${who}; only the role admin may replay what others have recorded`)
  }
  if (content.prompt.revision !== prompt.revision) throw bundleStale(prompt.id, content.prompt.revision, prompt.revision)
}

/** Templates can show callers different things, so that only an admin may replay other callers' bundles. */
function mayReplay ({ roles, facts }: Caller, { caller }: BundleContent): boolean {
  return roles.has('admin') || canonicalJson(caller) === canonicalJson(facts)
}

function inShort (caller: JsonObject): string {
  return stringifyJson(caller).slice(0, MAX_SHOWN)
}

function bundleTooLarge (limit: number): ServiceError {
  return renderBudget('bytes of bundle', limit)
}

/** A recording must not see what JSON loses (`-0`, `1e16`), as its replay will not. @throws RENDER_BUDGET for one nested too deeply */
function throughJson<T extends Json> (value: T): T {
  return parseBounded(stringifyJson(value)) as T
}

function parseBounded (text: string): Json {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) throw renderBudget('objects and lists within each other in a bundle', MAX_JSON_DEPTH)
    throw error
  }
}

function hashOf (content: BundleContent): string {
  return createHash('sha256').update(canonicalJson(content)).digest('base64url')
}
