import { type MissingPath } from '../../base/errors.ts'
import { isNearly } from '../../registry/diagnostic/near-matches.ts'
import { type EnvironSource } from '../../template/run/environ-source.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { isObject, type Value } from '../../template/value.ts'

/**
 * The most missing paths for which a similar name is searched, the most names of one object that are compared, and the longest name, in
 * characters, so that a wrong request does not take much time.
 */
const MOST_PATHS = 20
const MOST_NAMES = 100
const MAX_LENGTH = 100
/** The most shared variables below a path for which similar names are searched there. */
const MOST_SHARED = 1000

/** The fields in the body of a request that hold the variables. */
const VARIABLES: ReadonlySet<string> = new Set(['variables', 'args'])

/** The names that a render can use. If a template or request has a misspelt name, a similar name is searched among these. */
export interface Present {
  readonly variables: JsonObject
  /** The whole body of the request, if variables are one of its members. */
  readonly body?: JsonObject | undefined
  /** The shared variables that the caller is allowed to see. */
  readonly environs: Pick<EnvironSource, 'cached' | 'hasBelow' | 'namesBelow'>
  /** Whether the prompt or one of its partials reads this path, or a path below it. Such a path is not suggested in place of a missing path. */
  readonly isAskedFor: (path: string) => boolean
}

/** Adds suggestions to missing paths: a variable or shared variable with nearly the same name, or a member of the body that should be among the variables. */
export function withNearNames (misses: readonly MissingPath[], present: Present): readonly MissingPath[] {
  return misses.map((miss, index) => {
    const near = index < MOST_PATHS ? nearName(miss.path, present) : undefined
    return near === undefined ? miss : { ...miss, near }
  })
}

function nearName (path: string, present: Present): string | undefined {
  const { variables, body = {} } = present
  const [root = '', first, ...others] = path.split('.')
  if (first === undefined) return undefined
  if (root !== 'variables') return nearShared(root, present, [first, ...others])
  const near = nearBelow(root, variables, present, [first, ...others])
  return near ?? (Object.hasOwn(variables, first) ? undefined : besideVariables(body, first))
}

/** Finds a variable that is in the wrong place of the request's body: beside `variables`, or in an object of another name. */
function besideVariables (body: JsonObject, name: string): string | undefined {
  if (Object.hasOwn(body, name)) return name
  const holder = Object.keys(body).slice(0, MOST_NAMES).find(each => {
    const member = body[each] as Json
    return each.length <= MAX_LENGTH && !VARIABLES.has(each) && isObject(member) && Object.hasOwn(member, name)
  })
  return holder === undefined ? undefined : `${holder}.${name}`
}

/** Finds a similar name among shared variables: among the names below a path, and in the value of a variable if this value is in memory. */
function nearShared (way: string, present: Present, [name, ...others]: readonly string[]): string | undefined {
  if (name === undefined) return undefined
  const { environs } = present
  const names = environs.hasBelow(way) ? environs.namesBelow(way, MOST_SHARED) : []
  if (names === undefined) return undefined
  const members = new Set(names.map(each => each.slice(way.length + 1).split('.', 1)[0] as string))
  if (members.has(name)) return nearShared(`${way}.${name}`, present, others)
  return nearAmong(way, [...members], present, name) ?? nearBelow(way, environs.cached(way)?.value, present, [name, ...others])
}

/** Follows a path into a value. At the first name of the path that does not exist there, finds a similar name that does. */
function nearBelow (way: string, holder: Value | undefined, present: Present, [name, ...others]: readonly string[]): string | undefined {
  if (name === undefined || holder === undefined || !isObject(holder)) return undefined
  if (Object.hasOwn(holder, name)) return nearBelow(`${way}.${name}`, holder[name], present, others)
  return nearAmong(way, Object.keys(holder), present, name)
}

function nearAmong (way: string, names: readonly string[], { isAskedFor }: Present, wanted: string): string | undefined {
  if (wanted.length > MAX_LENGTH) return undefined
  const near = names.slice(0, MOST_NAMES).find(each => each.length <= MAX_LENGTH && isNearly(each, wanted) && !isAskedFor(`${way}.${each}`))
  return near === undefined ? undefined : `${way}.${near}`
}
