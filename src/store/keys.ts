/** Which keys of a store are read: `shenma:templates:…` */
export interface StoreKeys {
  /** What every key begins with: `shenma:`. */
  readonly prefix: string
  readonly kinds: readonly KeyKind[]
}

/** One kind of keys. */
export interface KeyKind {
  /** What comes after the prefix, and what its folder is called: `templates`. */
  readonly key: string
  /** In a folder: the name of a file that is, as it is, the value of the folder that it is in, `SKILL.md`. */
  readonly file?: string
  /** In a folder: whether `.prompt` files of Dotprompt are values of the kind, too. */
  readonly hasDotprompt?: boolean
  /** Left out of the listing of everything: such keys are read by name, and listed when their own prefix is asked for. */
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
