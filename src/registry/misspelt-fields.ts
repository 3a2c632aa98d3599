import { distance } from 'fastest-levenshtein'
import { type JsonObject } from '../template/value.ts'
import { type Diagnostic } from './diagnostic.ts'

/** Members that are compared, so that an object with very many stays cheap. */
const MAX_COMPARED = 100

/**
 * Warns of members that are spelt nearly like a field that is not there; any other member may be meant for other programs.
 * @param fields those that are looked at
 */
export function lintFields (value: JsonObject, fields: readonly string[]): Diagnostic[] {
  const absent = fields.filter(field => !Object.hasOwn(value, field))
  const unknown = Object.keys(value).slice(0, MAX_COMPARED).filter(name => !fields.includes(name))
  return unknown.flatMap((name): Diagnostic[] => {
    const meant = absent.find(field => isNearly(name, field))
    return meant === undefined ? [] : [{ severity: 'warning', code: 'FIELD_UNKNOWN', message: `"${name}" is not a field that is looked at`, hint: `write "${meant}"` }]
  })
}

/** One edit in a short name, two in a long one; capitals do not count. */
function isNearly (name: string, field: string): boolean {
  const edits = field.length < 6 ? 1 : 2
  return Math.abs(name.length - field.length) <= edits && distance(name.toLowerCase(), field.toLowerCase()) <= edits
}
