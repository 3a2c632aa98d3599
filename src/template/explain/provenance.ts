import { type Origin } from './origin.ts'

/** Something that values are read from by paths. */
export interface Source {
  /** Whether it is the variables of the caller, rather than shared ones. */
  isCallers (): boolean
  /** What an origin at a path of it is. */
  originAt (path: string): Origin
}

/** How many origins are kept of one value. */
const MAX_ORIGINS = 100

/** Where a path is no longer made longer, in UTF-16 units: keys come from strangers. */
const MAX_PATH = 200

/** What there is to say of a value beside the place that it was read from. */
interface More {
  /** Everything else that led to it. */
  readonly origins: readonly Origin[]
  /** Members that come from elsewhere: named arguments of a partial. */
  readonly members: ReadonlyMap<string, Provenance> | undefined
}

const NO_MORE: More = { origins: [], members: undefined }

/**
 * Where a value comes from. A render makes one for every round of a loop, so provenances are links of a chain. The chain
 * becomes a path only when somebody asks for it.
 */
export class Provenance {
  /** What the value was read from, as long as no other value was made of it: its members are below the same place. */
  readonly source: Source | undefined
  /** The value that it is a member of; `undefined` where its path begins. */
  readonly holder: Provenance | undefined
  /** Its name in its holder, or the whole path. */
  readonly name: string | number
  readonly more: More
  #known: Path | undefined

  constructor (source: Source | undefined, holder: Provenance | undefined, name: string | number, more: More) {
    this.source = source
    this.holder = holder
    this.name = name
    this.more = more
  }

  /** Whether it has one origin, and so has every member of the value. */
  get isSingle (): boolean {
    return this.more === NO_MORE && this.source !== undefined
  }

  /** The path from the scope root; one that has become too long ends in a sign of that. */
  get path (): string {
    return this.#knownPath().text
  }

  /** The path of a member of a member …, by their names. */
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

/** A path, and whether it has been cut short. */
interface Path { readonly text: string, readonly isElided: boolean }

function below (path: Path | undefined, name: string): Path {
  if (path === undefined) return { text: name, isElided: false }
  if (path.isElided) return path
  if (path.text.length + name.length < MAX_PATH) return { text: `${path.text}.${name}`, isElided: false }
  return { text: `${path.text}.…`, isElided: true }
}

/** The provenance of what the template itself holds, and of the scope root. */
export const NOWHERE = new Provenance(undefined, undefined, '', NO_MORE)

/** The provenance of a value that is exactly what lies at a path. */
export function placed (path: string, source: Source): Provenance {
  return new Provenance(source, undefined, path, NO_MORE)
}

/** The provenance of a value that has nothing but origins. */
export function originated (origins: readonly Origin[]): Provenance {
  return new Provenance(undefined, undefined, '', { origins, members: undefined })
}

/** The provenance of a value that was made from others, or found by way of them. */
export function made (from: readonly Provenance[]): Provenance {
  const [only = NOWHERE] = from
  return originated(from.length < 2 ? originsOf(only) : distinct(from.flatMap(originsOf)))
}

/** The same value with members that come from elsewhere. */
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

/** All origins of a member of a member …, by their names. */
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

/** The provenance of a member of a member …, by the names from one on. */
export function followed (holder: Provenance, names: readonly string[], from = 0): Provenance {
  let provenance = holder
  for (let index = from; index < names.length; index++) provenance = memberOf(provenance, names[index] as string)
  return provenance
}

/** What was read on the way to a value counts among its origins. */
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
