import { type IncomingHttpHeaders } from 'node:http'
import { requestInvalid } from '../base/errors.ts'
import { Type } from '../base/schema-builder.ts'
import { type Precondition } from '../service/publish/publish-entry.ts'

/** A tag as the ETag header has it. */
export function entityTag (tag: string): string {
  return `"${tag}"`
}

/** The headers of a conditional write (RFC 9110, 13.1). */
export const ConditionalHeaders = Type.Object({
  'if-match': Type.Optional(Type.String({ maxLength: 1000, description: 'The ETag of what may be replaced or removed, from its GET or PUT, with its quotes: `"RpxSPWqS7NC1"`; `*` for anything that is there' })),
  'if-none-match': Type.Optional(Type.String({ maxLength: 1000, description: '`*`: only when nothing is there' }))
})

/** Reads what a write demands of what is there now. @throws REQUEST_INVALID for a header that is no list of tags */
export function readPrecondition (headers: IncomingHttpHeaders): Precondition {
  const matches = readTags('if-match', headers['if-match'])
  const noneMatches = readTags('if-none-match', headers['if-none-match'])
  return { ...(matches === undefined ? {} : { matches }), ...(noneMatches === undefined ? {} : { noneMatches }) }
}

/**
 * A tag names content, not bytes, so that a weak one will do: proxies that compress a reply make strong ones weak.
 */
function readTags (name: string, value: string | undefined): readonly string[] | 'any' | undefined {
  if (value === undefined) return undefined
  if (value.trim() === '*') return 'any'
  if (!/^\s*(?:W\/)?"[^"]*"\s*(?:,\s*(?:W\/)?"[^"]*"\s*)*$/.test(value)) throw requestInvalid(`headers: ${name} must be ETags in double quotes, or *`, { part: 'headers', field: name })
  return Array.from(value.matchAll(/"([^"]*)"/g), ([, tag]) => tag as string)
}
