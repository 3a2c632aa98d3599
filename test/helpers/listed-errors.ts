import assert from 'node:assert/strict'
import { type InjectOptions, type LightMyRequestResponse } from 'fastify'
import { type App } from '../../src/http/app.ts'
import { API, type Operation } from './described-api.ts'

/** What no route lists: it is refused before a route is known, or by the guard of services without tokens, or it is a fault of ours. */
const OF_NO_ROUTE: ReadonlySet<string> = new Set(['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED', 'CLIENT_CLOSED', 'WRITE_NOT_LOCAL', 'ORIGIN_FOREIGN', 'CHARSET_UNSUPPORTED', 'MEDIA_TYPE_UNSUPPORTED', 'INTERNAL'])

// A path without parameters goes before one that has them, as in the router.
const PATHS = Object.keys(API.paths).map(path => ({ path, pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`) })).sort((one, other) => one.path.split('{').length - other.path.split('{').length)

/** Makes every request that a test injects fail when it is answered with an error that its route does not list. */
export function holdToListedErrors (app: App): void {
  const inject = app.inject.bind(app)
  const held = async (given: InjectOptions | string): Promise<LightMyRequestResponse> => {
    const reply = await inject(given)
    if (reply.statusCode >= 400) assertListed(typeof given === 'string' ? { method: 'GET', url: given } : given, reply)
    return reply
  }
  app.inject = held as unknown as App['inject']
}

/** Fails for an error that the route of a request does not list. */
export function assertListed ({ method = 'GET', url }: InjectOptions, reply: LightMyRequestResponse): void {
  const operation = operationOf(method, String(url).split('?')[0] as string)
  const code = codeOf(reply)
  if (operation === undefined || code === undefined || OF_NO_ROUTE.has(code)) return
  // Where a model's API may refuse a request, its codes are its own.
  if (operation.responses['4XX'] !== undefined && !Object.hasOwn(API.components.examples, code)) return
  const examples = Object.keys(operation.responses[String(reply.statusCode)]?.content?.['application/json']?.examples ?? {})
  assert.ok(examples.some(name => name === code || name.startsWith(`${code}_OPENAI`) || name.startsWith(`${code}_SKILL`)), `${operation.operationId} answers with ${code}, which its route does not list`)
}

function operationOf (method: string, url: string): Operation | undefined {
  const path = PATHS.find(({ pattern }) => pattern.test(url))?.path
  return path === undefined ? undefined : API.paths[path]?.[method.toLowerCase()]
}

function codeOf (reply: LightMyRequestResponse): string | undefined {
  if (!String(reply.headers['content-type']).startsWith('application/json')) return undefined
  const { code, error } = reply.json<{ code?: unknown, error?: { code?: unknown } }>()
  const found = code ?? error?.code
  return typeof found === 'string' ? found : undefined
}
