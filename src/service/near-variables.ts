import { type MissingPath, type Violation } from '../errors.ts'
import { isNearly } from '../registry/near-matches.ts'
import { isObject, type JsonObject, type Value } from '../template/value.ts'

/** Misses, and names of one object, that are looked at, and how long those may be, so that a wrong request stays cheap. */
const MOST_MISSES = 20
const MOST_NAMES = 100
const MAX_LENGTH = 100

/**
 * Misses with what the caller has sent and may have meant: a variable that is spelt nearly like the missing one, or a
 * member of the body that belongs into the variables.
 * @param body all that came, where variables are one of its members
 */
export function withNearNames (misses: readonly MissingPath[], variables: JsonObject, body: JsonObject = {}): readonly MissingPath[] {
  return misses.map((miss, index) => {
    const near = index < MOST_MISSES ? nearName(miss.path, variables, body) : undefined
    return near === undefined ? miss : { ...miss, near }
  })
}

/** The same for declared parameters that are required and have not come. */
export function withNearNamesOfRequired (violations: readonly Violation[], variables: JsonObject, body: JsonObject = {}): readonly Violation[] {
  return violations.map((violation, index) => {
    const near = index < MOST_MISSES ? nearName(violation.path, variables, body) : undefined
    return near === undefined ? violation : { ...violation, message: `${violation.message}; ${near} came` }
  })
}

function nearName (path: string, variables: JsonObject, body: JsonObject): string | undefined {
  const [root, first, ...others] = path.split('.')
  if (root !== 'variables' || first === undefined) return undefined
  const near = nearBelow(root, variables, [first, ...others])
  return near ?? (Object.hasOwn(body, first) && !Object.hasOwn(variables, first) ? first : undefined)
}

/** The path of what is nearly called like the first of these names that is not there. */
function nearBelow (way: string, holder: Value | undefined, [name, ...others]: readonly string[]): string | undefined {
  if (name === undefined || holder === undefined || !isObject(holder)) return undefined
  if (Object.hasOwn(holder, name)) return nearBelow(`${way}.${name}`, holder[name], others)
  if (name.length > MAX_LENGTH) return undefined
  const near = Object.keys(holder).slice(0, MOST_NAMES).find(each => each.length <= MAX_LENGTH && isNearly(each, name))
  return near === undefined ? undefined : `${way}.${near}`
}
