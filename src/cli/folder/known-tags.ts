import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import { usageError } from '../exit-codes.ts'
import { objectOf, textOf } from '../json-members.ts'

/**
 * The file in a folder that records, for each service, the entity tags that entries had when they were last equal in the folder and at the
 * service. Its name begins with a dot, so that no service takes it for an entry.
 */
const FILE = '.aps.json'

/**
 * The entity tags of entries, by the entries' names, at the time when each was last equal in a folder and at a service. If the folder or the
 * service has another tag now, the entry has been edited there since.
 */
export type KnownTags = ReadonlyMap<string, string>

/** Reads the recorded entity tags of a folder for one service. @param url address of the service: one folder can be pushed to several services */
export async function readKnownTags (root: string, url: string): Promise<KnownTags> {
  return new Map(Object.entries(objectOf((await readAll(root))[url])).map(([name, tag]) => [name, textOf(tag)]))
}

/** Records the entity tags of the entries that are equal in a folder and at a service. `.aps.json` is not written if it has the same tags already. */
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
