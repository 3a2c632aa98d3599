import { readFileSync, statSync } from 'node:fs'
import { type Json } from '../../base/json.ts'
import { readPublishedSchema } from '../../base/published-schema.ts'
import { parseCheckedYaml } from '../../tool/schema/checked-yaml.ts'
import { type ReplyRule } from './reply-script.ts'

/** The greatest size of a script's file, in bytes. */
const MAX_BYTES = 1024 * 1024

/** The error that a script cannot be used. Its message names the place and what was expected. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError'
}

/**
 * Reads the rules of the builtin model `builtin:script` from a YAML or JSON file of at most 1 MiB and 1000 rules.
 * @throws ScriptError, or what the file system throws
 */
export function readScript (path: string): ReplyRule[] {
  const { size } = statSync(path)
  if (size > MAX_BYTES) throw new ScriptError(`${path}: expected at most ${MAX_BYTES} bytes, got ${size}`)
  try {
    return parseScript(readFileSync(path, 'utf8'))
  } catch (error) {
    throw error instanceof ScriptError ? new ScriptError(`${path}: ${error.message}`) : error
  }
}

/** Parses the rules of the builtin model `builtin:script`. @throws ScriptError that names lines */
export function parseScript (text: string): ReplyRule[] {
  try {
    return parseCheckedYaml(text, readPublishedSchema<Json>('replies'), 'rules').value as unknown as ReplyRule[]
  } catch (error) {
    throw new ScriptError((error as Error).message)
  }
}
