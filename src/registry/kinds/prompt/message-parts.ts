import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'

/** Gives the replacement for one text in a part of a message. @param member the path of the text in the part: `image_url.url` */
export type MapText = (text: string, member: string) => string

/** The members of a message's part that hold an address, from which the provider of the model fetches data. */
const URLS: ReadonlySet<string> = new Set(['image_url.url'])

/** The members of a message's part that hold the data of a file or a sound. Some providers also accept an address there. */
const MEDIA: ReadonlySet<string> = new Set(['file.file_data', 'input_audio.data'])

/** A copy of a part of a message in which `map` has replaced every text, in the order of the texts. The part's `type` stays. */
export function mapTexts (part: JsonObject, map: MapText): JsonObject {
  return mapMembers(part, '', (text, member) => member === 'type' ? text : map(text, member))
}

/** Whether a text in a part of a message is a template: the text of a text part always, any other one when it holds a tag. */
export function isTemplate (part: JsonObject, text: string, member: string): boolean {
  return isOwnText(part, member) || text.includes('{{')
}

/** Whether a member of a message's part is the `text` of a part whose `type` is `text`. */
export function isOwnText (part: JsonObject, member: string): boolean {
  return member === 'text' && part['type'] === 'text'
}

/**
 * The reason why no model can take a text in a part of a message, in words; `undefined` for a good text. Media must be at a public address or inside
 * the request, because the service itself fetches nothing.
 */
export function whyUnfit (part: JsonObject, text: string, member: string): string | undefined {
  if (isOwnText(part, member)) return undefined
  if (text === '') return 'must not be empty'
  if (URLS.has(member)) return isUrl(text) ? undefined : `must be an https: or data: URL${instead(text)}`
  return !MEDIA.has(member) || !text.includes(':') || isUrl(text) ? undefined : `must be base64, or a data: or https: URL${instead(text)}`
}

function isUrl (text: string): boolean {
  return /^data:[^,\s]*,/i.test(text) || (/^https:\/\/[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text))
}

/** The end of the error message about an address that is refused. It shows only the address's scheme (`ftp:`), because the rest is perhaps a secret. */
function instead (text: string): string {
  const scheme = /^[a-z][a-z\d+.-]{0,30}:/i.exec(text)?.[0].toLowerCase()
  return scheme === undefined || scheme === 'https:' || scheme === 'data:' ? '' : `, not ${scheme}`
}

function mapMembers (object: JsonObject, path: string, map: MapText): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, mapValue(value, path === '' ? name : `${path}.${name}`, map)]))
}

function mapValue (value: Json, path: string, map: MapText): Json {
  if (typeof value === 'string') return map(value, path)
  if (Array.isArray(value)) return (value as readonly Json[]).map((item, index) => mapValue(item, `${path}.${index}`, map))
  return isJsonObject(value) ? mapMembers(value, path, map) : value
}
