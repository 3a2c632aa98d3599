import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { isProtected, normalisePath } from '../../files/path-rules.ts'
import { type ContextRequest } from './parse-plan.ts'
import { type CacheStats } from './plan-state.ts'

/** A request in its normal form, or the reason why it is not allowed. */
export function normaliseRequest (request: ContextRequest): { readonly request: JsonObject } | { readonly reason: string } {
  if (request.type !== 'read_file' && request.type !== 'list') return { request: { ...request } }
  if (request.path === undefined || request.path === '.') return { request: withoutPath(request) }
  const normalised = normalisePath(request.path)
  if ('code' in normalised) return { reason: `${normalised.code}: ${normalised.message}` }
  if (isProtected(normalised.path)) return { reason: 'PROTECTED_PATH: it is not read' }
  return { request: { ...request, path: normalised.path } }
}

function withoutPath ({ path: _root, ...request }: ContextRequest & { readonly path?: string }): JsonObject {
  return { ...request }
}

/** The cache key of a request within a cycle. All fields belong to it, `last_n` too, since more lines of a log are another text. */
export function keyOf (request: JsonObject): string {
  return canonicalJson(request)
}

/** The name under which the statistics of the cache count a request. */
export function cacheName ({ type }: JsonObject): keyof CacheStats {
  return type === 'search' || type === 'logs' || type === 'env' ? type : 'read'
}

/** The block of a result that answers each request; blocks come in the order of the requests, and some may be left out. */
export function answersTo (requests: readonly JsonObject[], result: Json): Array<JsonObject | undefined> {
  const blocks = isJsonObject(result) && Array.isArray(result['blocks']) ? (result['blocks'] as readonly Json[]).filter(isJsonObject) : []
  const left = new Set(blocks)
  return requests.map(request => {
    const block = blocks.find(each => left.has(each) && answers(each, request))
    if (block !== undefined) left.delete(block)
    return block
  })
}

function answers (block: JsonObject, request: JsonObject): boolean {
  switch (block['type']) {
    case 'missing': return block['request'] !== undefined && canonicalJson(block['request']) === canonicalJson(request)
    case 'file': return request['type'] === 'read_file' && block['path'] === request['path']
    case 'search': return request['type'] === 'search' && block['query'] === request['query']
    case 'list': return request['type'] === 'list' && block['path'] === (request['path'] ?? '.') && block['glob'] === request['glob']
    case 'logs': return request['type'] === 'logs' && block['source'] === request['source']
    default: return block['type'] === request['type']
  }
}
