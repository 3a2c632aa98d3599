import { type Json, stringifyJson } from '../../../base/json.ts'

/** The longest result of a tool that is written whole, in UTF-16 units of its JSON. A longer one is cut. */
const MAX_RESULT = 256 * 1024

/** Shortens a result for the session's log: a result that is too long becomes the beginning of its JSON. @param most the longest JSON, in UTF-16 units */
export function clipped (value: Json, most = MAX_RESULT): Json {
  const text = stringifyJson(value)
  return text.length <= most ? value : `${text.slice(0, most)}…[truncated]`
}
