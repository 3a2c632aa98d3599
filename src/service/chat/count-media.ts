import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'

/** The tokens that one part of each type counts as, such as `image_url`; only the operator can know what his models take. */
export type MediaTokens = ReadonlyMap<string, number>

/** Parts that are texts, which the estimate of tokens has counted. */
const TEXTS: ReadonlySet<unknown> = new Set(['text', 'refusal'])

/**
 * The tokens of everything in messages that is no text.
 * @param uncounted the error for a part whose tokens are not known
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
