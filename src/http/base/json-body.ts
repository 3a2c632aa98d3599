import { type FastifyInstance, type FastifyRequest } from 'fastify'
import { requestInvalid } from '../../base/errors.ts'
import { type Json, JsonError, parseJson } from '../../base/json.ts'
import { inTurn } from '../../runtime/fairness.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route also needs the body as text, so that its error messages can give lines and columns of that text. */
    keepsText?: boolean
  }
  interface FastifyRequest {
    /** The text of the body, for routes with `keepsText`. */
    bodyText: string | undefined
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads JSON bodies: they must be strict UTF-8 and not nested too deeply; integers beyond 2^53 stay exact; keys that could change
 * JavaScript's prototypes are refused. An empty body becomes `null`, as does a missing one; the routes that render a prompt take it as "no variables".
 */
export function readJsonBodies (app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorateRequest('arrivedAt')
  app.decorateRequest('bodyText')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    request.arrivedAt = performance.now()
    // A large body takes milliseconds to parse, and many can arrive at once, so each is parsed when the event loop has time.
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

/**
 * Parses the JSON of a body, and refuses `__proto__` as a key, by which an attacker could change the prototype of an object. @throws
 * REQUEST_INVALID
 */
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

/** Decodes a body as strict UTF-8. @throws REQUEST_INVALID */
export function decodeText (body: Buffer): string {
  try {
    return decoder.decode(body)
  } catch {
    throw requestInvalid('The body is not valid UTF-8', { part: 'body' })
  }
}

/**
 * Whether a JSON text possibly has the key `__proto__`, written plainly or with escapes. Nearly every text is sure not to have it, and is not
 * searched further, since a search of all members would take as long as the parsing.
 */
function mayHavePrototypeKeys (text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u00')
}

/**
 * Refuses `__proto__` as a key. The service itself reads only own properties of objects, but a library that gets the value could read
 * inherited properties.
 */
function refusePrototypeKeys (value: Json): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) throw new JsonError('the key "__proto__" is not allowed')
  for (const member of Object.values(value)) refusePrototypeKeys(member)
}
