import { type Json, type JsonObject } from '../../base/json.ts'
import { type JsonPath } from '../../base/json-places.ts'
import { isObject } from '../../template/value.ts'
import { type Diagnostic, RejectedEntry } from '../diagnostic/diagnostic.ts'
import { isNearly } from '../diagnostic/near-matches.ts'

/** The greatest number of members of an object, or items of a list, that are looked at for misspelt names, so that very large values stay cheap. */
const MAX_COMPARED = 100

/** The fields that a JSON Schema knows for a value: for an object, or for each object in a list or a map. */
export interface Fields {
  readonly shape: 'object' | 'list' | 'map'
  readonly names: readonly string[]
  /** The known fields of the members, by the member's name. */
  readonly below: ReadonlyMap<string, Fields>
}

/**
 * Warns of members whose name is nearly that of a known field that is absent. Any other unknown member is accepted, because it is perhaps meant for other
 * programs.
 * @param fields the fields that the schema knows
 * @param path the path of the object in the entry
 */
export function lintFields (value: JsonObject, { names: known, below }: Fields, path: JsonPath = []): Diagnostic[] {
  const absent = known.filter(field => !Object.hasOwn(value, field))
  const unknown = Object.keys(value).slice(0, MAX_COMPARED).filter(name => !known.includes(name))
  const own = unknown.flatMap((name): Diagnostic[] => {
    const meant = absent.find(field => isNearly(name, field))
    return meant === undefined
      ? []
      : [{
          severity: 'warning',
          code: 'FIELD_UNKNOWN',
          message: `"${inWords([...path, name])}" is not a field that is looked at: did you mean "${meant}"?`,
          hint: `write "${meant}"`,
          field: [...path, name]
        }]
  })
  const nested = [...below].flatMap(([name, fields]) => objectsIn(value, name, fields).flatMap(([at, object]) => lintFields(object, fields, [...path, ...at])))
  return [...own, ...nested]
}

/** Runs a check against a JSON Schema. When the check fails, the error also lists misspelt fields, the most frequent cause. @throws RejectedEntry */
export function checkWithFields (check: () => void, misspelt: () => readonly Diagnostic[]): void {
  try {
    check()
  } catch (error) {
    throw error instanceof RejectedEntry ? new RejectedEntry([...error.diagnostics, ...misspelt()]) : error
  }
}

/** The objects under a member, each with its path: the member itself, or the objects in the list or map that the member holds. */
function objectsIn (value: JsonObject, name: string, { shape }: Fields): Array<readonly [at: JsonPath, object: JsonObject]> {
  if (!Object.hasOwn(value, name)) return []
  const member = value[name] as Json
  if (shape === 'object') return isObject(member) ? [[[name], member as JsonObject]] : []
  return itemsOf(member, shape).flatMap(([at, item]) => isObject(item) ? [[[name, at], item as JsonObject]] : [])
}

function itemsOf (member: Json, shape: 'list' | 'map'): Array<readonly [at: string | number, item: Json]> {
  if (shape === 'map') return isObject(member) ? Object.entries(member as JsonObject).slice(0, MAX_COMPARED) : []
  return Array.isArray(member) ? member.slice(0, MAX_COMPARED).map((item: Json, index) => [index, item]) : []
}

/** The path of a member as it is written in messages: `parameters[2].default`. */
function inWords (path: JsonPath): string {
  return path.map((segment, index) => typeof segment === 'number' ? `[${segment}]` : index === 0 ? segment : `.${segment}`).join('')
}
