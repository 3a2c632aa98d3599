import type { ScannedMember } from '../base/json-scanner.ts'
import { type Json, type JsonObject, ownField, parseOwnJson, stringifyJson } from '../base/json.ts'

/** What a model is asked: an object, or the bytes of one that came from a caller. */
export type ModelRequest = JsonObject | RequestBytes

/** Members of a request; one that is `undefined` is to be left out. */
type Changes = Readonly<Record<string, Json | undefined>>

/** A request as its caller wrote it, and sent on so: where members change, only their bytes are replaced. Members are parsed when they are needed. */
export class RequestBytes {
  // No own property, so that a request's schema, which was checked on the bytes, finds nothing here.
  readonly #messageCount: number | undefined
  readonly #bytes: Buffer
  readonly #members: ReadonlyMap<string, ScannedMember>
  readonly #changes: Changes
  readonly #values = new Map<string, Json>()
  #object: JsonObject | undefined

  /** @param members all of them, in their order */
  constructor (bytes: Buffer, members: ReadonlyMap<string, ScannedMember>, messageCount: number | undefined, changes: Changes = {}) {
    this.#bytes = bytes
    this.#members = members
    this.#messageCount = messageCount
    this.#changes = changes
  }

  /** If `messages` is a list of objects each of which has a text as `role`. */
  get messageCount (): number | undefined {
    return this.#messageCount
  }

  has (name: string): boolean {
    return Object.hasOwn(this.#changes, name) ? this.#changes[name] !== undefined : this.#members.has(name)
  }

  get (name: string): Json | undefined {
    if (Object.hasOwn(this.#changes, name)) return this.#changes[name]
    const member = this.#members.get(name)
    if (member === undefined) return undefined
    let value = this.#values.get(name)
    if (value === undefined) {
      value = parseOwnJson(this.#bytes.toString('utf8', member.value, member.end))
      this.#values.set(name, value)
    }
    return value
  }

  /** Left out, or null; parses nothing. */
  lacks (name: string): boolean {
    const member = this.#members.get(name)
    // No other value begins with this letter.
    return member === undefined || this.#bytes[member.value] === 0x6e
  }

  /** Whether it is a list that is not empty; parses nothing. */
  hasItems (name: string): boolean {
    const member = this.#members.get(name)
    if (member === undefined || this.#bytes[member.value] !== 0x5b) return false
    let at = member.value + 1
    while (this.#bytes[at] as number <= 0x20) at++
    return this.#bytes[at] !== 0x5d
  }

  with (changes: Changes): RequestBytes {
    const real = Object.entries(changes).filter(([name, value]) => value !== undefined || this.has(name))
    return real.length === 0 ? this : new RequestBytes(this.#bytes, this.#members, this.#messageCount, { ...this.#changes, ...Object.fromEntries(real) })
  }

  /** The same at each call. */
  asObject (): JsonObject {
    this.#object ??= parseOwnJson(this.asBytes().toString('utf8')) as JsonObject
    return this.#object
  }

  /** What stays keeps its bytes, those between members too; new members come last. */
  asBytes (): Buffer {
    const changes = this.#changes
    const added = Object.keys(changes)
    if (added.length === 0) return this.#bytes
    const bytes = this.#bytes
    const pieces: Buffer[] = []
    const members = [...this.#members]
    let copied = 0
    let end = bytes.indexOf('{') + 1
    let comma = ''
    for (const [index, [name, member]] of members.entries()) {
      const isChanged = Object.hasOwn(changes, name)
      if (isChanged && changes[name] === undefined) {
        // With the comma before it, or that behind it where nothing stays before it.
        pieces.push(bytes.subarray(copied, comma === '' ? member.start : end))
        copied = (comma === '' ? members[index + 1]?.[1].start : undefined) ?? member.end
      } else {
        comma = ','
        if (isChanged) pieces.push(bytes.subarray(copied, member.value), Buffer.from(stringifyJson(changes[name])))
        if (isChanged) copied = member.end
      }
      end = member.end
    }
    pieces.push(bytes.subarray(copied, end))
    for (const name of added) {
      if (this.#members.has(name) || changes[name] === undefined) continue
      pieces.push(Buffer.from(`${comma}${JSON.stringify(name)}:${stringifyJson(changes[name])}`))
      comma = ','
    }
    return Buffer.concat([...pieces, bytes.subarray(end)])
  }
}

export function memberOf (request: ModelRequest, name: string): Json | undefined {
  return request instanceof RequestBytes ? request.get(name) : ownField(request, name)
}

export function changed (request: ModelRequest, changes: Changes): ModelRequest {
  if (request instanceof RequestBytes) return request.with(changes)
  const members = { ...request, ...changes }
  const isSmaller = Object.values(changes).includes(undefined)
  return (isSmaller ? Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) : members) as JsonObject
}

export function objectOf (request: ModelRequest): JsonObject {
  return request instanceof RequestBytes ? request.asObject() : request
}

export function bodyOf (request: ModelRequest): string | Buffer {
  return request instanceof RequestBytes ? request.asBytes() : stringifyJson(request)
}

const LIMITS = ['max_completion_tokens', 'max_tokens'] as const

/** The caller's limit of tokens also replaces one that the prompt gives under the other name. */
export function mergeFields (defaults: JsonObject, fields: JsonObject): JsonObject {
  const [rival] = LIMITS.filter(name => !isThere(fields, name))
  const merged = { ...defaults, ...fields }
  if (rival === undefined || !isThere(merged, rival) || !LIMITS.some(name => isThere(fields, name))) return merged
  const { [rival]: _, ...rest } = merged
  return rest
}

/** Drops fields that providers refuse together, or alone: a second limit of tokens, options of tools or of a stream without them. */
export function withoutConflicts (request: ModelRequest): ModelRequest {
  const wrong = [
    ...(isThere(request, LIMITS[0]) && isThere(request, LIMITS[1]) ? [LIMITS[1]] : []),
    ...(hasTools(request) ? [] : ['tool_choice', 'parallel_tool_calls', 'tools']),
    ...(memberOf(request, 'stream') === true ? [] : ['stream_options'])
  ].filter(name => has(request, name))
  return wrong.length === 0 ? request : changed(request, Object.fromEntries(wrong.map(name => [name, undefined])))
}

function hasTools (request: ModelRequest): boolean {
  if (request instanceof RequestBytes) return request.hasItems('tools')
  const { tools } = request
  return Array.isArray(tools) && tools.length > 0
}

function has (request: ModelRequest, name: string): boolean {
  return request instanceof RequestBytes ? request.has(name) : Object.hasOwn(request, name)
}

function isThere (request: ModelRequest, name: string): boolean {
  return (memberOf(request, name) ?? null) !== null
}
