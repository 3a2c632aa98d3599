import { type FSWatcher, watch } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { isAbsent } from './directory-errors.ts'
import { identify } from './directory-identity.ts'

/** Receives what a watch sees. */
export interface FolderWatchListener {
  /** Told of a path that changed. */
  onPath (path: string): void
  /** Told that a folder or a link has come or gone, with all that is in it. */
  onFolder (): void
  /** Told when changes cannot be seen, and of `undefined` when they can again. */
  onProblem (reason: string | undefined): void
}

/** A watch, and which folder it is on: another one of the same path has another identity. */
interface Watched { readonly watcher: FSWatcher, readonly identity: string }

/**
 * Watches all folders below one. A folder is watched before it is listed, so that no change in between is missed. A folder
 * that another one of its name has replaced is watched anew. The package chokidar does neither, and it watches every file, of
 * which a system allows only few. A folder tells of its files by itself.
 */
export class FolderWatch {
  readonly #listener: FolderWatchListener
  readonly #watched = new Map<string, Watched>()
  /** Folders that could not be watched, and why. */
  readonly #failed = new Map<string, string>()
  #reported: string | undefined
  #closed = false

  constructor (listener: FolderWatchListener) {
    this.#listener = listener
  }

  /** Watches a folder and those below it. Resolves when every change from now on will be seen. Links are not followed. */
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
      // It may have been replaced before the watch began.
      if (await identify(folder) !== identity) return await this.add(folder)
      await Promise.all(entries.filter(entry => entry.isDirectory() && takesPart(entry.name)).map(entry => this.add(join(folder, entry.name))))
    } catch (error) {
      this.#fail(folder, error)
    }
    this.#report()
  }

  /** Tries those folders again that could not be watched, up to the first that still cannot. */
  async retry (): Promise<void> {
    for (const folder of [...this.#failed.keys()]) {
      await this.add(folder)
      if (this.#failed.has(folder)) return
      this.#listener.onFolder()
    }
  }

  close (): void {
    this.#closed = true
    for (const { watcher } of this.#watched.values()) watcher.close()
    this.#watched.clear()
  }

  /** Notes a changed name in a folder. A change of the folder itself is told under the folder's own name, which something inside it may have as well. */
  #note (folder: string, name: string): void {
    if (!takesPart(name)) return
    for (const path of name === basename(folder) ? [folder, join(folder, name)] : [join(folder, name)]) {
      this.#listener.onPath(path)
      void this.#follow(path)
    }
  }

  /** Begins to watch what has come to a path, and ends the watch on what has gone from there. */
  async #follow (path: string): Promise<void> {
    const stats = await lstat(path).catch(() => undefined)
    const isFolder = stats?.isDirectory() === true
    const known = this.#watched.get(path)
    if (this.#closed || (!isFolder && known === undefined && stats?.isSymbolicLink() !== true)) return
    if (isFolder) await this.add(path)
    else this.#remove(path)
    if (!isFolder || this.#watched.get(path) !== known) this.#listener.onFolder()
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
    this.#listener.onProblem(reason)
  }
}

/** Whether a name is not hidden. `..data` counts as not hidden: Kubernetes swaps it to publish a new version of a mounted ConfigMap. */
function takesPart (name: string): boolean {
  return name !== 'node_modules' && !/^\.[^.]/.test(name)
}
