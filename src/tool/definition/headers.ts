import { fitsHeader } from '../../base/text.ts'
import { type JsonObject } from '../../base/json.ts'
import { isSensitive, REDACTED } from '../../base/redact.ts'
import { type Secrets } from './secrets.ts'
import { ToolError } from '../call/tool-error.ts'

/** A header that a registration declares for calls of its tool; references to secrets are not filled in yet. */
export interface HeaderTemplate {
  readonly name: string
  /** The value as registered, such as `Bearer ${secret:NAME}`. */
  readonly value: string
  /** The names of the secrets that the value refers to. */
  readonly secrets: readonly string[]
}

/** The headers of a call as they are sent, and the secrets in them. */
export interface ResolvedHeaders {
  readonly headers: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
}

const REFERENCE = /\$\{secret:([A-Za-z_][A-Za-z0-9_]*)\}/g
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

/**
 * The headers that a registration cannot set, since they belong to the connection or to this service:
 * https://fetch.spec.whatwg.org/#forbidden-request-header
 */
const RESERVED = new Set([
  'accept-encoding', 'connection', 'content-length', 'content-type', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'
])

/** Reads the headers of a registration. @throws Error with the reason: a bad name or value, a reserved name, a secret that the operator has not defined */
export function parseHeaders (declared: JsonObject, secrets: Secrets): HeaderTemplate[] {
  return Object.entries(declared).map(([written, value]) => {
    const name = written.toLowerCase()
    if (!TOKEN.test(name) || RESERVED.has(name) || name.startsWith('proxy-') || name.startsWith('grpc-')) throw new Error(`header "${written}" cannot be set`)
    if (typeof value !== 'string' || !fitsHeader(value)) throw new Error(`header "${written}" holds characters that no header may hold`)
    // A GET shows `REDACTED` in place of a credential. Storing that answer again would overwrite the credential, so the text is refused.
    if (value === REDACTED) throw new Error(`header "${written}" is ${REDACTED}, as it is shown: write the credential itself, or \${secret:NAME}`)
    const names = Array.from(value.matchAll(REFERENCE), match => match[1] as string)
    const unknown = names.find(secret => !secrets.has(secret))
    if (unknown !== undefined) throw new Error(`header "${written}" refers to secret "${unknown}", which the operator has not defined`)
    if (value.replace(REFERENCE, '').includes('${')) throw new Error(`header "${written}" has a broken reference: write \${secret:NAME}`)
    return { name, value, secrets: names }
  })
}

/** The names of headers that look like credentials and are written in plain text, without a reference to a secret. */
export function clearCredentials (headers: readonly HeaderTemplate[]): string[] {
  return headers.filter(({ name, secrets }) => isSensitive(name) && secrets.length === 0).map(({ name }) => name)
}

/**
 * Gives a registration as it is shown to anyone who can read tools. The values of headers that look like credentials are replaced, so that
 * only the publisher knows them.
 */
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
export function resolveHeaders (templates: readonly HeaderTemplate[], secrets: Secrets, host: string): ResolvedHeaders {
  const used = new Set<string>()
  const headers = templates.map(({ name, value }) => [name, value.replace(REFERENCE, (_match, secret: string) => {
    const revealed = secrets.reveal(secret, host)
    if (revealed === undefined) throw new ToolError('SECRET_REFUSED', `secret "${secret}" is not bound to ${host}`)
    used.add(revealed)
    return revealed
  })])
  return { headers: Object.fromEntries(headers), secrets: [...used] }
}
