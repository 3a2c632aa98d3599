import { type Dispatcher } from 'undici'
import { type Json, JsonError, parseJson } from '../../base/json.ts'
import { expectsStructure, type Parameters } from '../schema/parameters.ts'
import { ToolError } from '../call/tool-error.ts'

/**
 * Reads the reply of a tool over HTTP: JSON as data, text as text, an empty reply as null. HTML is refused, because gateways and login pages answer
 * with it in place of the tool.
 * @throws ToolError, or the error of the connection
 */
export async function readReply ({ headers, body }: Dispatcher.ResponseData, returns: Parameters | undefined): Promise<Json> {
  const encoding = headers['content-encoding']
  // The names of encodings have no case: https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1
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
  // Go's net/http sends JSON as text/plain unless the handler sets the type, so the schema of the reply decides.
  return isJson || expectsStructure(returns) ? parseReply(text) : text
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
    // The parser's message may quote the reply, and so a secret in it. Only the place is shown.
    throw new ToolError('REPLY_INVALID', `sent broken JSON${error instanceof JsonError ? /( at line.*)?$/.exec(error.message)?.[0] ?? '' : ''}`)
  }
}
