import { toUSVString } from 'node:util'
import { type Json, type JsonObject } from '../../base/json.ts'
import { ToolError } from '../call/tool-error.ts'

/** A URL of a tool, whose path and query can have `{placeholders}` for arguments. */
export interface UrlTemplate {
  /** The origin, `https://host:port`; `undefined` for a URL relative to the tool's module. */
  readonly origin: string | undefined
  /** The path with the query. */
  readonly path: string
  /** The names of the placeholders. */
  readonly placeholders: readonly string[]
}

const PLACEHOLDER = /\{([\p{L}_][\p{L}\p{Nd}_-]*)\}/gu

/**
 * Parses the URL of a registration. The host cannot have a placeholder, since no argument is allowed to choose where calls go.
 * @throws Error with the reason why the URL is invalid
 */
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

/** Fills arguments into the placeholders of a URL, percent-encoded. @throws ToolError when a value is missing, is an object, or would change the path */
export function fillUrl (template: UrlTemplate, values: JsonObject): string {
  const filled = template.path.replace(PLACEHOLDER, (_match, name: string) =>
    encodeURIComponent(placeholderText(name, Object.hasOwn(values, name) ? (values[name] as Json) : null))
  )
  // URL parsers take %2e for a dot, so encoding does not prevent a path segment from being `..`, which would climb up in the path.
  const climbs = filled.split('?', 1).join().split('/').some(segment => /^(\.|%2e){1,2}$/i.test(segment))
  if (climbs) throw new ToolError('ARGUMENTS_INVALID', 'an argument would make a "." or ".." of a path segment')
  // Letters of other alphabets in a registered URL are encoded as browsers do.
  return toUSVString(filled).replace(/[^\x21-\x7e]+/g, encodeURI)
}

function placeholderText (name: string, value: Json): string {
  const refuse = (fault: string) => new ToolError('ARGUMENTS_INVALID', `arguments.${name} ${fault}, since it is part of the URL`)
  if (typeof value === 'object') throw refuse('must be a text or a number')
  if (value === '') throw refuse('must not be empty')
  return toUSVString(String(value))
}

/** Appends arguments to a path as its query. A list repeats the name, an object becomes JSON, and null is left out. @param stringify writes JSON */
export function appendQuery (path: string, values: JsonObject, stringify: (value: Json) => string): string {
  const text = (value: Json) => typeof value === 'object' ? stringify(value) : String(value)
  const query = new URLSearchParams(Object.entries(values).flatMap(([name, value]) =>
    (Array.isArray(value) ? value as Json[] : [value]).filter(each => each !== null).map((each): [string, string] => [name, text(each)])))
  if (query.size === 0) return path
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}
