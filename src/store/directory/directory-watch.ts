import { relative } from 'node:path'
import { identify } from './directory-identity.ts'
import { fileToKey } from './directory-paths.ts'
import { FolderWatch } from './folder-watch.ts'
import { createGatherer } from '../gather.ts'
import { type ChangeListener } from '../store.ts'
import { type StoreKeys } from '../keys.ts'

/** The time between two checks of the identity of the store's folder, in ms, since the system reports no event when another folder takes its name. */
const ROOT_CHECK_MS = 500

export interface DirectoryWatchOptions {
  readonly keys: StoreKeys
  /** Gives the true path of the store's folder at present. Throws while there is none. */
  readonly findRoot: () => Promise<string>
  /** Whether one changed file can mean several changed keys, because symbolic links lead to it. */
  readonly hasLinks: () => boolean
  /** Called with a reason when changes cannot be seen, and with `undefined` when they can be seen again. */
  readonly onProblem: (reason: string | undefined) => void
}

/**
 * Watches the store's folder for changes of files. The watch goes on when the folder is removed and made again, or replaced.
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

  /** Reports that the watch has a problem or, with `undefined`, that the problem is over. During a problem, files can change without being noticed. */
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
    // Files that changed before the watch began were not noticed, so any key can have changed.
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
