import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { charsetUnsupported, clientClosed, encodingUnsupported, expectationUnknown, requestInvalid, type ServiceError } from '../base/errors.ts'
import { type Json, JsonError, parseJson } from '../base/json.ts'
import { JsonScanner } from '../base/json-scanner.ts'
import { RequestBytes } from '../llm/model-request.ts'
import { inTurn } from '../runtime/event-loop.ts'
import type { App } from './app.ts'
import { bodyTooLargeFor } from './error-replies.ts'

const UTF_8 = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])

/** Node would refuse them without an explanation; its `requireHostHeader` must be off, since the check is made here. */
export function checkRequestHeads (app: App): void {
  app.server.on('checkExpectation', (request, response) => { app.server.emit('request', request, response) })
  app.addHook('onRequest', (request, _reply, done) => done(whatIsWrong(request.raw)))
}

function whatIsWrong (request: IncomingMessage): ServiceError | undefined {
  const { headers: { expect, 'content-encoding': encoding = 'identity', 'content-type': type = '' } } = request
  const wrongHost = whatIsWrongWithHost(request)
  if (wrongHost !== undefined) return requestInvalid(wrongHost, { part: 'headers' })
  if (encoding.toLowerCase() !== 'identity') return encodingUnsupported(encoding)
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type) ?? []
  if (!UTF_8.has(charset.toLowerCase())) return charsetUnsupported(charset)
  // `100-continue` is the only expectation that HTTP defines; Node has answered it by now.
  return expect === undefined || /\b100-continue\b/i.test(expect) ? undefined : expectationUnknown()
}

/** A proxy could read another host from such a request: https://www.rfc-editor.org/rfc/rfc9112#section-3.2 */
function whatIsWrongWithHost ({ httpVersion, headers: { host }, rawHeaders, url = '' }: IncomingMessage): string | undefined {
  if (host === undefined && httpVersion === '1.1') return 'headers: host is missing'
  if (countHosts(rawHeaders) > 1) return 'headers: host is there more than once'
  if (url.startsWith('/') || url === '*') return undefined
  const target = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1]
  return target === undefined || target.toLowerCase() === host?.toLowerCase() ? undefined : 'headers: host is another one than in the URL'
}

/** Node's `headers` has the first one only. */
function countHosts (rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

/** In characters, of a member's name. */
const MAX_SHOWN = 100

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Strict UTF-8, limited depth, exact integers beyond 2^53, no prototype keys; an empty body is `null`, as a missing one is. */
export function readJsonBodies (app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorateRequest('arrivedAt')
  app.decorateRequest('bodyText')
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const body = await receive(request, payload)
    request.keepRoom?.(body.length)
    request.arrivedAt = performance.now()
    const { passesOn } = request.routeOptions.config
    // A large body takes milliseconds to parse, and many can arrive at once.
    return passesOn === undefined || body.length === 0 ? await inTurn(() => parseBody(request, body)) : await scanBody(withoutMark(body), passesOn)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined) request.body = null
    done()
  })
}

/** Into one buffer: a list of pieces would be in memory twice once it is joined. */
function receive (request: FastifyRequest, payload: IncomingMessage): Promise<Buffer> {
  const { headers: { 'content-length': given }, routeOptions: { bodyLimit } } = request
  const length = given === undefined ? undefined : Number(given)
  if (length !== undefined && length > bodyLimit) throw bodyTooLargeFor(request)
  if (payload.destroyed) throw clientClosed()
  return new Promise((resolve, reject) => {
    let body = Buffer.allocUnsafe(length ?? 0)
    let received = 0

    function add (piece: Buffer): void {
      const end = received + piece.length
      if (end > (length ?? bodyLimit)) return leave(length === undefined ? bodyTooLargeFor(request) : lengthWrong())
      if (end > body.length) {
        const larger = Buffer.allocUnsafe(Math.min(bodyLimit, 2 * end))
        body.copy(larger, 0, 0, received)
        body = larger
      }
      piece.copy(body, received)
      received = end
    }

    function end (): void {
      if (length !== undefined && received !== length) reject(lengthWrong())
      else resolve(body.subarray(0, received))
    }

    function leave (error: Error): void {
      payload.off('data', add).off('end', end).off('error', leave)
      reject(error)
    }

    payload.on('data', add).on('end', end).on('error', leave)
  })
}

function lengthWrong (): ServiceError {
  return requestInvalid('The body has another length than its content-length', { part: 'body' })
}

/** A byte order mark is no part of a text. */
function withoutMark (body: Buffer): Buffer {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body
}

/** In bytes: what is scanned in one turn, and the largest body whose mistake is told in the parser's words. */
const SLICE = 1024 * 1024

const ROLE = Buffer.from('role')

async function scanBody (body: Buffer, passesOn: (body: RequestBytes) => boolean): Promise<Json | RequestBytes> {
  if (!isUtf8(body)) throw utf8Invalid()
  const scanner = new JsonScanner(body, 'messages', ROLE)
  try {
    while (!scanner.isOver) await inTurn(() => scanner.run(SLICE))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (body.length <= SLICE) return parseJsonText(body.toString('utf8'))
    throw jsonInvalid(error)
  }
  const { members, items, duplicate } = scanner
  if (duplicate !== undefined) {
    const field = duplicate.slice(0, MAX_SHOWN)
    throw requestInvalid(`body: ${field} is there more than once, and the model's API may read another one than this service`, { part: 'body', field })
  }
  const request = new RequestBytes(body, members, items)
  return passesOn(request) ? request : await inTurn(() => request.asObject())
}

function parseBody (request: FastifyRequest, body: Buffer): Json {
  if (body.length === 0) return null
  const text = decodeText(body)
  if (request.routeOptions.config.keepsText === true) request.bodyText = text
  return parseJsonText(text)
}

/** Refuses `__proto__` as a key: it could change the prototype of an object. @throws REQUEST_INVALID */
export function parseJsonText (text: string): Json {
  try {
    const value = parseJson(text)
    if (mayHavePrototypeKeys(text)) refusePrototypeKeys(value)
    return value
  } catch (error) {
    throw error instanceof JsonError ? jsonInvalid(error) : error
  }
}

function jsonInvalid ({ message }: JsonError): ServiceError {
  return requestInvalid(`The body is not valid JSON: ${message}`, { part: 'body' })
}

/** @throws REQUEST_INVALID */
export function decodeText (body: Buffer): string {
  try {
    return decoder.decode(body)
  } catch {
    throw utf8Invalid()
  }
}

function utf8Invalid (): ServiceError {
  return requestInvalid('The body is not valid UTF-8', { part: 'body' })
}

/** A quick test, escapes included: a search of all members would take as long as the parsing. */
function mayHavePrototypeKeys (text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u00')
}

/** The service reads own properties only, but a library that gets the value may read inherited ones. */
function refusePrototypeKeys (value: Json): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) throw new JsonError('the key "__proto__" is not allowed')
  for (const member of Object.values(value)) refusePrototypeKeys(member)
}
