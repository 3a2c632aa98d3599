import { type Json, stringifyJson } from '../../../base/json.ts'

/** Results of tools that are longer are cut before they are written, in UTF-16 units of their JSON. */
const MAX_RESULT = 256 * 1024

/** A result that is short enough for a log; a longer one becomes the beginning of its JSON. @param most in UTF-16 units of the JSON */
export function clipped (value: Json, most = MAX_RESULT): Json {
  const text = stringifyJson(value)
  return text.length <= most ? value : `${text.slice(0, most)}…[truncated]`
}
