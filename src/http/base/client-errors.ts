import { randomUUID } from 'node:crypto'
import { type Socket } from 'node:net'
import { type ServerResponse } from 'node:http'
import { type FastifyBaseLogger } from 'fastify'
import { nodeHttp } from '../../base/node-http.ts'
import { headersTooLarge, requestInvalid, requestTimeout, type ServiceError } from '../../base/errors.ts'
import { errorBody } from './error-handler.ts'

/** What Node tells; the reason is the parser's, in words that quote nothing: https://github.com/nodejs/llhttp */
type ClientError = Error & { readonly code?: string, readonly reason?: string }

/**
 * Answers what never became a request: it came too slowly, its head is too large, or it is not HTTP. Node tells of it with
 * the bare socket, https://nodejs.org/api/http.html#event-clienterror. The log has a line of it, with nothing that came.
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

/** A second answer in the middle of a first one would be read as a part of it; Node itself asks the same before it answers. */
function isWithinReply (socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true
}

function whatIsWrong ({ code, reason }: ClientError): ServiceError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT': return requestTimeout()
    // Node counts both together, and may have passed on the bytes by which they could be told apart.
    case 'HPE_HEADER_OVERFLOW': return headersTooLarge(nodeHttp.maxHeaderSize)
    case 'HPE_INVALID_URL': return requestInvalid('path: expected "/", and percent-encoded UTF-8 behind it', { part: 'path' })
    case 'HPE_INVALID_METHOD': return requestInvalid('The request does not begin with a method that is known here, such as GET', { part: 'headers' })
    default: return requestInvalid(`The request cannot be read as HTTP/1.1${reason === undefined ? '' : `: ${reason}`}`, { part: 'headers' })
  }
}
