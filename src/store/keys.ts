/** The keys of a store that are read: `shenma:templates:…`. */
export interface StoreKeys {
  /** The beginning of every key: `shenma:`. */
  readonly prefix: string
  readonly kinds: readonly KeyKind[]
}

/** One kind of keys. */
export interface KeyKind {
  /** The name of the kind, in its keys after the prefix and as its folder: `templates`. */
  readonly key: string
  /** The name of the file in a folder whose text, unchanged, is the value of that folder's key: `SKILL.md`. */
  readonly file?: string
  /** Whether Dotprompt's `.prompt` files in a folder are values of this kind, too. */
  readonly hasDotprompt?: boolean
  /** Whether the listing of everything leaves these keys out: they are read by name, and listed when their own prefix is asked for. */
  readonly onDemand?: boolean
}

/** The prefix of a kind's keys: `shenma:templates:`. The colon keeps `shenma:toolsX` out. */
export function kindPrefix (keyPrefix: string, kind: string): string {
  return `${keyPrefix}${kind}:`
}

/** An id as a dotted path: `team:greet`, as keys have it, is the same as `team.greet`. */
export function toPath (id: string): string {
  return id.replaceAll(':', '.')
}

/** A key without its prefix, as a dotted path: `evaluator.evaluate_quality`. */
export function keyToPath (key: string, prefix: string): string {
  return toPath(key.slice(prefix.length))
}

/** The key of a dotted path: the way back from `keyToPath`, where no segment holds a dot. */
export function pathToKey (path: string, prefix: string): string {
  return prefix + path.replaceAll('.', ':')
}

/** The function that a tool key names in templates: `codebase_lookup_ref`; what no identifier may hold becomes `_`. */
export function keyToFunction (key: string, prefix: string): string {
  return key.slice(prefix.length).replace(/[^\p{L}\p{Nd}_]/gu, '_')
}
