import { randomUUID } from 'node:crypto'
import { type FSWatcher, watch } from 'node:fs'
import { lstat, mkdir, readdir, realpath, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import pLimit from 'p-limit'
import { replaceFile, syncFolder } from '../base/durable-files.ts'
import { JsonError, parseJson } from '../base/json.ts'
import type { Log } from '../runtime/telemetry.ts'
import { jsonToYaml } from './decode-value.ts'
import { createGatherer } from './gather.ts'
import {
  type ChangeListener, type Expected, type RemoveOutcome, type Store, type StoredValue, StoreError, type StoreKeys, type StoreStatus, type WriteOutcome,
  type WriteRefusal
} from './store.ts'
import { fileToKey, isAbsent, isDotpromptFile, isInside, isPresent, isValueFile, isYamlFile, keyToFiles, writeProblem } from './directory-paths.ts'
import { createTrueFolders, listDirectory, MAX_DEPTH, readKey } from './directory-read.ts'

const OF_DOTPROMPT = 'is a file of Dotprompt, which is changed where it lies; aps import dotprompt makes YAML of it'

/** Readers see the old file or the new one, also after a power cut. Calls for one folder must not overlap. @throws StoreError */
function writeKey (root: string, key: string, keys: StoreKeys, text: string, expected: Expected | undefined): Promise<WriteOutcome> {
  return changing(root, key, keys, expected, async (files, known): Promise<WriteOutcome> => {
    const present = await firstPresent(files)
    if (present !== undefined && isDotpromptFile(present)) return { kind: 'kept', reason: `${basename(present)} ${OF_DOTPROMPT}` }
    const { path, content } = contentOf(files, present, text)
    const folder = await makeFolder(root, dirname(path))
    if (folder === undefined) return 'impossible'
    // Listings and watches ignore hidden files.
    await replaceFile(join(folder, basename(path)), join(folder, `.${randomUUID()}`), content)
    if (present !== undefined && present !== path) await unlink(present)
    return known.kind === 'missing' ? 'created' : 'replaced'
  })
}

/** YAML stays YAML unless it would be read back as another value; a text that is no JSON becomes a file such as `SKILL.md`. */
function contentOf (files: readonly string[], present: string | undefined, text: string): { path: string, content: string } {
  const own = files.find(file => !isValueFile(basename(file)) && !isDotpromptFile(file))
  if (own !== undefined && !isJson(text)) return { path: own, content: text }
  const yaml = present !== undefined && isYamlFile(present) ? jsonToYaml(text) : undefined
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

/** Removes every file of the key, or the next one would be read. @throws StoreError when the disk is in trouble */
function removeKey (root: string, key: string, keys: StoreKeys, expected: Expected | undefined): Promise<RemoveOutcome> {
  return changing(root, key, keys, expected, async (files, known) => {
    if (known.kind === 'missing') return 'missing'
    // The preferred file goes last: it is the one that is read until then.
    for (const file of files.toReversed()) await unlink(file).catch(ignoreAbsent)
    for (const folder of foldersOf(files)) await syncFolder(folder).catch(ignoreAbsent)
    return 'removed'
  })
}

async function changing<T> (
  root: string,
  key: string,
  keys: StoreKeys,
  expected: Expected | undefined,
  change: (files: readonly string[], known: StoredValue) => Promise<T>
): Promise<T | WriteRefusal> {
  const files = keyToFiles(key, keys).map(file => join(root, file))
  // A deeper folder would make every listing of the store fail.
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

function ignoreAbsent (error: unknown): undefined {
  if (!isAbsent(error)) throw error
}

async function firstPresent (files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    if (await lstat(file).catch(ignoreAbsent) !== undefined) return file
  }
  return undefined
}

/** One by one, so that no folder is made behind a link that leads outside; `undefined` when one does. */
async function makeFolder (root: string, folder: string): Promise<string | undefined> {
  const present = await truePathOf(folder)
  if (present !== undefined) return isInside(root, present) ? present : undefined
  const above = await makeFolder(root, dirname(folder))
  if (above === undefined) return undefined
  const made = join(above, basename(folder))
  // Fails if another program has just made it, or if the name is a dangling link.
  await mkdir(made).catch((error: unknown) => { if (!isPresent(error)) throw error })
  return await truePathOf(made) === made ? made : undefined
}

async function truePathOf (path: string): Promise<string | undefined> {
  return await realpath(path).catch(ignoreAbsent)
}

/** Watches folders before listing them, so that no change is missed, and anew when replaced. chokidar does neither, and watches each file. */
export class FolderWatch {
  readonly #onPath: (path: string) => void
  readonly #onFolder: () => void
  readonly #onProblem: (reason: string | undefined) => void
  readonly #watched = new Map<string, { readonly watcher: FSWatcher, readonly identity: string }>()
  readonly #failed = new Map<string, string>()
  #reported: string | undefined
  #closed = false

  /** @param onProblem gets `undefined` when changes can be seen again */
  constructor (onPath: (path: string) => void, onFolder: () => void, onProblem: (reason: string | undefined) => void) {
    this.#onPath = onPath
    this.#onFolder = onFolder
    this.#onProblem = onProblem
  }

  /** Resolves when every later change will be seen. Symbolic links are not followed. */
  async add (folder: string): Promise<void> {
    try {
      const identity = await identify(folder)
      if (this.#closed || this.#watched.get(folder)?.identity === identity) return
      this.#remove(folder)
      const watcher = watch(folder, (_event, name) => { if (name !== null) this.#note(folder, name) })
      watcher.on('error', error => {
        this.#fail(folder, error)
        this.#report()
      })
      this.#watched.set(folder, { watcher, identity })
      const entries = await readdir(folder, { withFileTypes: true })
      // The watch is perhaps on the old folder if another one has taken its name since `identify`.
      if (await identify(folder) !== identity) return await this.add(folder)
      await Promise.all(entries.filter(entry => entry.isDirectory() && takesPart(entry.name)).map(entry => this.add(join(folder, entry.name))))
    } catch (error) {
      this.#fail(folder, error)
    }
    this.#report()
  }

  async retry (): Promise<void> {
    for (const folder of [...this.#failed.keys()]) {
      await this.add(folder)
      if (this.#failed.has(folder)) return
      this.#onFolder()
    }
  }

  close (): void {
    this.#closed = true
    for (const { watcher } of this.#watched.values()) watcher.close()
    this.#watched.clear()
  }

  /** The system reports a change of the folder itself under its own name, which a file in it can have too: both are noted. */
  #note (folder: string, name: string): void {
    if (!takesPart(name)) return
    for (const path of name === basename(folder) ? [folder, join(folder, name)] : [join(folder, name)]) {
      this.#onPath(path)
      void this.#follow(path)
    }
  }

  async #follow (path: string): Promise<void> {
    const stats = await lstat(path).catch(() => undefined)
    const isFolder = stats?.isDirectory() === true
    const known = this.#watched.get(path)
    if (this.#closed || (!isFolder && known === undefined && stats?.isSymbolicLink() !== true)) return
    if (isFolder) await this.add(path)
    else this.#remove(path)
    if (!isFolder || this.#watched.get(path) !== known) this.#onFolder()
  }

  #remove (folder: string): void {
    this.#failed.delete(folder)
    for (const [path, { watcher }] of this.#watched) {
      if (path !== folder && !path.startsWith(folder + sep)) continue
      watcher.close()
      this.#watched.delete(path)
    }
  }

  #fail (folder: string, error: unknown): void {
    this.#remove(folder)
    if (!isAbsent(error)) this.#failed.set(folder, `changes of files are not seen at once: ${(error as Error).message}`)
  }

  #report (): void {
    const [reason] = this.#failed.values()
    if (this.#closed || reason === this.#reported) return
    this.#reported = reason
    this.#onProblem(reason)
  }
}

/** Hidden names are not, but `..data` is: Kubernetes swaps it to publish a new version of a ConfigMap. */
function takesPart (name: string): boolean {
  return name !== 'node_modules' && !/^\.[^.]/.test(name)
}

/** Files that are open at the same time. */
const OPEN_FILES = 32

/** Warnings that are remembered, so that each is logged only once. */
const MAX_WARNINGS = 1000

/** Keeps other processes of the service from writing into the folder meanwhile. Calls must not overlap. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

/** `.json` wins over `.yaml`, and `.yaml` over `.yml`, with a warning. @throws StoreError when there is no such folder */
export async function createDirectoryStore ({ directory, keys, log, inTurn = work => work() }: {
  /** One folder for each kind (`templates/`, …); a missing one counts as empty. */
  readonly directory: string
  readonly keys: StoreKeys
  readonly log?: Log
  /** Makes the processes of this service write into the folder one after the other. @default there is only one process */
  readonly inTurn?: InTurn
}): Promise<Store> {
  const path = resolve(directory)
  const limit = pLimit(OPEN_FILES)
  const oneWriteAtATime = pLimit(1)
  const warned = new Set<string>()
  const watches = new Set<() => Promise<void>>()
  let hasLinks = false
  let problem: string | undefined
  let watchProblem: string | undefined
  let closed = false

  function warn (message: string): void {
    if (warned.has(message)) return
    if (warned.size >= MAX_WARNINGS) warned.clear()
    warned.add(message)
    log?.warn({ directory: path }, message)
  }

  async function findRoot (): Promise<string> {
    if (closed) throw new StoreError('the store is closed')
    const root = await realpath(path)
    if (!(await stat(root)).isDirectory()) throw new StoreError(`the store's folder ${path} is not a folder`)
    return root
  }

  /** Fails when the folder was replaced meanwhile: one that vanishes half-way would look as if all its files were deleted. */
  async function ask<T> (question: (root: string) => Promise<T>): Promise<T> {
    try {
      const root = await findRoot()
      const before = await identify(root)
      const answer = await question(root)
      if (await identify(await findRoot()) !== before) throw new StoreError(`the store's folder ${path} was replaced meanwhile`)
      problem = undefined
      return answer
    } catch (error) {
      problem = explain(error, path)
      throw new StoreError(problem)
    }
  }

  async function * scan (prefix: string): AsyncGenerator<readonly string[]> {
    const listing = await ask(root => listDirectory(root, prefix, keys, warn))
    hasLinks ||= listing.hasLinks
    yield listing.keys
  }

  function read (wanted: readonly string[]): Promise<readonly StoredValue[]> {
    return ask(root => {
      const folders = createTrueFolders(root)
      return Promise.all(wanted.map(key => limit(() => readKey(folders, key, keys))))
    })
  }

  function status (): StoreStatus {
    const trouble = problem ?? watchProblem
    return {
      connected: problem === undefined,
      changes: watchProblem === undefined ? 'pushed' : 'polled',
      ...(trouble === undefined ? {} : { problem: trouble })
    }
  }

  function onProblem (reason: string | undefined): void {
    if (reason === undefined) log?.info({ directory: path }, 'changes of files are seen at once again')
    else log?.warn({ directory: path }, reason)
    watchProblem = reason
  }

  await ask(async () => {})
  return {
    variant: 'directory',
    scan,
    read,
    has: async keys => (await read(keys)).map(({ kind }) => kind !== 'missing'),
    write: (key, text, expected) => oneWriteAtATime(() => inTurn(() => ask(root => writeKey(root, key, keys, text, expected)))),
    remove: (key, expected) => oneWriteAtATime(() => inTurn(() => ask(root => removeKey(root, key, keys, expected)))),
    async watch (listener) {
      await scan(keys.prefix).next()
      const stop = await watchDirectory(keys, listener, findRoot, () => hasLinks, onProblem)
      watches.add(stop)
      return async () => {
        watches.delete(stop)
        await stop()
      }
    },
    status,
    async close () {
      closed = true
      problem = 'the store is closed'
      await Promise.all([...watches].map(stop => stop()))
      watches.clear()
    }
  }
}

function explain (error: unknown, path: string): string {
  if (error instanceof StoreError) return error.message
  if (isAbsent(error)) return `the store's folder ${path} does not exist`
  return `the store's folder ${path} cannot be read: ${(error as Error).message}`
}

/** In ms; the system reports no event when another folder takes the store's name. */
const ROOT_CHECK_MS = 500

/** Goes on when the folder is removed and made again, or replaced. */
async function watchDirectory (
  keys: StoreKeys,
  listener: ChangeListener,
  findRoot: () => Promise<string>,
  hasLinks: () => boolean,
  onProblem: (reason: string | undefined) => void
): Promise<() => Promise<void>> {
  const gatherer = createGatherer(listener)
  let watcher: FolderWatch | undefined
  let identity = ''
  let problem: string | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function start (): Promise<void> {
    const root = await findRoot()
    identity = await identify(root)
    reportProblem(undefined)
    watcher = new FolderWatch(path => note(root, path), () => gatherer.addUnknown(), reportProblem)
    await watcher.add(root)
  }

  /** During a problem, files can change unnoticed; `undefined`: it is over. */
  function reportProblem (reason: string | undefined): void {
    if (reason === problem) return
    problem = reason
    onProblem(reason)
    gatherer.addUnknown()
  }

  function note (root: string, path: string): void {
    if (hasLinks()) gatherer.addUnknown()
    const key = fileToKey(relative(root, path), keys)
    if (key !== undefined) gatherer.add(key)
  }

  async function checkRoot (): Promise<void> {
    const now = await findRoot().then(identify).catch(() => '')
    if (stopped) return
    if (now === identity) return await watcher?.retry()
    identity = ''
    gatherer.addAll()
    watcher?.close()
    if (now !== '') await start().catch(() => { identity = '' })
    if (stopped) watcher?.close()
    // Any key can have changed unnoticed before the watch began.
    else gatherer.addUnknown()
  }

  function schedule (): void {
    timer = setTimeout(() => { checkRoot().finally(() => { if (!stopped) schedule() }) }, ROOT_CHECK_MS).unref()
  }

  await start()
  schedule()
  return async () => {
    stopped = true
    clearTimeout(timer)
    gatherer.stop()
    watcher?.close()
  }
}

/** Includes the time of creation: file systems often give the inode of a removed folder to the next one. */
async function identify (folder: string): Promise<string> {
  const { dev, ino, birthtimeMs } = await stat(folder)
  return `${dev}:${ino}:${birthtimeMs}:${folder}`
}
