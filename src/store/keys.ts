/** The keys that the service reads in a store: `shenma:templates:…`. */
export interface StoreKeys {
  /** The beginning of every key: `shenma:`. */
  readonly prefix: string
  readonly kinds: readonly KeyKind[]
}

/** One kind of keys, such as those of prompts. */
export interface KeyKind {
  /** The name of the kind, such as `templates`. Keys have it after the prefix. A store over a folder has a folder of this name. */
  readonly key: string
  /** The name of the kind's own file, such as `SKILL.md`. The key is that of the folder around the file; the value is the file's text, unchanged. */
  readonly file?: string
  /** Whether Dotprompt's `.prompt` files in a folder store are values of this kind, too. */
  readonly hasDotprompt?: boolean
  /** Whether a listing of the whole store leaves out the keys of this kind. They are read by name, or listed with a prefix that names the kind. */
  readonly onDemand?: boolean
}

/** The prefix of all keys of a kind: `shenma:templates:`. It ends with a colon, so that `shenma:toolsX` does not begin with it. */
export function kindPrefix (keyPrefix: string, kind: string): string {
  return `${keyPrefix}${kind}:`
}

/** An id in its dotted form. Publishers can also write an id as keys have it: `team:greet` is the same as `team.greet`. */
export function toPath (id: string): string {
  return id.replaceAll(':', '.')
}

/** The dotted id in a key: `evaluator.evaluate_quality` for `shenma:templates:evaluator:evaluate_quality`. */
export function keyToPath (key: string, prefix: string): string {
  return toPath(key.slice(prefix.length))
}

/** The key of a dotted id, the inverse of `keyToPath`, as long as no segment of the key has a dot. */
export function pathToKey (path: string, prefix: string): string {
  return prefix + path.replaceAll('.', ':')
}

/** The name that templates use for the tool with a key: `codebase_lookup_ref`. A character that no identifier can have becomes `_`. */
export function keyToFunction (key: string, prefix: string): string {
  return key.slice(prefix.length).replace(/[^\p{L}\p{Nd}_]/gu, '_')
}
