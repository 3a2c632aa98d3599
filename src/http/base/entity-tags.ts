import { type IncomingHttpHeaders } from 'node:http'
import { Type } from '../../base/schema-builder.ts'
import { type Precondition } from '../../service/precondition.ts'

/** A tag as the ETag header has it. */
export function entityTag (tag: string): string {
  return `"${tag}"`
}

/** A tag in a listing. */
export const ListedTag = Type.Optional(Type.String({ description: 'As its ETag, for `If-Match`; left out for what has no key of its own', examples: ['"RpxSPWqS7NC1"'] }))

/** A list of tags, weak ones too, or `*`: https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3 */
const TAG = '(?:W/)?"[!#-~\\u0080-\\u00ff]*"'
const tags = (description: string) => Type.Optional(Type.String({ title: 'ETags in double quotes, or *', pattern: `^[ \\t]*(?:\\*|${TAG}(?:[ \\t]*,[ \\t]*${TAG})*)[ \\t]*$`, maxLength: 1000, description }))

/** The headers of a conditional write (RFC 9110, 13.1). */
export const ConditionalHeaders = Type.Object({
  'if-match': tags('The ETag of what may be replaced or removed, from its GET or PUT, with its quotes: `"RpxSPWqS7NC1"`; `*` for anything that is there'),
  'if-none-match': tags('`*`: only when nothing is there')
})

/** Reads what a write demands of what is there now. @param headers as `ConditionalHeaders` has them */
export function readPrecondition (headers: IncomingHttpHeaders): Precondition {
  const matches = readTags(headers['if-match'])
  const noneMatches = readTags(headers['if-none-match'])
  return { ...(matches === undefined ? {} : { matches }), ...(noneMatches === undefined ? {} : { noneMatches }) }
}

/**
 * A tag names content, not bytes, so that a weak one will do: proxies that compress a reply make strong ones weak.
 */
function readTags (value: string | undefined): readonly string[] | 'any' | undefined {
  if (value === undefined) return undefined
  if (value.trim() === '*') return 'any'
  return Array.from(value.matchAll(/"([^"]*)"/g), ([, tag]) => tag as string)
}
