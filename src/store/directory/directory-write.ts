import { randomUUID } from 'node:crypto'
import { lstat, mkdir, open, realpath, rename, rm, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { JsonError, parseJson } from '../../base/json.ts'
import { isAbsent, isPresent, writeProblem } from './directory-errors.ts'
import { MAX_DEPTH } from './directory-list.ts'
import { isDotpromptFile, isInside, isValueFile, isYamlFile, keyToFiles } from './directory-paths.ts'
import { createTrueFolders, readKey } from './directory-read.ts'
import { type StoreKeys } from '../keys.ts'
import { StoreError, type Expected, type RemoveOutcome, type StoredValue, type WriteOutcome, type WriteRefusal } from '../store.ts'

/** The key to write, and the folder of the store. */
export interface DirectoryKey {
  /** The store's folder, without links. */
  readonly root: string
  readonly key: string
  readonly keys: StoreKeys
}

const OF_DOTPROMPT = 'is a file of Dotprompt, which is changed where it lies; aps import dotprompt makes YAML of it'

/**
 * Stores a text as the file of a key. The file that stands for the key now is replaced in its own format. A new file is JSON,
 * or, for a text that is no JSON, the file that its kind has for such texts. A reader sees the old file or the new one, also
 * after a power cut. Calls for one folder must not overlap. What another program writes between the look and the change is
 * lost, as always when two programs write one file.
 * @throws StoreError when the disk is in trouble
 */
export function writeKey (place: DirectoryKey, text: string, expected: Expected | undefined): Promise<WriteOutcome> {
  return changing(place, expected, async (files, known): Promise<WriteOutcome> => {
    const present = await firstPresent(files)
    if (present !== undefined && isDotpromptFile(present)) return { kind: 'kept', reason: `${basename(present)} ${OF_DOTPROMPT}` }
    const { path, content } = await contentOf(files, present, text)
    const folder = await makeFolder(place.root, dirname(path))
    if (folder === undefined) return 'impossible'
    await replaceFile(folder, basename(path), content)
    if (present !== undefined && present !== path) await unlink(present)
    return known.kind === 'missing' ? 'created' : 'replaced'
  })
}

/** The file and content for a text. A text that is no JSON goes into the file that the kind has for such texts, if it has one; a YAML file stays YAML. */
async function contentOf (files: readonly string[], present: string | undefined, text: string): Promise<{ path: string, content: string }> {
  const own = files.find(file => !isValueFile(basename(file)) && !isDotpromptFile(file))
  if (own !== undefined && !isJson(text)) return { path: own, content: text }
  const yaml = present !== undefined && isYamlFile(present) ? await toYaml(text) : undefined
  return yaml === undefined ? { path: files[0] as string, content: text } : { path: present as string, content: yaml }
}

function isJson (text: string): boolean {
  try {
    parseJson(text)
    return true
  } catch (error) {
    if (error instanceof JsonError) return false
    throw error
  }
}

/** Removes every file of a key, so that none comes to light behind another. @throws StoreError when the disk is in trouble */
export function removeKey (place: DirectoryKey, expected: Expected | undefined): Promise<RemoveOutcome> {
  return changing(place, expected, async (files, known) => {
    if (known.kind === 'missing') return 'missing'
    // The files are removed from the least preferred to the preferred one, which is read until it goes.
    for (const file of files.toReversed()) await removeFile(file)
    for (const folder of foldersOf(files)) await syncFolder(folder)
    return 'removed'
  })
}

/** Looks at the key's files, then changes them; returns a refusal of the file system as an outcome. */
async function changing<T> (
  { root, key, keys }: DirectoryKey,
  expected: Expected | undefined,
  change: (files: readonly string[], known: StoredValue) => Promise<T>
): Promise<T | WriteRefusal> {
  const files = keyToFiles(key, keys).map(file => join(root, file))
  // A deeper folder would make the listing of everything fail.
  if (files.length === 0 || key.slice(keys.prefix.length).split(':').length > MAX_DEPTH) return 'impossible'
  try {
    const known = await readKey(createTrueFolders(root), key, keys)
    if (!isAs(expected, known)) return 'conflict'
    if (await leadsOutside(root, files)) return 'impossible'
    return await change(files, known)
  } catch (error) {
    const refusal = writeProblem(error)
    if (refusal === undefined) throw new StoreError(`the file of ${key} cannot be written: ${(error as Error).message}`)
    return refusal
  }
}

function isAs (expected: Expected | undefined, known: StoredValue): boolean {
  if (expected === undefined) return true
  return expected.kind === 'missing' ? known.kind === 'missing' : known.kind === 'text' && known.text === expected.text
}

/** Whether a folder of a key's files exists and lies, through links, outside of the store. */
async function leadsOutside (root: string, files: readonly string[]): Promise<boolean> {
  for (const folder of foldersOf(files)) {
    const path = await truePathOf(folder)
    if (path !== undefined && !isInside(root, path)) return true
  }
  return false
}

function foldersOf (files: readonly string[]): ReadonlySet<string> {
  return new Set(files.map(file => dirname(file)))
}

/** Removes a file. A missing file, or a missing folder above it, is no error. */
async function removeFile (file: string): Promise<void> {
  await unlink(file).catch((error: unknown) => { if (!isAbsent(error)) throw error })
}

async function firstPresent (files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    try {
      await lstat(file)
      return file
    } catch (error) {
      if (!isAbsent(error)) throw error
    }
  }
  return undefined
}

/**
 * Makes a folder and the folders above it, one by one, so that nothing is made behind a link that leads outside.
 * @returns its true path; `undefined` when that is outside
 */
async function makeFolder (root: string, folder: string): Promise<string | undefined> {
  const present = await truePathOf(folder)
  if (present !== undefined) return isInside(root, present) ? present : undefined
  const above = await makeFolder(root, dirname(folder))
  if (above === undefined) return undefined
  const made = join(above, basename(folder))
  // The folder may have been made by another program meanwhile, or be a link that leads nowhere.
  await mkdir(made).catch((error: unknown) => { if (!isPresent(error)) throw error })
  return await truePathOf(made) === made ? made : undefined
}

async function truePathOf (path: string): Promise<string | undefined> {
  try {
    return await realpath(path)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

async function toYaml (json: string): Promise<string | undefined> {
  const { jsonToYaml } = await import('./json-to-yaml.ts')
  return jsonToYaml(json)
}

/** Writes a file beside the one that it replaces, hidden from listings and watches, and puts it in its place. */
async function replaceFile (folder: string, name: string, content: string): Promise<void> {
  const temporary = join(folder, `.${randomUUID()}`)
  try {
    const file = await open(temporary, 'wx')
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, join(folder, name))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(folder)
}

/** Writes a folder to the disk, since a new file name is on the disk only when its folder is. Windows cannot do this and does not need it. */
async function syncFolder (folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  try {
    await handle?.sync()
  } catch {
    // Some network file systems cannot write a folder to the disk.
  } finally {
    await handle?.close()
  }
}
