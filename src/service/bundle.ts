import { createHash } from 'node:crypto'
import { type Caller } from '../access/caller.ts'
import { bundleInvalid, bundleStale, renderBudget, type ServiceError } from '../base/errors.ts'
import { canonicalJson, type Json, JsonError, type JsonObject, MAX_JSON_DEPTH, parseJson, stringifyJson } from '../base/json.ts'
import { type Prompt } from '../registry/generation.ts'
import { type Static, Type } from '../schema/builder.ts'

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

export type RecordedEnviron = Static<typeof RecordedEnvironSchema>
export type RecordedCall = Static<typeof RecordedCallSchema>
export type Bundle = Static<typeof BundleSchema>
export type BundleContent = Omit<Bundle, 'hash'>

/** `limit` is the largest request body in bytes, since a replay sends the bundle in one. @throws RENDER_BUDGET */
export function sealBundle (content: BundleContent, limit: number): Bundle {
  const bundle = { ...content, hash: hashOf(content) }
  const body = stringifyJson({ bundle })
  if (Buffer.byteLength(body) > limit) throw bundleTooLarge(limit)
  parseBounded(body)
  return bundle
}

/** The hash guards against accidents; forging gains nothing: a replay shows what its caller sent. @throws BUNDLE_INVALID, BUNDLE_STALE */
export function checkBundle ({ hash, ...content }: Bundle, prompt: Prompt, caller: Caller): void {
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

export function bundleTooLarge (limit: number): ServiceError {
  return renderBudget('bytes of bundle', limit)
}

/** A recording must not see what JSON loses (`-0`, `1e16`), as its replay will not. @throws RENDER_BUDGET for one nested too deeply */
export function throughJson<T extends Json> (value: T): T {
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
