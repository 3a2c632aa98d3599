import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { charsetUnsupported, encodingUnsupported, expectationUnknown, requestInvalid, type ServiceError } from '../base/errors.ts'
import { type Json, JsonError, parseJson } from '../base/json.ts'
import { inTurn } from '../runtime/event-loop.ts'
import type { App } from './app.ts'

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

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Strict UTF-8, limited depth, exact integers beyond 2^53, no prototype keys; an empty body is `null`, as a missing one is. */
export function readJsonBodies (app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorateRequest('arrivedAt')
  app.decorateRequest('bodyText')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    request.arrivedAt = performance.now()
    // A large body takes milliseconds to parse, and many can arrive at once.
    return await inTurn(() => parseBody(request, body))
  })
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined) request.body = null
    done()
  })
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
    if (error instanceof JsonError) throw requestInvalid(`The body is not valid JSON: ${error.message}`, { part: 'body' })
    throw error
  }
}

/** @throws REQUEST_INVALID */
export function decodeText (body: Buffer): string {
  try {
    return decoder.decode(body)
  } catch {
    throw requestInvalid('The body is not valid UTF-8', { part: 'body' })
  }
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
