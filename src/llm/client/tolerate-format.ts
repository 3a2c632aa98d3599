import { LRUCache } from 'lru-cache'
import { contentHash, type Json, stringifyJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type Answers, type Ask, type Layer, type ModelRequest, type Operation, type OperationKind } from '../model-client.ts'
import { UpstreamRefusal } from '../upstream-error.ts'

/**
 * The most refusals of a `response_format` that are remembered, and the most characters of the model's name that are remembered with each.
 * Callers can invent any number of names.
 */
const MAX_REMEMBERED = 1000
const MAX_MODEL_NAME = 200

/** How long a model's refusal of a format is remembered, in ms. After that time the format is tried again: the model perhaps knows it by then. */
const REMEMBERED_FOR = 3_600_000

/**
 * Makes the `Layer` for models that perhaps do not know `response_format` (the field that asks for an answer in a JSON Schema). If the format is only
 * a wish, a model that refuses the request is asked again without the format. Once the model has answered without the format, later requests leave
 * this format out at once. A request with another format tries that one first, since the refusal perhaps concerns only the schema of one prompt.
 */
export function tolerateFormat (): Layer {
  const refused = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: REMEMBERED_FOR })
  return ask => operation => isWish(operation) ? askOrDoWithout(ask, operation) : ask(operation)

  async function askOrDoWithout<Kind extends OperationKind> (ask: Ask, operation: Operation<Kind>): Promise<Answers[Kind]> {
    const { kind, request, call } = operation
    const { response_format: _, ...without } = request
    // The key has a hash of the schema, which takes time, and in most services no model has ever refused a format: then no key is made.
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

/** Whether a refusal is about the format. Model APIs use no common code for that, but all of them name the part of the request that they do not know. */
function isFormatRefusal (error: unknown): boolean {
  if (!(error instanceof UpstreamRefusal) || ![400, 404, 422].includes(error.status)) return false
  return /response_?format|json_schema|structured.?output/i.test(stringifyJson(error.body))
}
