import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * Reads one of the JSON Schemas that publishers validate against.
 * @param name of its file in `jsonschema/`, without the ending
 */
export function readPublishedSchema<T> (name: string): T {
  return JSON.parse(textOf(name)) as T
}

/**
 * The SHA-256 of a schema's file, in hexadecimal. Whoever keeps data that was made under the schema can tell by it whether
 * the schema has changed.
 */
export function hashOfPublishedSchema (name: string): string {
  return createHash('sha256').update(textOf(name)).digest('hex')
}

function textOf (name: string): string {
  // This file lies one folder below the root, in src and in what is built of it: scripts/build.js keeps that depth.
  return readFileSync(new URL(`../../jsonschema/${name}.json`, import.meta.url), 'utf8')
}
