import { type Origin } from './origin.ts'

/** Where a value comes from. */
export interface Provenance {
  /** The place that the value was read from, as long as nothing was made of it: its members are below that place. */
  readonly place: Place | undefined
  /** Everything else that led to it. */
  readonly origins: readonly Origin[]
  /** Members that come from elsewhere: named arguments of a partial. */
  readonly members: ReadonlyMap<string, Provenance> | undefined
}

/** A path from the scope root, and what an origin there is. */
export interface Place {
  readonly path: string
  readonly originAt: (path: string) => Origin
  /** Whether the path has been cut short. */
  readonly isElided: boolean
}

/** How many origins are kept of one value. */
const MAX_ORIGINS = 100

/** Where a path is no longer made longer, in UTF-16 units: keys come from strangers. */
const MAX_PATH = 200

/** The provenance of what the template itself holds, and of the scope root. */
export const NOWHERE: Provenance = { place: undefined, origins: [], members: undefined }

/** The provenance of a value that is exactly what lies at a path. */
export function placed (path: string, originAt: Place['originAt']): Provenance {
  return { place: { path, originAt, isElided: false }, origins: [], members: undefined }
}

/** The provenance of a value that was made from others, or found by way of them. */
export function made (from: readonly Provenance[]): Provenance {
  const [only = NOWHERE] = from
  return { place: undefined, origins: from.length < 2 ? originsOf(only) : distinct(from.flatMap(originsOf)), members: undefined }
}

/** All origins of a value, each once. */
export function originsOf ({ place, origins, members }: Provenance): readonly Origin[] {
  const own = place === undefined ? origins : [place.originAt(place.path), ...origins]
  return members === undefined ? own : distinct([...own, ...[...members.values()].flatMap(originsOf)])
}

/** The provenance of a member of a value. */
export function memberOf (holder: Provenance, name: string): Provenance {
  const named = holder.members?.get(name)
  if (named !== undefined) return named
  const { place, origins } = holder
  if (place === undefined) return { place, origins, members: undefined }
  return { place: below(place, name), origins, members: undefined }
}

/** The place of a member. A path that has become too long ends in a sign of that. */
function below (place: Place, name: string): Place {
  const { path, originAt, isElided } = place
  if (isElided) return place
  if (path.length + name.length < MAX_PATH) return { path: `${path}.${name}`, originAt, isElided }
  return { path: `${path}.…`, originAt, isElided: true }
}

/** What was read on the way to a value counts among its origins. */
export function foundThrough (way: Provenance, found: Provenance): Provenance {
  const origins = originsOf({ ...way, members: undefined })
  return origins.length === 0 ? found : { ...found, origins: distinct([...origins, ...found.origins]) }
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
