/** Which keys of a store are read: `shenma:templates:…` */
export interface StoreKeys {
  /** What every key begins with: `shenma:`. */
  readonly prefix: string
  /** What comes next in a key, and what folders are called: `templates`. */
  readonly kinds: readonly string[]
}

/** The prefix of a kind's keys: `shenma:templates:`. The colon keeps `shenma:toolsX` out. */
export function kindPrefix (keyPrefix: string, kind: string): string {
  return `${keyPrefix}${kind}:`
}

/** A key without its prefix, as a dotted path: `evaluator.evaluate_quality`. */
export function keyToPath (key: string, prefix: string): string {
  return key.slice(prefix.length).replaceAll(':', '.')
}

/** The key of a dotted path: the way back from `keyToPath`, where no segment holds a dot. */
export function pathToKey (path: string, prefix: string): string {
  return prefix + path.replaceAll('.', ':')
}

/** The function that a tool key names in templates: `codebase_lookup_ref`; what no identifier may hold becomes `_`. */
export function keyToFunction (key: string, prefix: string): string {
  return key.slice(prefix.length).replace(/[^\p{L}\p{Nd}_]/gu, '_')
}
