import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson, isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../base/json.ts'
import { errorCode, makePrivateFolder, PRIVATE_FILE, replaceFile } from '../base/durable-files.ts'
import { utf8In } from '../base/text.ts'
import { FileRefusal, OpenFolder, sha256, type WorkspaceFiles } from './workspace-files.ts'
import { whileLocked } from './change/journal.ts'
import { fieldsIn, type MemoryLayer, type Memory, memoryIn, readPatch } from './memory-rules.ts'

/** In bytes. */
const MAX_BYTES = 12 * 1024

const PROJECT_FOLDER = '.papa-yu'
const PROJECT_FILE = 'project.json'
const USER_FILE = 'preferences.json'

export interface MemoryPlace {
  /** Without files there is no memory of a project. */
  readonly files: WorkspaceFiles | undefined
  readonly state: string
  /** The name of an access token; empty where the service uses none. */
  readonly owner: string
}

/** A file that cannot be used counts as empty, and is reported as a problem. */
export async function readMemory (place: MemoryPlace): Promise<Memory & { readonly problems?: readonly string[] }> {
  const problems: string[] = []
  const read = async (layer: MemoryLayer): Promise<JsonObject> => {
    try {
      return await inFolder(place, layer, false, async folder => {
        const { content } = await readMemoryFile(folder, layer)
        return layer === 'user' ? memoryIn(content['user'], {}).user : memoryIn({}, content['project']).project
      }) ?? {}
    } catch (error) {
      if (!(error instanceof FileRefusal)) throw error
      problems.push(error.message)
      return {}
    }
  }
  const [user, project] = await Promise.all([read('user'), read('project')])
  return { user, project, problems: problems.length > 0 ? problems : undefined }
}

/** A repeat changes nothing. The user's preferences have a lock of their own. @throws FileRefusal MEMORY_UNUSABLE, ERR_CONTENT_TOO_LARGE */
export async function remember (place: MemoryPlace, patch: JsonObject, journal: string, signal: AbortSignal): Promise<JsonObject> {
  const { patch: taken, refused } = readPatch(patch)
  const remembered: string[] = []
  for (const layer of ['user', 'project'] as const) {
    const set = fieldsIn(layer, taken)
    const names = Object.keys(set)
    if (names.length === 0) continue
    const lock = layer === 'user' ? userFolder(place) : journal
    await makePrivateFolder(lock)
    await whileLocked(lock, signal, assertHeld => inFolder(place, layer, true, folder => change(folder, layer, set, assertHeld)))
    remembered.push(...names.map(name => `${layer}.${name}`))
  }
  const { user, project } = await readMemory(place)
  return { remembered, dropped: refused.map(({ name }) => name), user, project }
}

async function change (folder: OpenFolder, layer: MemoryLayer, set: JsonObject, assertHeld: () => void): Promise<void> {
  const { hash, content } = await readMemoryFile(folder, layer)
  const before = content[layer] as JsonObject | undefined ?? {}
  const fields = Object.fromEntries(Object.entries({ ...before, ...set }).filter(([, value]) => value !== null))
  if (hash !== undefined && canonicalJson(fields) === canonicalJson(before)) return
  const text = `${stringifyJson({ ...content, schema_version: 1, [layer]: fields }, 2)}\n`
  if (Buffer.byteLength(text) > MAX_BYTES) throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `what is remembered of a ${layer} has at most ${MAX_BYTES} bytes`)
  // An edit of the file since it was read is not overwritten.
  if ((await readMemoryFile(folder, layer)).hash !== hash) throw new FileRefusal('ERR_BASE_CHANGED', `${fileOf(layer)} has changed meanwhile`)
  assertHeld()
  await replaceFile(folder.at(fileOf(layer)), folder.at(`.${fileOf(layer)}.tmp`), text, layer === 'user' ? { mode: PRIVATE_FILE } : undefined)
}

/** @throws FileRefusal MEMORY_UNUSABLE */
async function readMemoryFile (folder: OpenFolder, layer: MemoryLayer): Promise<{ readonly hash: string | undefined, readonly content: JsonObject }> {
  const file = await open(folder.at(fileOf(layer)), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw unusable(layer, (error as Error).message)
  })
  if (file === undefined) return { hash: undefined, content: {} }
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.nlink > 1) throw unusable(layer, 'it is no plain file')
    if (stats.size > MAX_BYTES) throw unusable(layer, `it has ${stats.size} bytes, and at most ${MAX_BYTES} are read`)
    const bytes = await file.readFile()
    const text = utf8In(bytes)
    if (text === undefined) throw unusable(layer, 'it is not UTF-8')
    return { hash: sha256(bytes), content: parseMemoryFile(text, layer) }
  } finally {
    await file.close()
  }
}

function parseMemoryFile (text: string, layer: MemoryLayer): JsonObject {
  let content: Json
  try {
    content = parseJson(text)
  } catch (error) {
    throw unusable(layer, (error as Error).message)
  }
  if (!isJsonObject(content) || content['schema_version'] !== 1 || !isJsonObject(content[layer])) {
    throw unusable(layer, `expected {"schema_version": 1, "${layer}": {...}}`)
  }
  return content
}

/** In bytes: no file system takes more than 255. A token's name has at most 192. */
const MAX_FOLDER = 200

function userFolder ({ state, owner }: MemoryPlace): string {
  const name = encodeURIComponent(owner).replaceAll('.', '%2E')
  return join(state, 'papa-yu', name === '' ? '_' : name.length > MAX_FOLDER ? sha256(owner) : name)
}

/** @returns undefined when the folder is missing, and `makes` is false */
async function inFolder<T> (place: MemoryPlace, layer: MemoryLayer, makes: boolean, use: (folder: OpenFolder) => Promise<T>): Promise<T | undefined> {
  const folder = layer === 'user' ? await OpenFolder.open(userFolder(place)).catch(whenAbsent) : await openProject(place.files, makes)
  if (folder === undefined) return undefined
  try {
    return await use(folder)
  } finally {
    await folder.close()
  }
}

async function openProject (files: WorkspaceFiles | undefined, makes: boolean): Promise<OpenFolder | undefined> {
  if (files === undefined) return undefined
  const root = await files.openRoot()
  try {
    if (makes) await mkdir(root.at(PROJECT_FOLDER)).catch((error: unknown) => { if (errorCode(error) !== 'EEXIST') throw error })
    return await root.child(PROJECT_FOLDER).catch(whenAbsent)
  } finally {
    await root.close()
  }
}

function whenAbsent (error: unknown): undefined {
  if (errorCode(error) === 'ENOENT') return undefined
  if (['ELOOP', 'ENOTDIR'].includes(errorCode(error))) throw new FileRefusal('MEMORY_UNUSABLE', 'the folder of what is remembered is no folder, or a link')
  throw error
}

function fileOf (layer: MemoryLayer): string {
  return layer === 'user' ? USER_FILE : PROJECT_FILE
}

function unusable (layer: MemoryLayer, reason: string): FileRefusal {
  return new FileRefusal('MEMORY_UNUSABLE', `${fileOf(layer)} cannot be used, and is left as it is: ${reason}`)
}
