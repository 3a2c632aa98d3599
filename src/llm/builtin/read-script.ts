import { readFileSync, statSync } from 'node:fs'
import { type Json } from '../../base/json.ts'
import { readPublishedSchema } from '../../base/published-schema.ts'
import { parseCheckedYaml } from '../../tool/schema/checked-yaml.ts'
import { type ReplyRule } from './reply-script.ts'

/** Larger files are refused, in bytes. */
const MAX_BYTES = 1024 * 1024

/** A script that cannot be used; the message says where, and what was expected. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError'
}

/**
 * Reads the rules of `builtin:script` from a file of YAML or JSON, at most 1 MiB and 1000 rules.
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

/** Reads the rules from a text. @throws ScriptError that names lines */
export function parseScript (text: string): ReplyRule[] {
  try {
    return parseCheckedYaml(text, readPublishedSchema<Json>('replies'), 'rules').value as unknown as ReplyRule[]
  } catch (error) {
    throw new ScriptError((error as Error).message)
  }
}
