import { type PathNeed } from '../../language.ts'

/** How a template uses the value of an expression. `descended`: the template reads only parts of the value; each part is noted where it is read. */
export type Use = PathNeed['use'] | 'descended'

/** A value that an expression can have, named by its path from the scope root (the object with all variables); the path of the root itself is `''`. */
export interface Found {
  readonly path: string
  readonly offset: number
  /** Set when the expression gives this value only if it exists: the expression has tested it first, as `or` and `default` do. */
  readonly isThere?: boolean
}

/** The values that an expression can have: one of these, or a value without a path, such as a tool's result. */
export type Values = readonly Found[]

/** For each value, the member to which `names` lead, one level after the other. */
export function below (values: Values, names: readonly string[]): Values {
  if (names.length === 0) return values
  return values.map(({ path, offset }) => ({ path: [...(path === '' ? [] : [path]), ...names].join('.'), offset }))
}

/** How a function uses each of its arguments. An argument that `and`, `or` or `default` gives back is used as the result is used. */
export function usesOf (name: string, count: number, use: Use): readonly Use[] {
  const all = (each: Use): Use[] => new Array<Use>(count).fill(each)
  switch (name) {
    case 'not': return all('tested')
    case 'and': return all(use)
    case 'or': return [...all('tested').slice(1), use]
    case 'default': return count === 2 ? [use, 'tested'] : all('used')
    default: return all('used')
  }
}

/** The values that the result of a function can be: those of the arguments that the function can return. */
export function resultOf (name: string, given: readonly Values[], use: Use): Values {
  const last = given.at(-1) ?? []
  switch (name) {
    // An operand before the last one is the result only if it is false. Then it has no members, and its test has been noted already. So only the last
    // operand can have members. The other operands count only for the use `descended`, in which the members are noted somewhere else.
    case 'and': return use === 'descended' ? given.flat() : last
    case 'or': return [...there(given.slice(0, -1)), ...last]
    case 'default': return given.length === 2 ? [...given[0] ?? [], ...there([last])] : []
    default: return []
  }
}

function there (given: readonly Values[]): Values {
  return given.flat().map(found => ({ ...found, isThere: true }))
}
