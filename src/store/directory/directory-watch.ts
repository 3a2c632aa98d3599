import { relative } from 'node:path'
import { identify } from './directory-identity.ts'
import { fileToKey } from './directory-paths.ts'
import { FolderWatch } from './folder-watch.ts'
import { createGatherer } from '../gather.ts'
import { type ChangeListener } from '../store.ts'
import { type StoreKeys } from '../keys.ts'

/** How often the folder itself is looked at, in ms. Nothing tells when another folder of the same name takes its place. */
const ROOT_CHECK_MS = 500

export interface DirectoryWatchOptions {
  readonly keys: StoreKeys
  /** The true path of the store's folder now. Throws while there is none. */
  readonly findRoot: () => Promise<string>
  /** Whether a change of one file can be a change of several keys. */
  readonly hasLinks: () => boolean
  /** Told when changes cannot be seen, and of `undefined` when they can again. */
  readonly onProblem: (reason: string | undefined) => void
}

/**
 * Watches the store's folder, also after it was removed and made again, or replaced.
 * @returns a function that ends the watch
 */
export async function watchDirectory (options: DirectoryWatchOptions, listener: ChangeListener): Promise<() => Promise<void>> {
  const gatherer = createGatherer(listener)
  let watcher: FolderWatch | undefined
  let identity = ''
  let problem: string | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function start (): Promise<void> {
    const root = await options.findRoot()
    identity = await identify(root)
    reportProblem(undefined)
    watcher = new FolderWatch({ onPath: path => note(root, path), onFolder: () => gatherer.addUnknown(), onProblem: reportProblem })
    await watcher.add(root)
  }

  /** Reports a problem of the watch. Anything may have changed while the watch was blind. */
  function reportProblem (reason: string | undefined): void {
    if (reason === problem) return
    problem = reason
    options.onProblem(reason)
    gatherer.addUnknown()
  }

  function note (root: string, path: string): void {
    if (options.hasLinks()) gatherer.addUnknown()
    const key = fileToKey(relative(root, path), options.keys)
    if (key !== undefined) gatherer.add(key)
  }

  async function checkRoot (): Promise<void> {
    const now = await options.findRoot().then(identify).catch(() => '')
    if (stopped) return
    if (now === identity) return await watcher?.retry()
    identity = ''
    gatherer.addAll()
    watcher?.close()
    if (now !== '') await start().catch(() => { identity = '' })
    if (stopped) watcher?.close()
    // What has changed before the watch began.
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
