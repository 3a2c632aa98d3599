import type { JsonObject } from '../base/json.ts'
import type { Position } from './tags.ts'

export interface ValueSource {
  isCallers (): boolean
  originAt (path: string): Origin
}

const MAX_ORIGINS = 100

/** In UTF-16 units: the names in a path come from strangers. */
const MAX_PATH = 200

interface More {
  readonly origins: readonly Origin[]
  /** For members that do not come from the value's own place, such as a partial's named arguments. */
  readonly members: ReadonlyMap<string, Provenance> | undefined
}

const NO_MORE: More = { origins: [], members: undefined }

/** Where a value comes from. Made in every round of a loop, so it only links to its holder; paths are built on request. */
export class Provenance {
  /** Set only for an unchanged value, whose members all lie in the same source below its path. */
  readonly source: ValueSource | undefined
  readonly #holder: Provenance | undefined
  readonly #name: string | number | readonly string[]
  readonly more: More
  #known: CutPath | undefined

  constructor (source: ValueSource | undefined, holder: Provenance | undefined, name: string | number | readonly string[], more: More) {
    this.source = source
    this.#holder = holder
    this.#name = name
    this.more = more
  }

  /** Read unchanged from one place, its only origin. */
  get isSingle (): boolean {
    return this.more === NO_MORE && this.source !== undefined
  }

  get path (): string {
    return this.#knownPath().text
  }

  /** A new one at the same place. */
  with (more: More): Provenance {
    return new Provenance(this.source, this.#holder, this.#name, more)
  }

  #knownPath (): CutPath {
    if (this.#known !== undefined) return this.#known
    const links: Provenance[] = []
    let known: CutPath | undefined
    for (let link: Provenance | undefined = this; link !== undefined && known === undefined; link = link.#holder) {
      known = link.#known
      if (known === undefined) links.push(link)
    }
    for (let link = links.pop(); link !== undefined; link = links.pop()) {
      const name = link.#name
      if (typeof name === 'object') for (const each of name) known = extend(known, each)
      else known = extend(known, String(name))
      link.#known = known
    }
    return known as CutPath
  }
}

interface CutPath { readonly text: string, readonly isElided: boolean }

function extend (path: CutPath | undefined, name: string): CutPath {
  if (path === undefined) return { text: name, isElided: false }
  if (path.isElided) return path
  if (path.text.length + name.length < MAX_PATH) return { text: `${path.text}.${name}`, isElided: false }
  return { text: `${path.text}.…`, isElided: true }
}

export const NOWHERE = new Provenance(undefined, undefined, '', NO_MORE)

export function placed (path: string, source: ValueSource): Provenance {
  return new Provenance(source, undefined, path, NO_MORE)
}

export function originated (origins: readonly Origin[]): Provenance {
  return new Provenance(undefined, undefined, '', { origins, members: undefined })
}

/** The fallback of a call of `default`. */
export const FALLBACK = originated([{ kind: 'default' }])

export function made (from: readonly Provenance[]): Provenance {
  const [only = NOWHERE] = from
  return originated(from.length < 2 ? originsOf(only) : distinct(from.flatMap(originsOf)))
}

export function withMember (holder: Provenance, name: string, member: Provenance): Provenance {
  const { origins, members } = holder.more
  return holder.with({ origins, members: new Map(members).set(name, member) })
}

export function originsOf (provenance: Provenance): readonly Origin[] {
  const { source, more: { origins, members } } = provenance
  const own = source === undefined ? origins : [source.originAt(provenance.path), ...origins]
  return members === undefined ? own : distinct([...own, ...[...members.values()].flatMap(originsOf)])
}

export function memberOf (holder: Provenance, name: string | number): Provenance {
  const { source, more } = holder
  if (more.members === undefined) return source === undefined ? holder : new Provenance(source, holder, name, more)
  const named = more.members.get(String(name))
  return named ?? new Provenance(source, holder, name, { origins: more.origins, members: undefined })
}

/** Of what lies below the value. */
export function below (holder: Provenance, names: readonly string[]): Provenance {
  if (names.length === 0) return holder
  if (holder.more.members !== undefined) return below(memberOf(holder, names[0] as string), names.slice(1))
  return holder.source === undefined ? holder : new Provenance(holder.source, holder, names, holder.more)
}

export function foundThrough (way: Provenance, found: Provenance): Provenance {
  const { source, more: { origins } } = way
  const met = source === undefined ? origins : [source.originAt(way.path), ...origins]
  return met.length === 0 ? found : found.with({ ...found.more, origins: distinct([...met, ...found.more.origins]) })
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

export type Origin =
  | { readonly kind: 'literal' }
  /** `path` is from the scope root: `variables.user.name`. */
  | { readonly kind: 'variable', readonly path: string }
  /** The key of a branch (variables whose names begin alike) ends in `.*`; it has no revision when only names were read. */
  | { readonly kind: 'environ', readonly path: string, readonly key: string, readonly revision?: string }
  /** `call` is the index in the render's list of tool calls. */
  | { readonly kind: 'tool', readonly tool: string, readonly call: number }
  /** The parameter's default at `path`; without `path`, the fallback of a call of `default`. */
  | { readonly kind: 'default', readonly path?: string }

export interface OutputSpan extends Position {
  readonly text: string
  /** The partial that wrote the piece, in which `line` and `column` then are. */
  readonly partial?: string
  /** At least one and at most 100, each once. */
  readonly sources: readonly Origin[]
}

export interface TracedAnswer {
  /** Only for `ok` and `failed` was a call tried; `recorded` comes from a recorded render, `stubbed` is the tool's default or `NOTHING`. */
  readonly outcome: 'ok' | 'cached' | 'failed' | 'recorded' | 'stubbed'
  readonly durationMs: number
  readonly error?: string | undefined
}

export interface TracedCall extends TracedAnswer {
  readonly tool: string
  /** Left out when they are long. */
  readonly arguments?: JsonObject
}
