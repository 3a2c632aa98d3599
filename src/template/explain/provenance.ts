import { type Origin } from './origin.ts'

/** A source from which values are read by paths, such as the variables of the caller. */
export interface Source {
  /** Whether the source is the caller's variables, and not a shared variable. */
  isCallers (): boolean
  /** The origin (as the explanation shows it) of the value at a path. */
  originAt (path: string): Origin
}

/** The most origins that are kept for one value. */
const MAX_ORIGINS = 100

/** The length at which a path is cut, in UTF-16 units, since the names in it come from strangers. */
const MAX_PATH = 200

/** Facts about a value's origin, in addition to the place from which it was read. */
interface More {
  /** The origins of all other values that contributed to the value. */
  readonly origins: readonly Origin[]
  /** The provenance of those members that do not come from the value's own place, such as the named arguments of a partial, by name. */
  readonly members: ReadonlyMap<string, Provenance> | undefined
}

const NO_MORE: More = { origins: [], members: undefined }

/**
 * The provenance of a value: where the value comes from. A render makes one for every round of a loop, so making one must be fast: it only points to
 * the provenance of the value that contains it, and a path is built from these links when somebody asks for it.
 */
export class Provenance {
  /** The source from which the value was read. It is set only for an unchanged value, of which each member lies in the same source, below the value's path. */
  readonly source: Source | undefined
  /** The provenance of the value that contains this one; `undefined` at the beginning of the path. */
  readonly holder: Provenance | undefined
  /** The name or index of this value in the value that contains it; the whole path, when `holder` is `undefined`. */
  readonly name: string | number
  readonly more: More
  #known: Path | undefined

  constructor (source: Source | undefined, holder: Provenance | undefined, name: string | number, more: More) {
    this.source = source
    this.holder = holder
    this.name = name
    this.more = more
  }

  /** Whether the value was read unchanged from one place, which is its only origin. Then the same is true of every member of the value. */
  get isSingle (): boolean {
    return this.more === NO_MORE && this.source !== undefined
  }

  /** The value's path from the scope root (the object with all variables). A path that is too long is cut, and ends in `…`. */
  get path (): string {
    return this.#knownPath().text
  }

  /** The path of a member of this value. `names` lead from this value to the member, one level after the other. */
  pathOf (names: readonly string[]): string {
    let path = this.#knownPath()
    for (const name of names) path = below(path, name)
    return path.text
  }

  #knownPath (): Path {
    if (this.#known !== undefined) return this.#known
    const links: Provenance[] = []
    let known: Path | undefined
    for (let link: Provenance | undefined = this; link !== undefined && known === undefined; link = link.holder) {
      known = link.#known
      if (known === undefined) links.push(link)
    }
    for (let link = links.pop(); link !== undefined; link = links.pop()) known = link.#known = below(known, String(link.name))
    return known as Path
  }
}

/** A path, and whether it was cut. */
interface Path { readonly text: string, readonly isElided: boolean }

function below (path: Path | undefined, name: string): Path {
  if (path === undefined) return { text: name, isElided: false }
  if (path.isElided) return path
  if (path.text.length + name.length < MAX_PATH) return { text: `${path.text}.${name}`, isElided: false }
  return { text: `${path.text}.…`, isElided: true }
}

/** The provenance of values that come from no variable: those that the template itself contains, and the scope root (the object with all variables). */
export const NOWHERE = new Provenance(undefined, undefined, '', NO_MORE)

/** The provenance of a value that is read unchanged from a path of a source. */
export function placed (path: string, source: Source): Provenance {
  return new Provenance(source, undefined, path, NO_MORE)
}

/** The provenance of a value of which only the origins are known. */
export function originated (origins: readonly Origin[]): Provenance {
  return new Provenance(undefined, undefined, '', { origins, members: undefined })
}

/** The provenance of a value that was made from other values, or that could be found only by reading other values. */
export function made (from: readonly Provenance[]): Provenance {
  const [only = NOWHERE] = from
  return originated(from.length < 2 ? originsOf(only) : distinct(from.flatMap(originsOf)))
}

/** A copy of a value's provenance, in which one member of the value has a provenance of its own. */
export function withMember (holder: Provenance, name: string, member: Provenance): Provenance {
  const { origins, members } = holder.more
  return new Provenance(holder.source, holder.holder, holder.name, { origins, members: new Map(members).set(name, member) })
}

/** All origins of a value, each once. */
export function originsOf (provenance: Provenance): readonly Origin[] {
  const { source, more: { origins, members } } = provenance
  const own = source === undefined ? origins : [source.originAt(provenance.path), ...origins]
  return members === undefined ? own : distinct([...own, ...[...members.values()].flatMap(originsOf)])
}

/** All origins of a member of a value. `names` lead from the value to the member, one level after the other. */
export function originsBelow (provenance: Provenance, names: readonly string[]): readonly Origin[] {
  const { source, isSingle } = provenance
  if (!isSingle || source === undefined) return originsOf(followed(provenance, names))
  return [source.originAt(provenance.pathOf(names))]
}

/** The provenance of a member of a value. */
export function memberOf (holder: Provenance, name: string | number): Provenance {
  const { source, more } = holder
  if (more.members === undefined) return source === undefined ? holder : new Provenance(source, holder, name, more)
  const named = more.members.get(String(name))
  return named ?? new Provenance(source, holder, name, { origins: more.origins, members: undefined })
}

/**
 * The provenance of a member of a value. `holder` is the provenance of that value. `names` lead from the value to the member, one level after the other.
 * @param from the index of the first name to follow; the names before it are ignored
 */
export function followed (holder: Provenance, names: readonly string[], from = 0): Provenance {
  let provenance = holder
  for (let index = from; index < names.length; index++) provenance = memberOf(provenance, names[index] as string)
  return provenance
}

/** The provenance `found` with the origins of `way` added: the value was found by reading the value whose provenance is `way`. */
export function foundThrough (way: Provenance, found: Provenance): Provenance {
  const { source, more: { origins } } = way
  const met = source === undefined ? origins : [source.originAt(way.path), ...origins]
  if (met.length === 0) return found
  return new Provenance(found.source, found.holder, found.name, { ...found.more, origins: distinct([...met, ...found.more.origins]) })
}

function distinct (origins: readonly Origin[]): readonly Origin[] {
  if (origins.length < 2) return origins
  const known = new Map<string, Origin>()
  for (const origin of origins) {
    known.set(JSON.stringify(origin), origin)
    if (known.size === MAX_ORIGINS) break
  }
  return [...known.values()]
}
