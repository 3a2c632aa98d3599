import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseCheckedYaml } from '../schema/checked-yaml.ts'
import { type ReplyRule } from './builtin-model.ts'

/** In bytes. */
const MAX_BYTES = 1024 * 1024

/** Reads a YAML or JSON file, or all of a folder by name: at most 1 MiB and 1000 rules each. @throws Error with the path */
export function readScript (path: string): ReplyRule[] {
  if (!statSync(path).isDirectory()) return readRules(path)
  const entries = readdirSync(path, { withFileTypes: true }).filter(({ name }) => /^[^.].*\.(?:ya?ml|json)$/.test(name))
  // A folder of somebody else's is read only as far as it reaches.
  const link = entries.find(entry => !entry.isFile())
  if (link !== undefined) throw new Error(`${join(path, link.name)}: expected a file, got a link or a folder`)
  if (entries.length === 0) throw new Error(`${path}: expected files of replies (.yaml, .yml or .json), got none`)
  return entries.map(({ name }) => join(path, name)).toSorted().flatMap(readRules)
}

function readRules (path: string): ReplyRule[] {
  const { size } = statSync(path)
  if (size > MAX_BYTES) throw new Error(`${path}: expected at most ${MAX_BYTES} bytes, got ${size}`)
  const text = readFileSync(path, 'utf8')
  try {
    return parseScript(text)
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`)
  }
}

/** @throws Error that names lines */
export function parseScript (text: string): ReplyRule[] {
  return parseCheckedYaml(text, 'replies', 'rules').value as unknown as ReplyRule[]
}
