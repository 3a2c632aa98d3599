import { type FSWatcher, watch } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { isAbsent } from './directory-errors.ts'
import { identify } from './directory-identity.ts'

/** The listener that a watch of folders calls. */
export interface FolderWatchListener {
  /** Called with a path at which something has changed. */
  onPath (path: string): void
  /** Called when a folder or a symbolic link was added or removed, with everything in it. */
  onFolder (): void
  /** Called with a reason when changes cannot be seen, and with `undefined` when they can be seen again. */
  onProblem (reason: string | undefined): void
}

/** The watch on one folder, with the folder's identity: another folder that takes the same path has another identity. */
interface Watched { readonly watcher: FSWatcher, readonly identity: string }

/**
 * Watches a folder and all folders below it. Each folder is watched before it is listed, so that no change in between is missed, and a folder that
 * another one of the same name has replaced is watched anew. The package chokidar does neither. It also needs a watch for every single file, and a system
 * allows only few watches, although a watched folder reports changes of its files by itself.
 */
export class FolderWatch {
  readonly #listener: FolderWatchListener
  readonly #watched = new Map<string, Watched>()
  /** The folders that could not be watched, each with the reason. */
  readonly #failed = new Map<string, string>()
  #reported: string | undefined
  #closed = false

  constructor (listener: FolderWatchListener) {
    this.#listener = listener
  }

  /** Watches a folder and those below it. Resolves when every later change will be seen. Symbolic links are not followed. */
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
      // If another folder has taken this name since `identify` was called, the watch is perhaps on the old folder, so the watch begins again.
      if (await identify(folder) !== identity) return await this.add(folder)
      await Promise.all(entries.filter(entry => entry.isDirectory() && takesPart(entry.name)).map(entry => this.add(join(folder, entry.name))))
    } catch (error) {
      this.#fail(folder, error)
    }
    this.#report()
  }

  /** Tries again to watch the folders that could not be watched, up to the first one that still cannot. */
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

  /**
   * Notes that a name in a folder has changed. The system reports a change of the folder itself under the folder's own name, which a file in it can
   * have as well: so both are noted.
   */
  #note (folder: string, name: string): void {
    if (!takesPart(name)) return
    for (const path of name === basename(folder) ? [folder, join(folder, name)] : [join(folder, name)]) {
      this.#listener.onPath(path)
      void this.#follow(path)
    }
  }

  /** Begins to watch a folder that was added at a path, or ends the watch of one that was removed. */
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

/**
 * Whether a file or folder of that name is watched: hidden ones are not. `..data` counts as not hidden, because Kubernetes swaps it to publish a new
 * version of a mounted ConfigMap.
 */
function takesPart (name: string): boolean {
  return name !== 'node_modules' && !/^\.[^.]/.test(name)
}
