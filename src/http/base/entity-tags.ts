import { type IncomingHttpHeaders } from 'node:http'
import { Type } from '../../base/schema-builder.ts'
import { type Precondition } from '../../service/precondition.ts'

/** Writes a tag as the ETag header does: in double quotes. */
export function entityTag (tag: string): string {
  return `"${tag}"`
}

/** The schema of the field `etag`, which entries have in the reply of a listing. */
export const ListedTag = Type.Optional(Type.String({ description: 'As its ETag, for `If-Match`; left out for what has no key of its own', examples: ['"RpxSPWqS7NC1"'] }))

/** The schema of the field `stored`, which says of an entry in the reply of a listing that it is not served as it is stored. */
export const ListedStored = Type.Optional(Type.String({ description: 'Where it is not served as it is stored: `missing`, as the store has lost it and it is held, or `broken`, as what is stored cannot be used and an earlier version is served' }))

/** The pattern of one entity tag, strong or weak: https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3 */
const TAG = '(?:W/)?"[!#-~\\u0080-\\u00ff]*"'
const tags = (description: string) => Type.Optional(Type.String({
  title: 'ETags in double quotes, or *',
  pattern: `^[ \\t]*(?:\\*|${TAG}(?:[ \\t]*,[ \\t]*${TAG})*)[ \\t]*$`,
  maxLength: 1000,
  description
}))

/** The schema of the headers that make a write conditional (RFC 9110, 13.1). */
export const ConditionalHeaders = Type.Object({
  'if-match': tags('The ETag of what may be replaced or removed, from its GET or PUT, with its quotes: `"RpxSPWqS7NC1"`; `*` for anything that is there'),
  'if-none-match': tags('`*`: only when nothing is there')
})

/** Reads the condition under which a write may change an entry. @param headers checked against `ConditionalHeaders` */
export function readPrecondition (headers: IncomingHttpHeaders): Precondition {
  const matches = readTags(headers['if-match'])
  const noneMatches = readTags(headers['if-none-match'])
  return { ...(matches === undefined ? {} : { matches }), ...(noneMatches === undefined ? {} : { noneMatches }) }
}

/**
 * Reads the tags of a header, weak ones too. Here a tag stands for content, not for bytes, so a weak tag is as good as a
 * strong one: proxies that compress a reply make strong tags weak.
 */
function readTags (value: string | undefined): readonly string[] | 'any' | undefined {
  if (value === undefined) return undefined
  if (value.trim() === '*') return 'any'
  return Array.from(value.matchAll(/"([^"]*)"/g), ([, tag]) => tag as string)
}
