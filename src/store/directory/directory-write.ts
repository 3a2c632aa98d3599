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

/** A key to write, with the folder of the store. */
export interface DirectoryKey {
  /** The store's folder, as a path without symbolic links. */
  readonly root: string
  readonly key: string
  readonly keys: StoreKeys
}

const OF_DOTPROMPT = 'is a file of Dotprompt, which is changed where it lies; aps import dotprompt makes YAML of it'

/**
 * Writes a text as the file of a key. The file that the key has already is replaced; YAML stays YAML where that is possible. A new file is JSON. A text
 * that is no JSON becomes a file such as `SKILL.md`, if the key's kind has one. A reader sees the old file or the new one, also after a power cut. Calls for
 * one folder must not overlap. What another program writes between the check and the change is lost, as always when two programs write one file.
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

/**
 * Gives the path and content of the file for a text. A text that is no JSON goes into the own file of the key's kind, such as `SKILL.md`, if the kind
 * has one. A YAML file stays YAML, unless the YAML would not be read back as the same value.
 */
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

/**
 * Removes every file of a key (it can have a `.json` and a `.yaml` file, of which one is read). If that one alone were removed, the other would be read.
 * @throws StoreError when the disk is in trouble
 */
export function removeKey (place: DirectoryKey, expected: Expected | undefined): Promise<RemoveOutcome> {
  return changing(place, expected, async (files, known) => {
    if (known.kind === 'missing') return 'missing'
    // The preferred file is removed last, because it is the one that is read until then.
    for (const file of files.toReversed()) await removeFile(file)
    for (const folder of foldersOf(files)) await syncFolder(folder)
    return 'removed'
  })
}

/** Calls a function that changes the files of a key, if the key's value is the expected one. Returns a refusal of the file system instead of throwing it. */
async function changing<T> (
  { root, key, keys }: DirectoryKey,
  expected: Expected | undefined,
  change: (files: readonly string[], known: StoredValue) => Promise<T>
): Promise<T | WriteRefusal> {
  const files = keyToFiles(key, keys).map(file => join(root, file))
  // A folder that nests deeper than `MAX_DEPTH` would make every listing of the store fail.
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

/** Whether a folder of a key's files lies outside of the store, because of symbolic links. */
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
 * Makes a folder and the folders above it, one by one, so that no folder is made behind a symbolic link that leads outside of the store.
 * @returns the folder's true path; `undefined` when that is outside
 */
async function makeFolder (root: string, folder: string): Promise<string | undefined> {
  const present = await truePathOf(folder)
  if (present !== undefined) return isInside(root, present) ? present : undefined
  const above = await makeFolder(root, dirname(folder))
  if (above === undefined) return undefined
  const made = join(above, basename(folder))
  // `mkdir` fails if another program has just made the folder, or if the name is a symbolic link that leads nowhere.
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

/** Replaces a file in one step: the content is written to a hidden file beside it, which listings and watches ignore, and which is then renamed. */
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

/**
 * Flushes a folder to the disk, since a new file name is safe from a power cut only when its folder is on the disk. Windows can neither do this nor
 * needs it.
 */
async function syncFolder (folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  try {
    await handle?.sync()
  } catch {
    // Some network file systems cannot flush a folder to the disk.
  } finally {
    await handle?.close()
  }
}
