import { basename, join, relative, sep } from 'node:path'
import { watch, type FSWatcher } from 'chokidar'
import { identify } from './directory-identity.ts'
import { fileToKey } from './directory-paths.ts'
import { createGatherer } from './gather.ts'
import { type ChangeListener } from './store.ts'

/** How often the folder itself is looked at, in ms: nothing tells when it was replaced by another of the same name. */
const ROOT_CHECK_MS = 500

export interface DirectoryWatchOptions {
  readonly keyPrefix: string
  /** The true path of the store's folder now. Throws while there is none. */
  readonly findRoot: () => Promise<string>
  /** Whether a change of one file can be a change of several keys. */
  readonly hasLinks: () => boolean
  /** Told when changes cannot be seen. */
  readonly onProblem: (reason: string) => void
}

/**
 * Watches the store's folder, also after it was removed and made again, or replaced.
 * @returns a function that ends the watch
 */
export async function watchDirectory (options: DirectoryWatchOptions, listener: ChangeListener): Promise<() => Promise<void>> {
  const gatherer = createGatherer(listener)
  let watcher: FSWatcher | undefined
  let identity = ''
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function start (): Promise<void> {
    const root = await options.findRoot()
    identity = await identify(root)
    watcher = await watchRoot(root, path => note(root, path), () => gatherer.addUnknown(), options.onProblem)
  }

  function note (root: string, path: string): void {
    if (options.hasLinks()) gatherer.addUnknown()
    const key = fileToKey(relative(root, path), options.keyPrefix)
    if (key !== undefined) gatherer.add(key)
  }

  async function checkRoot (): Promise<void> {
    const now = await options.findRoot().then(identify).catch(() => '')
    if (stopped || now === identity) return
    identity = ''
    gatherer.addAll()
    await watcher?.close()
    if (now !== '') await start().catch(() => { identity = '' })
    if (stopped) await watcher?.close()
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
    await watcher?.close()
  }
}

/**
 * Watches all folders below `root` and resolves when every change from now on is seen. A folder tells of its files and links,
 * so that these need no watch each, of which a system has few. Links are not followed: one that leads to `/` would watch the
 * whole disk. `..data` is not ignored: Kubernetes swaps it to publish a new version of a mounted ConfigMap.
 */
async function watchRoot (root: string, onPath: (path: string) => void, onFolder: () => void, onProblem: (reason: string) => void): Promise<FSWatcher> {
  const watcher = watch(root, {
    ignoreInitial: true,
    followSymlinks: false,
    atomic: false,
    ignored: (path, stats) => stats?.isDirectory() === false || relative(root, path).split(sep).some(name => name === 'node_modules' || /^\.[^.]/.test(name))
  })
  const ready = new Promise<void>(resolve => watcher.once('ready', resolve))
  // A folder comes and goes with all that is in it; and files can be put into a new one before chokidar watches it.
  watcher.on('addDir', onFolder).on('unlinkDir', onFolder)
  // What a folder tells, unlike chokidar's own events, is not throttled: of two changes of a file within 50 ms, none is lost.
  watcher.on('raw', (_event, name: string | null, details) => {
    const { watchedPath } = details as { watchedPath?: string }
    if (watchedPath === undefined || name === null) return
    onPath(basename(watchedPath) === name ? watchedPath : join(watchedPath, name))
  })
  watcher.on('error', error => onProblem(`changes of files are not seen at once: ${(error as Error).message}`))
  await ready
  return watcher
}
