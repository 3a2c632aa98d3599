import { createHash } from 'node:crypto'
import { type Caller } from '../access/caller.ts'
import { bundleInvalid, bundleStale, renderBudget, type ServiceError } from '../base/errors.ts'
import { canonicalJson, type Json, JsonError, type JsonObject, MAX_JSON_DEPTH, parseJson, stringifyJson } from '../base/json.ts'
import { type Prompt } from '../registry/generation.ts'
import { type Static, Type } from '../base/schema-builder.ts'

/** The most of a caller's identity that an error message shows, in characters. */
const MAX_SHOWN = 200

const json = (description: string) => Type.Unsafe<Json>(Type.Unknown({ description }))
const jsonObject = (description: string) => Type.Unsafe<JsonObject>(Type.Object({}, { additionalProperties: true, description }))

/** The schema of everything that a recorded render has read about one name of a shared variable. A member is left out if the render did not ask for it. */
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

/** The schema of a recorded tool call and its result. A call without `value` failed, and its tool has no default. */
const RecordedCallSchema = Type.Object({
  tool: Type.String({ description: 'Id of the tool' }),
  arguments: jsonObject('The arguments as they were mapped'),
  value: Type.Optional(json('What the call gave, or what stood in for it; left out for nothing'))
}, { additionalProperties: false })

/** The schema of a bundle: a recording of everything that a render depended on. The same prompt with the same bundle gives the same bytes. */
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

/**
 * Completes a bundle (a recorded render) with its hash.
 * @param limit the largest body of a request, in bytes, since the bundle is sent in one to be rendered again
 * @throws RENDER_BUDGET when the bundle is too large for a request
 */
export function sealBundle (content: BundleContent, limit: number): Bundle {
  const bundle = { ...content, hash: hashOf(content) }
  const body = stringifyJson({ bundle })
  if (Buffer.byteLength(body) > limit) throw bundleTooLarge(limit)
  parseBounded(body)
  return bundle
}

/**
 * Checks that a bundle (a recorded render) is unchanged, belongs to this prompt as it is now, and may be rendered again by this caller. The hash
 * protects against accidents, not against forgery. A forged bundle brings no advantage: a replay shows only what the caller has sent, and only an
 * admin can replay what another caller has recorded.
 * @throws BUNDLE_INVALID, BUNDLE_STALE
 */
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

/** Whether a caller is allowed to replay a bundle. An admin is allowed to replay all, others only their own: templates can show callers different things. */
function mayReplay ({ roles, facts }: Caller, { caller }: BundleContent): boolean {
  return roles.has('admin') || canonicalJson(caller) === canonicalJson(facts)
}

function inShort (caller: JsonObject): string {
  return stringifyJson(caller).slice(0, MAX_SHOWN)
}

/** The error for a bundle (a recorded render) that is too large for the body of a request. */
export function bundleTooLarge (limit: number): ServiceError {
  return renderBudget('bytes of bundle', limit)
}

/**
 * A value as it is after it was written as JSON and read again. JSON loses some differences (`-0`, or how `1e16` is written). A render that
 * is recorded must not see them, since the render that replays it will not.
 * @throws RENDER_BUDGET for a value that nests too deeply to be read again
 */
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
