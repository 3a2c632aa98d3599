import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * Reads one of the JSON Schemas in `jsonschema/`, against which publishers can validate their entries, too.
 * @param name the name of the schema's file, without the ending
 */
export function readPublishedSchema<T> (name: string): T {
  return JSON.parse(textOf(name)) as T
}

/**
 * The SHA-256 of a schema's file, in hexadecimal. Data that was made under the schema is kept with this hash, which later shows whether the
 * schema has changed.
 */
export function hashOfPublishedSchema (name: string): string {
  return createHash('sha256').update(textOf(name)).digest('hex')
}

function textOf (name: string): string {
  // This file lies one folder below the root, in src and in the built code alike: scripts/build.js keeps that depth.
  return readFileSync(new URL(`../../jsonschema/${name}.json`, import.meta.url), 'utf8')
}
