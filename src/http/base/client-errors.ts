import { randomUUID } from 'node:crypto'
import { type Socket } from 'node:net'
import { type ServerResponse } from 'node:http'
import { type FastifyBaseLogger } from 'fastify'
import { nodeHttp } from '../../base/node-http.ts'
import { headersTooLarge, requestInvalid, requestTimeout, type ServiceError } from '../../base/errors.ts'
import { errorBody } from './error-handler.ts'

/**
 * The error of Node's `clientError` event. The HTTP parser writes the reason and quotes nothing of the request in it:
 * https://github.com/nodejs/llhttp
 */
type ClientError = Error & { readonly code?: string, readonly reason?: string }

/**
 * Answers a client whose bytes Node could not read as a request: they came too slowly, their head is too large, or they are not HTTP. Node
 * reports such a client with the bare socket, https://nodejs.org/api/http.html#event-clienterror. The log line quotes nothing that the
 * client sent.
 */
export function answerClientErrors (log: FastifyBaseLogger): (error: ClientError, socket: Socket) => void {
  return (error, socket) => {
    if (socket.writable && error.code !== 'ECONNRESET' && !isWithinReply(socket)) {
      const known = whatIsWrong(error)
      const requestId = randomUUID()
      socket.write(asHttp(known, requestId))
      log.info({ requestId, status: known.statusCode, code: known.code }, 'unreadable request')
    }
    socket.destroy()
  }
}

function asHttp (error: ServiceError, requestId: string): string {
  const body = JSON.stringify(errorBody(error, requestId))
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
    connection: 'close'
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.statusCode} ${nodeHttp.STATUS_CODES[error.statusCode] ?? ''}\r\n${lines.join('')}\r\n${body}`
}

/**
 * Whether a reply is being sent on a socket: the client would read an error in the middle of it as a part of that reply.
 * Node makes the same check before it answers such errors itself.
 */
function isWithinReply (socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true
}

function whatIsWrong ({ code, reason }: ClientError): ServiceError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT': return requestTimeout()
    // Node counts the URL and the headers together, and does not say which of the two was too long.
    case 'HPE_HEADER_OVERFLOW': return headersTooLarge(nodeHttp.maxHeaderSize)
    case 'HPE_INVALID_URL': return requestInvalid('path: expected "/", and percent-encoded UTF-8 behind it', { part: 'path' })
    case 'HPE_INVALID_METHOD': return requestInvalid('The request does not begin with a method that is known here, such as GET', { part: 'headers' })
    default: return requestInvalid(`The request cannot be read as HTTP/1.1${reason === undefined ? '' : `: ${reason}`}`, { part: 'headers' })
  }
}
