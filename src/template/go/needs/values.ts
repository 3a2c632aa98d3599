import { type PathNeed } from '../../language.ts'

/** What becomes of an expression's value. `descended`: the parts that are read of it are noted instead, wherever that is. */
export type Use = PathNeed['use'] | 'descended'

/** A value at a path from the scope root, `''` for the root itself. */
export interface Found {
  readonly path: string
  readonly offset: number
  /** The expression has this value only where it is there: it was tested before. */
  readonly isThere?: boolean
}

/** What an expression may stand for: one of these, or what is no path, such as a tool's result. */
export type Values = readonly Found[]

/** Members of the values. */
export function below (values: Values, names: readonly string[]): Values {
  if (names.length === 0) return values
  return values.map(({ path, offset }) => ({ path: [...(path === '' ? [] : [path]), ...names].join('.'), offset }))
}

/**
 * What a function does with each of its arguments. An argument that `and`, `or` or `default` gives back is used as their
 * result is used.
 */
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

/** Which of its arguments the result of a function may be. */
export function resultOf (name: string, given: readonly Values[], use: Use): Values {
  const last = given.at(-1) ?? []
  switch (name) {
    // What is false has been noted, and has no members, unless the result is looked at somewhere else.
    case 'and': return use === 'descended' ? given.flat() : last
    case 'or': return [...there(given.slice(0, -1)), ...last]
    case 'default': return given.length === 2 ? [...given[0] ?? [], ...there([last])] : []
    default: return []
  }
}

function there (given: readonly Values[]): Values {
  return given.flat().map(found => ({ ...found, isThere: true }))
}
