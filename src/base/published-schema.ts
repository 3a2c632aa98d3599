import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * Reads one of the JSON Schemas that publishers validate against.
 * @param name of its file in `jsonschema/`, without the ending
 */
export function readPublishedSchema<T> (name: string): T {
  return JSON.parse(textOf(name)) as T
}

/** SHA-256 of the file of such a schema, in hexadecimal: whoever keeps what was made under it can tell whether it has changed. */
export function hashOfPublishedSchema (name: string): string {
  return createHash('sha256').update(textOf(name)).digest('hex')
}

function textOf (name: string): string {
  // One folder below the root in src, and in what is built of it: scripts/build.js keeps that depth.
  return readFileSync(new URL(`../../jsonschema/${name}.json`, import.meta.url), 'utf8')
}
