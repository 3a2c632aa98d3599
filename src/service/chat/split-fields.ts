import { requestInvalid } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'

/** The fields of a chat request, separated into those for the model's API and those that the service itself uses. */
export interface SplitFields {
  /** The fields that go to the model's API. */
  readonly fields: JsonObject
  readonly fallbacks: readonly string[] | undefined
}

const MAX_FALLBACKS = 20

/**
 * Separates the service's own fields of a chat request from those for the model's API. A caller is allowed to choose the model, and the models to
 * fall back to. Only the prompt's publisher sets `toolLoop` (which tools the model is allowed to call) and `maxInputTokens`.
 * @throws REQUEST_INVALID
 */
export function splitFields (given: JsonObject): SplitFields {
  for (const name of ['toolLoop', 'maxInputTokens']) {
    if (Object.hasOwn(given, name)) throw requestInvalid(`body: ${name} is set by the prompt's defaults, not by a request`, { part: 'body', field: name })
  }
  if (!Object.hasOwn(given, 'fallbacks')) return { fields: given, fallbacks: undefined }
  const { fallbacks, ...fields } = given
  return { fields, fallbacks: fallbacks === null ? undefined : checkFallbacks(fallbacks) }
}

function checkFallbacks (fallbacks: unknown): readonly string[] {
  const isList = Array.isArray(fallbacks) && fallbacks.length <= MAX_FALLBACKS && fallbacks.every(name => typeof name === 'string')
  if (!isList) throw requestInvalid(`body: fallbacks must be a list of at most ${MAX_FALLBACKS} model names`, { part: 'body', field: 'fallbacks' })
  return fallbacks as readonly string[]
}
