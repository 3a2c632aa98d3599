import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import { usageError } from '../exit-codes.ts'
import { objectOf, textOf } from '../json-members.ts'

/** The file of a folder that says what was the same here and there; hidden, so that no service reads it. */
const FILE = '.aps.json'

/**
 * What a folder and a service had in common when they were last compared: the tag of each entry. Whichever side differs from it
 * has been edited since.
 */
export type KnownTags = ReadonlyMap<string, string>

/** @param url of the service: a folder may go to several */
export async function readKnownTags (root: string, url: string): Promise<KnownTags> {
  return new Map(Object.entries(objectOf((await readAll(root))[url])).map(([name, tag]) => [name, textOf(tag)]))
}

/** Keeps what both have in common now; leaves the file alone where that is the same as before. */
export async function writeKnownTags (root: string, url: string, known: KnownTags): Promise<void> {
  const all = await readAll(root)
  const sorted = Object.fromEntries([...known].sort(([one], [other]) => one < other ? -1 : 1))
  if (stringifyJson(sorted) === stringifyJson(all[url] ?? {})) return
  const file = join(root, FILE)
  await writeFile(`${file}.${process.pid}`, `${stringifyJson({ ...all, [url]: sorted }, 2)}\n`)
  await rename(`${file}.${process.pid}`, file)
}

async function readAll (root: string): Promise<JsonObject> {
  const text = await readFile(join(root, FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  try {
    return objectOf(parseJson(text))
  } catch {
    throw usageError(`${join(root, FILE)} is no JSON: remove it, and what differs is taken for somebody's edit`)
  }
}
