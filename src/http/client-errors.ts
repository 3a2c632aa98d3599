import { randomUUID } from 'node:crypto'
import { type Socket } from 'node:net'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import { headersTooLarge, requestInvalid, requestTimeout, type ServiceError } from '../errors.ts'
import { errorBody } from './error-handler.ts'

/**
 * Answers what never became a request: it came too slowly, its headers are too large, or it is not HTTP. Node tells of it
 * with the bare socket, https://nodejs.org/api/http.html#event-clienterror.
 */
export function answerClientError (error: Error & { readonly code?: string }, socket: Socket): void {
  if (socket.writable && error.code !== 'ECONNRESET' && !isWithinReply(socket)) {
    const known = whatIsWrong(error)
    const body = JSON.stringify(errorBody(known, randomUUID()))
    socket.write(`HTTP/1.1 ${known.statusCode} ${STATUS_CODES[known.statusCode] ?? ''}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`)
  }
  socket.destroy()
}

/** A second answer in the middle of a first one would be read as a part of it; Node itself asks the same before it answers. */
function isWithinReply (socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true
}

function whatIsWrong ({ code }: { readonly code?: string }): ServiceError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout()
  return code === 'HPE_HEADER_OVERFLOW' ? headersTooLarge() : requestInvalid('The request is not HTTP/1.1', { part: 'headers' })
}
