import { type ContentBlock, type PromptMessage } from '@modelcontextprotocol/server'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type RenderedMessage } from '../../service/render/rendered-messages.ts'

/** The key in `_meta` that holds the message's role when MCP has no role of that name. */
const ROLE_KEY = 'ai-prompt-shell/role'

const SOUNDS: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', wav: 'audio/wav' }

/**
 * Turns a rendered message into MCP messages, one for each part, since an MCP message holds one content block. MCP knows the roles `user`
 * and `assistant` only; a message of any other role becomes one of `user`, and `_meta` names its own role.
 */
export function promptMessages ({ role, content = '' }: RenderedMessage): PromptMessage[] {
  const blocks = Array.isArray(content)
    ? (content as readonly Json[]).map(part => blockOf(isJsonObject(part) ? part : {}))
    : [textBlock(typeof content === 'string' ? content : '')]
  if (role === 'user' || role === 'assistant') return blocks.map(block => ({ role, content: block }))
  return blocks.map(block => ({ role: 'user', content: { ...block, _meta: { [ROLE_KEY]: role } } }))
}

function blockOf (part: JsonObject): ContentBlock {
  const { type, text, image_url: image, input_audio: sound, file } = part
  if (type === 'text') return textBlock(typeof text === 'string' ? text : '')
  if (type === 'image_url' && isJsonObject(image)) return imageBlock(String(image['url']))
  if (type === 'input_audio' && isJsonObject(sound)) return soundBlock(String(sound['data']), String(sound['format']))
  if (type === 'file' && isJsonObject(file) && typeof file['file_data'] === 'string') return fileBlock(file['file_data'], file['filename'])
  // A file stored at the provider has an id that means nothing to the MCP client: the part is quoted as JSON.
  return textBlock(stringifyJson(part))
}

function textBlock (text: string): ContentBlock {
  return { type: 'text', text }
}

function imageBlock (url: string): ContentBlock {
  const data = readDataUrl(url)
  return data === undefined ? { type: 'resource_link', uri: url, name: 'image' } : { type: 'image', data: data.base64, mimeType: data.mimeType }
}

function soundBlock (text: string, format: string): ContentBlock {
  const data = readDataUrl(text)
  if (data !== undefined) return { type: 'audio', data: data.base64, mimeType: data.mimeType }
  if (text.includes(':')) return { type: 'resource_link', uri: text, name: 'audio' }
  return { type: 'audio', data: text, mimeType: SOUNDS[format] ?? `audio/${format}` }
}

function fileBlock (text: string, filename: Json | undefined): ContentBlock {
  const name = typeof filename === 'string' ? filename : 'file'
  const data = readDataUrl(text)
  if (data === undefined && text.includes(':')) return { type: 'resource_link', uri: text, name }
  const { base64: blob, mimeType } = data ?? { base64: text, mimeType: 'application/octet-stream' }
  return { type: 'resource', resource: { uri: `attachment:${encodeURIComponent(name)}`, mimeType, blob } }
}

/** The content of a `data:` URL as base64; `undefined` for other URLs: https://www.rfc-editor.org/rfc/rfc2397 */
function readDataUrl (url: string): { readonly mimeType: string, readonly base64: string } | undefined {
  const [head, type = '', encoding] = /^data:([^;,]*)(?:;(?!base64,)[^;,]*)*(;base64)?,/i.exec(url) ?? []
  if (head === undefined) return undefined
  const data = url.slice(head.length)
  return { mimeType: type === '' ? 'text/plain' : type, base64: encoding === undefined ? Buffer.from(decodeLoosely(data)).toString('base64') : data }
}

function decodeLoosely (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
