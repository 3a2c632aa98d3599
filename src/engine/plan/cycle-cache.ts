import { canonicalJson, type Json, type JsonObject, objectsIn } from '../../base/json.ts'
import { isProtected, normalisePath } from '../../files/path-rules.ts'
import { type ContextRequest } from './parse-plan.ts'
import { type CacheStats, type PlanState } from './plan-state.ts'

const UNUSED = { hits: 0, misses: 0 } as const

export const NO_CACHE: CacheStats = { env: UNUSED, logs: UNUSED, read: UNUSED, search: UNUSED }

/** `./a\b/` becomes `a/b`; else why the model may not read it. */
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

/** All fields belong to the key, `last_n` too: more lines of a log are another text. */
export function keyOf (request: JsonObject): string {
  return canonicalJson(request)
}

/** A request that comes twice counts as a hit, and is listed once in `missed`. `cache` counts since the user's last message. */
export function lookUp (wanted: readonly JsonObject[], { context, cache }: Pick<PlanState, 'context' | 'cache'>) {
  const missed = new Map<string, JsonObject>()
  const requests: Array<{ readonly key: string, readonly isHit: boolean }> = []
  let counts = cache
  for (const request of wanted) {
    const key = keyOf(request)
    const isHit = missed.has(key) || context.some(entry => entry.key === key)
    requests.push({ key, isHit })
    counts = countIn(counts, request, isHit)
    if (!isHit) missed.set(key, request)
  }
  return { requests, missed: [...missed.values()], cache: counts }
}

function countIn (cache: CacheStats, request: JsonObject, isHit: boolean): CacheStats {
  const name = countedAs(request)
  const { [name]: { hits, misses }, ...others } = cache
  return { ...others, [name]: isHit ? { hits: hits + 1, misses } : { hits, misses: misses + 1 } } as CacheStats
}

function countedAs ({ type }: JsonObject): keyof CacheStats {
  return type === 'search' || type === 'logs' || type === 'env' ? type : 'read'
}

/** In the order of the requests. */
export function answersTo (requests: readonly JsonObject[], result: Json): Array<JsonObject | undefined> {
  const blocks = objectsIn(result, 'blocks')
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
