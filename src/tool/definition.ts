import { createHash } from 'node:crypto'
import { toUSVString } from 'node:util'
import type { Json, JsonObject } from '../base/json.ts'
import { isSensitive, REDACTED } from '../base/redact.ts'
import { type Environment, fitsHeader } from '../base/text.ts'
import type { ToolPolicy } from './guard.ts'
import { ToolError } from './tool-error.ts'
import type { Parameters } from './parameters.ts'

/** In characters: https://platform.openai.com/docs/api-reference/chat/create */
const MAX_LENGTH = 64

/** A name that several things would get goes to the one called so already, else to the first; the others get a piece of a hash. */
export function ownNames (
  names: readonly string[],
  adapt: (name: string) => string,
  taken: ReadonlySet<unknown> = new Set(),
  longest = Infinity
): Map<string, string> {
  const given = new Map<string, string>()
  const used = new Set(taken)
  const isAdapted = (name: string) => Number(adapt(name).slice(0, longest) !== name)
  for (const name of [...names].sort((one, other) => isAdapted(one) - isAdapted(other))) {
    const plain = adapt(name).slice(0, longest)
    const own = used.has(plain) ? `${plain.slice(0, longest - 9)}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}` : plain
    used.add(own)
    given.set(name, own)
  }
  return given
}

/** Models accept ASCII only, while names in templates may have letters of any language. */
export function modelNames (names: readonly string[], taken?: ReadonlySet<unknown>): Map<string, string> {
  return ownNames(names, name => name.replace(/[^\w-]/g, '_'), taken, MAX_LENGTH)
}

export interface UrlTemplate {
  /** `undefined` for a URL relative to the tool's module. */
  readonly origin: string | undefined
  readonly path: string
  readonly placeholders: readonly string[]
}

const PLACEHOLDER = /\{([\p{L}_][\p{L}\p{Nd}_-]*)\}/gu

/** The host has no placeholder, since no argument may choose where calls go. @throws Error with the reason */
export function parseUrlTemplate (text: string): UrlTemplate {
  const absolute = /^([a-z][a-z0-9+.-]*):\/\/[^/?#]*/i.exec(text)
  if (absolute !== null && !/^https?$/i.test(absolute[1] as string)) throw new Error(`"${absolute[1]}" is no scheme for a restful tool: use http or https`)
  if (absolute === null && !/^\/(?!\/)/.test(text)) throw new Error('must be http://…, https://… or a path that begins with one "/"')
  const origin = absolute === null ? undefined : parseOrigin(absolute[0])
  const path = text.slice(absolute?.[0].length ?? 0) || '/'
  if (/[\s\p{Cc}\\#]/u.test(path) || /[{}]/.test(path.replace(PLACEHOLDER, ''))) {
    throw new Error('has a blank, a control character, a backslash, a fragment or a broken {placeholder}')
  }
  return { origin, path: path.startsWith('/') ? path : `/${path}`, placeholders: [...path.matchAll(PLACEHOLDER)].map(match => match[1] as string) }
}

function parseOrigin (text: string): string {
  if (text.includes('{')) throw new Error('no {placeholder} can stand in the host')
  if (/[\s\\]/.test(text) || !URL.canParse(text)) throw new Error('is not a valid URL')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') throw new Error('holds credentials: send them as a header, by reference to a secret')
  return url.origin
}

/** @throws ToolError when a value is missing, is an object, or would change the path */
export function fillUrl (template: UrlTemplate, values: JsonObject): string {
  const filled = template.path.replace(PLACEHOLDER, (_match, name: string) =>
    encodeURIComponent(placeholderText(name, Object.hasOwn(values, name) ? (values[name] as Json) : null))
  )
  // URL parsers take %2e for a dot, so encoding does not keep a segment from being `..`.
  const climbs = filled.split('?', 1).join().split('/').some(segment => /^(\.|%2e){1,2}$/i.test(segment))
  if (climbs) throw new ToolError('ARGUMENTS_INVALID', 'an argument would make a "." or ".." of a path segment')
  return toUSVString(filled).replace(/[^\x21-\x7e]+/g, encodeURI)
}

function placeholderText (name: string, value: Json): string {
  const refuse = (fault: string) => new ToolError('ARGUMENTS_INVALID', `arguments.${name} ${fault}, since it is part of the URL`)
  if (typeof value === 'object') throw refuse('must be a text or a number')
  if (value === '') throw refuse('must not be empty')
  return toUSVString(String(value))
}

/** A list repeats the name, an object becomes JSON, and null is left out. */
export function appendQuery (path: string, values: JsonObject, stringify: (value: Json) => string): string {
  const text = (value: Json) => typeof value === 'object' ? stringify(value) : String(value)
  const query = new URLSearchParams(Object.entries(values).flatMap(([name, value]) =>
    (Array.isArray(value) ? value as Json[] : [value]).filter(each => each !== null).map((each): [string, string] => [name, text(each)])))
  if (query.size === 0) return path
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

/** Credentials that the operator lends to tools; each is sent only to hosts that the operator allows. */
export interface Secrets {
  has (name: string): boolean
  /** `undefined` when there is no such secret, or when it may not be sent to `host`. */
  reveal (name: string, host: string): string | undefined
}

/** In UTF-16 units. Results are searched for secrets, and a shorter text would be removed from them by accident. */
const LEAST_LENGTH = 8

/** Reads `NAME=host|host:port,OTHER=host`; a host without a port stands for all ports. @throws Error that names the entry, never a value */
export function parseSecrets (bindings: string, environment: Environment): Secrets {
  const secrets = new Map<string, { readonly hosts: ReadonlySet<string>, readonly value: string }>()
  for (const entry of bindings.split(',').map(part => part.trim()).filter(part => part !== '')) {
    const [, name, hosts] = /^([A-Za-z_][A-Za-z0-9_]*)=(.+)$/.exec(entry) ?? []
    if (name === undefined || hosts === undefined) throw new Error(`TOOL_SECRETS: "${entry}" must be NAME=host|host`)
    const value = environment[`TOOL_SECRET_${name}`]
    if (value === undefined || value === '') throw new Error(`TOOL_SECRETS: TOOL_SECRET_${name} is not set`)
    if (value.length < LEAST_LENGTH) throw new Error(`TOOL_SECRETS: TOOL_SECRET_${name} is shorter than ${LEAST_LENGTH} characters`)
    if (!fitsHeader(value)) throw new Error(`TOOL_SECRETS: TOOL_SECRET_${name} holds characters that no header may hold`)
    secrets.set(name, { value, hosts: new Set(hosts.split('|').map(host => host.trim().toLowerCase())) })
  }
  return {
    has: name => secrets.has(name),
    reveal (name, host) {
      const secret = secrets.get(name)
      const bound = secret?.hosts.has(host.toLowerCase()) === true || secret?.hosts.has(host.toLowerCase().replace(/:\d+$/, '')) === true
      return bound ? secret?.value : undefined
    }
  }
}

interface HeaderTemplate {
  readonly name: string
  readonly value: string
  readonly secrets: readonly string[]
}

const REFERENCE = /\$\{secret:([A-Za-z_][A-Za-z0-9_]*)\}/g
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

/** They belong to the connection or to this service: https://fetch.spec.whatwg.org/#forbidden-request-header */
const RESERVED = new Set([
  'accept-encoding', 'connection', 'content-length', 'content-type', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'
])

/** @throws Error with the reason: a bad name or value, a reserved name, a secret that the operator has not defined */
export function parseHeaders (declared: JsonObject, secrets: Secrets): HeaderTemplate[] {
  return Object.entries(declared).map(([written, value]) => {
    const name = written.toLowerCase()
    if (!TOKEN.test(name) || RESERVED.has(name) || name.startsWith('proxy-') || name.startsWith('grpc-')) throw new Error(`header "${written}" cannot be set`)
    if (typeof value !== 'string' || !fitsHeader(value)) throw new Error(`header "${written}" holds characters that no header may hold`)
    // A GET shows `REDACTED` in place of a credential; storing that answer again would overwrite the credential.
    if (value === REDACTED) throw new Error(`header "${written}" is ${REDACTED}, as it is shown: write the credential itself, or \${secret:NAME}`)
    const names = Array.from(value.matchAll(REFERENCE), match => match[1] as string)
    const unknown = names.find(secret => !secrets.has(secret))
    if (unknown !== undefined) throw new Error(`header "${written}" refers to secret "${unknown}", which the operator has not defined`)
    if (value.replace(REFERENCE, '').includes('${')) throw new Error(`header "${written}" has a broken reference: write \${secret:NAME}`)
    return { name, value, secrets: names }
  })
}

export function clearCredentials (headers: readonly HeaderTemplate[]): string[] {
  return headers.filter(({ name, secrets }) => isSensitive(name) && secrets.length === 0).map(({ name }) => name)
}

/** Header values that look like credentials are replaced, so that only the publisher knows them. */
export function withoutCredentials (registration: JsonObject, headers: readonly HeaderTemplate[]): JsonObject {
  const clear = new Set(clearCredentials(headers))
  if (clear.size === 0) return registration
  const shown = Object.entries(registration['headers'] as JsonObject).map(([name, value]) => [name, clear.has(name.toLowerCase()) ? REDACTED : value])
  return { ...registration, headers: Object.fromEntries(shown) as JsonObject }
}

/**
 * Fills the secrets into the headers of a call.
 * @param host the `host` or `host:port` to which the headers will be sent
 * @throws ToolError when a secret is not bound to that host
 */
export function resolveHeaders (templates: readonly HeaderTemplate[], secrets: Secrets, host: string): {
  readonly headers: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
} {
  const used = new Set<string>()
  const headers = templates.map(({ name, value }) => [name, value.replace(REFERENCE, (_match, secret: string) => {
    const revealed = secrets.reveal(secret, host)
    if (revealed === undefined) throw new ToolError('SECRET_REFUSED', `secret "${secret}" is not bound to ${host}`)
    used.add(revealed)
    return revealed
  })])
  return { headers: Object.fromEntries(headers), secrets: [...used] }
}

export interface CommonDefinition {
  readonly id: string
  readonly name: string
  readonly module: string | undefined
  readonly description: string
  readonly supports: readonly string[]
  /** `undefined`: the tool takes one object, which is not checked. */
  readonly parameters: Parameters | undefined
  readonly returns: Parameters | undefined
  readonly policy: ToolPolicy
  /** The registration's `default`, else that of `returns`; `undefined` for no value. */
  readonly fallback: Json | undefined
  readonly headers: readonly HeaderTemplate[]
  /** A hash of the id, the name and the registration. */
  readonly revision: string
  readonly registration: JsonObject
}

export interface ToolDefinition extends CommonDefinition {
  readonly type: string
  /** The base URL of the module completes a relative URL. */
  readonly isRelative: boolean
  /** Words such as `an MCP server`; absent for a single tool. */
  readonly standsFor?: string | undefined
  readonly tool?: string | undefined
}
