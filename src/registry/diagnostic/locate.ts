import { type JsonPath, placesInJson } from '../../base/json-places.ts'
import { type Diagnostic } from './diagnostic.ts'

/** Diagnostics whose places are looked for; nobody reads more. */
const MAX_LOCATED = 200

/**
 * Puts the place in a text in place of the field that a diagnostic is about.
 * @param text the JSON that was sent; of any other text no field has a place
 * @param within what leads to the entry in it
 */
export function locate (diagnostics: readonly Diagnostic[], text: string, within: JsonPath = []): readonly Diagnostic[] {
  const placeless = diagnostics.filter(({ field, line }) => field !== undefined && line === undefined).slice(0, MAX_LOCATED)
  if (placeless.length === 0 || !/^\s*[[{]/.test(text)) return diagnostics
  const places = placesInJson(text, placeless.map(({ field = [] }) => [...within, ...field]))
  const found = new Map(placeless.map((diagnostic, index) => [diagnostic, places[index]]))
  return diagnostics.map(diagnostic => ({ ...diagnostic, ...found.get(diagnostic) }))
}
