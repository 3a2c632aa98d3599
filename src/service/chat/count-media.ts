import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'

/** How many tokens one part of a message counts as, by its type, such as `image_url`. The operator sets this, as only he knows what his models take. */
export type MediaTokens = ReadonlyMap<string, number>

/** The types of message parts that are texts: their tokens are estimated from their length instead. */
const TEXTS: ReadonlySet<unknown> = new Set(['text', 'refusal'])

/**
 * The tokens of all pictures, sounds and files in messages.
 * @param uncounted makes the error for a type of part whose tokens are not known
 */
export function countMedia (messages: readonly JsonObject[], costs: MediaTokens, uncounted: (type: string) => Error): number {
  let tokens = 0
  for (const { content = null } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content as readonly Json[]) {
      const type = isJsonObject(part) ? part['type'] : 'text'
      if (TEXTS.has(type)) continue
      const cost = typeof type === 'string' ? costs.get(type) : undefined
      if (cost === undefined) throw uncounted(typeof type === 'string' ? type.slice(0, 40) : 'unknown')
      tokens += cost
    }
  }
  return tokens
}
