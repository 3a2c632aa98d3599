import { type Dispatcher } from 'undici'
import { type Json, JsonError, parseJson } from '../../base/json.ts'
import { expectsStructure, type Parameters } from '../schema/parameters.ts'
import { ToolError } from '../call/tool-error.ts'

/**
 * Reads the HTTP reply of a tool: JSON as data, text as text, an empty reply as null. HTML is refused, since it mostly comes from a
 * gateway or login page in front of the tool.
 * @throws ToolError, or the error of the connection
 */
export async function readReply ({ headers, body }: Dispatcher.ResponseData, returns: Parameters | undefined): Promise<Json> {
  const encoding = headers['content-encoding']
  // The names of content codings are compared without case: https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1
  if (encoding !== undefined && String(encoding).toLowerCase() !== 'identity') {
    throw new ToolError('REPLY_INVALID', `sent a compressed reply (${String(encoding)}) that was not asked for`)
  }
  const declared = String(headers['content-type'] ?? '')
  const type = (declared.split(';')[0] as string).trim().toLowerCase()
  const bytes = await body.bytes()
  if (bytes.length === 0) return null
  const isJson = type === 'application/json' || type.endsWith('+json')
  if (!isJson && !isText(type)) throw new ToolError('REPLY_INVALID', `sent a reply of type "${type}" instead of JSON or text`)
  const text = decode(bytes, /charset="?([\w-]+)/i.exec(declared)?.[1] ?? 'utf-8')
  // Go's net/http labels JSON as text/plain unless the handler says otherwise, so the declared schema of the reply decides.
  return isJson || expectsStructure(returns) ? parseReply(text) : text
}

/** The most of the reply of a tool that has failed that is read, in bytes, and the longest wait for it, in ms. */
const MAX_REFUSAL = 16_384
const REFUSAL_PATIENCE = 1000

/** Reads what a tool says of its failure: the beginning of a reply of text or JSON; `''` for any other, and for one that does not come. */
export async function readRefusal ({ headers, body }: Dispatcher.ResponseData): Promise<string> {
  const type = String(headers['content-type'] ?? '').toLowerCase()
  if (headers['content-encoding'] !== undefined || !/^(?:text\/(?!html)|application\/(?:[\w.-]{1,50}\+)?json)|^$/.test(type)) return ''
  const late = setTimeout(() => body.destroy(), REFUSAL_PATIENCE)
  const chunks: Buffer[] = []
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      if (chunks.reduce((length, each) => length + each.length, 0) >= MAX_REFUSAL) break
    }
  } catch {
    // What has come is told; the status says that the call has failed.
  }
  clearTimeout(late)
  return Buffer.concat(chunks).subarray(0, MAX_REFUSAL).toString()
}

function isText (type: string): boolean {
  return type === '' || (type.startsWith('text/') && type !== 'text/html')
}

function decode (bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    throw new ToolError('REPLY_INVALID', `sent a reply that is not valid ${charset}`)
  }
}

function parseReply (text: string): Json {
  try {
    return parseJson(text)
  } catch (error) {
    // The parser's message can quote the reply, and the reply can hold a secret, so only the place of the error is shown.
    throw new ToolError('REPLY_INVALID', `sent broken JSON${error instanceof JsonError ? /( at line.*)?$/.exec(error.message)?.[0] ?? '' : ''}`)
  }
}
