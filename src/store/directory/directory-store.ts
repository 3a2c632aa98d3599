import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import pLimit from 'p-limit'
import { isAbsent } from './directory-errors.ts'
import { identify } from './directory-identity.ts'
import { listDirectory } from './directory-list.ts'
import { createTrueFolders, readKey } from './directory-read.ts'
import { watchDirectory } from './directory-watch.ts'
import { removeKey, writeKey } from './directory-write.ts'
import { type StoreKeys } from '../keys.ts'
import { type Log } from '../../base/log.ts'
import { StoreError, type Store, type StoredValue, type StoreStatus } from '../store.ts'

/** The most files that the store opens at the same time. */
const OPEN_FILES = 32

/** The most different warnings that the store remembers, so that each is logged only once. */
const MAX_WARNINGS = 1000

/** Runs a piece of work at a time when no other process of the service writes into the folder. Calls must not overlap. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

export interface DirectoryStoreOptions {
  /** The folder of the store. It has one folder for each kind (`templates/`, …); a missing one counts as empty. */
  readonly directory: string
  readonly keys: StoreKeys
  readonly log?: Log
  /** Makes the processes of this service write into the folder one after the other. @default there is only one process */
  readonly inTurn?: InTurn | undefined
}

/**
 * Creates a store over a folder of `.json`, `.yaml` and `.yml` files; the path of a file gives its key. YAML is turned into JSON text, JSON is given
 * unchanged. Where two files stand for one key, `.json` wins over `.yaml`, and `.yaml` over `.yml`, with a warning.
 * @throws StoreError when there is no such folder
 */
export async function createDirectoryStore ({ directory, keys, log, inTurn = work => work() }: DirectoryStoreOptions): Promise<Store> {
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

  /** Finds the true path of the store's folder. The configured folder can be a symbolic link, which a deployment swaps for another one. */
  async function findRoot (): Promise<string> {
    if (closed) throw new StoreError('the store is closed')
    const root = await realpath(path)
    if (!(await stat(root)).isDirectory()) throw new StoreError(`the store's folder ${path} is not a folder`)
    return root
  }

  /**
   * Calls a function that reads or writes in the store's folder, and fails when the folder was replaced during the call. Otherwise a folder that
   * vanishes half-way would look like one whose files were all deleted.
   */
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
    write: (key, text, expected) => oneWriteAtATime(() => inTurn(() => ask(root => writeKey({ root, key, keys }, text, expected)))),
    remove: (key, expected) => oneWriteAtATime(() => inTurn(() => ask(root => removeKey({ root, key, keys }, expected)))),
    async watch (listener) {
      // Lists everything once, because the watch must know whether there are symbolic links.
      await scan(keys.prefix).next()
      const stop = await watchDirectory({ keys, findRoot, onProblem, hasLinks: () => hasLinks }, listener)
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
