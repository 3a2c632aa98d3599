import { readFileSync } from 'node:fs'

/**
 * Reads one of the JSON Schemas that publishers validate against.
 * @param name of its file in `jsonschema/`, without the ending
 */
export function readPublishedSchema<T> (name: string): T {
  // One folder below the root in src, and in what is built of it: scripts/build.js keeps that depth.
  return JSON.parse(readFileSync(new URL(`../../jsonschema/${name}.json`, import.meta.url), 'utf8')) as T
}
