import { LRUCache } from 'lru-cache'
import { contentHash, type Json, stringifyJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type Answers, type Ask, type Layer, type ModelRequest, type Operation, type OperationKind } from '../model-client.ts'
import { UpstreamRefusal } from '../upstream-error.ts'

/** Refusals that are remembered, and of the names of their models, in characters; callers can make up as many as they like. */
const MAX_REMEMBERED = 1000
const MAX_MODEL_NAME = 200

/** How long, in ms: an upstream may learn. */
const REMEMBERED_FOR = 3_600_000

/**
 * For models that may not know `response_format`. Where it is a wish, a model that refuses it is asked again without it,
 * and from then on at once: for that very format, since what is refused may be one prompt's schema, and once it has
 * answered without, since its mistake may have been another one.
 */
export function tolerateFormat (): Layer {
  const refused = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: REMEMBERED_FOR })
  return ask => operation => isWish(operation) ? askOrDoWithout(ask, operation) : ask(operation)

  async function askOrDoWithout<Kind extends OperationKind> (ask: Ask, operation: Operation<Kind>): Promise<Answers[Kind]> {
    const { kind, request, call } = operation
    const { response_format: _, ...without } = request
    // Mostly nothing was ever refused, and a schema takes time to hash.
    if (refused.size > 0 && refused.has(keyOf(request))) return await ask({ kind, request: without, call })
    try {
      return await ask(operation)
    } catch (error) {
      if (!isFormatRefusal(error)) throw error
      const answer = await ask({ kind, request: without, call })
      refused.set(keyOf(request), true)
      return answer
    }
  }
}

function isWish ({ request, call }: Operation<OperationKind>): boolean {
  return call.optionalFormat === true && Object.hasOwn(request, 'response_format')
}

function keyOf ({ response_format: format, model }: ModelRequest): string {
  return `${contentHash(format as Json)} ${beginningOf(String(model ?? ''), MAX_MODEL_NAME)}`
}

/** Providers agree on no code for it, but all of them name what they do not know. */
function isFormatRefusal (error: unknown): boolean {
  if (!(error instanceof UpstreamRefusal) || ![400, 404, 422].includes(error.status)) return false
  return /response_?format|json_schema|structured.?output/i.test(stringifyJson(error.body))
}
