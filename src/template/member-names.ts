/** The least number of members that an object must have so that their names are remembered. */
const MANY = 32

/**
 * Makes a function that lists the names of an object's members, and remembers those of large objects. That is safe, because values never change, and
 * worthwhile, because a template can look at one object a hundred thousand times.
 */
export function rememberingNames (list: (object: object) => readonly string[]): (object: object) => readonly string[] {
  const remembered = new WeakMap<object, readonly string[]>()
  return object => {
    const known = remembered.get(object)
    if (known !== undefined) return known
    const names = list(object)
    if (names.length >= MANY) remembered.set(object, names)
    return names
  }
}

/** The names of an object's own members, in their order. */
export const memberNames = rememberingNames(Object.keys)
