import { type JsonPath, placesInJson } from '../../base/json-places.ts'
import { type Diagnostic } from './diagnostic.ts'

/** The greatest number of diagnostics that get a line and column; nobody reads more. */
const MAX_LOCATED = 200

/**
 * Adds lines and columns to diagnostics that only name a member of the entry.
 * @param text the text that the caller sent; if it is no JSON, the diagnostics stay as they are
 * @param within the path of the entry in that JSON
 */
export function locate (diagnostics: readonly Diagnostic[], text: string, within: JsonPath = []): readonly Diagnostic[] {
  const placeless = diagnostics.filter(({ field, line }) => field !== undefined && line === undefined).slice(0, MAX_LOCATED)
  if (placeless.length === 0 || !/^\s*[[{]/.test(text)) return diagnostics
  const places = placesInJson(text, placeless.map(({ field = [] }) => [...within, ...field]))
  const found = new Map(placeless.map((diagnostic, index) => [diagnostic, places[index]]))
  return diagnostics.map(diagnostic => ({ ...diagnostic, ...found.get(diagnostic) }))
}
