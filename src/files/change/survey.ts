import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { FileRefusal } from '../file-refusal.ts'
import { normalisePath } from '../path-rules.ts'
import { type Now, type WorkspaceFiles } from '../workspace-files.ts'
import { type Action } from './action.ts'
import { MAX_DELETED_BYTES, MAX_DELETED_FILES, type PlacedAction, type Wanted } from './manifest.ts'
import { foldersOf } from './step.ts'

/** The SHA-256 that files had when a model read them, by path. A file that has changed since is not overwritten. */
export type Bases = Readonly<Record<string, string>>

/**
 * Reads the present state of all paths that the actions of a change concern.
 * @throws FileRefusal for a path that is not allowed, and for what could not be restored later: links, pipes, large files
 */
export async function survey (files: WorkspaceFiles, actions: readonly Action[], bases: Bases | undefined): Promise<Wanted> {
  const now = new Map<string, Now>()
  async function look (path: string): Promise<Now> {
    const known = now.get(path) ?? await files.now(path)
    now.set(path, known)
    return known
  }
  const placed: PlacedAction[] = []
  for (const action of actions) {
    const path = await files.resolve(action.path)
    const base = bases && baseOf(bases, action.path, path)
    placed.push({ ...action, path, base })
    // Nothing exists below a folder that is missing, or below a file.
    const isReached = await everyOf(foldersOf(path), async folder => (await look(folder)).mark === 'folder')
    if (!isReached) continue
    const { mark } = await look(path)
    if (action.kind === 'DELETE_DIR' && mark === 'folder') await lookBelow(files, path, look)
  }
  return { actions: placed, now, foldsCase: await foldsCase((await files.roots()).root), needsBases: bases !== undefined, whitelist: files.whitelist }
}

async function lookBelow (files: WorkspaceFiles, folder: string, look: (path: string) => Promise<Now>): Promise<void> {
  let count = 0
  let bytes = 0
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const name of await files.list(next)) {
      const path = `${next}/${name}`
      if (name.includes('\ufffd')) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} has a name that is not UTF-8`)
      if (await files.isHidden(path)) throw new FileRefusal('PROTECTED_PATH', `${JSON.stringify(path)} is protected: it is neither read, written nor deleted`)
      const { mark, size } = await look(path)
      bytes += size
      if (++count > MAX_DELETED_FILES || bytes > MAX_DELETED_BYTES) {
        throw new FileRefusal(
          'ERR_CONTENT_TOO_LARGE',
          `${JSON.stringify(folder)} holds more than ${MAX_DELETED_FILES} files, or ${MAX_DELETED_BYTES} bytes, the most that is deleted at a time`
        )
      }
      if (mark === 'folder') folders.push(path)
    }
  }
}

/** The SHA-256 that a file had when it was read. @param named the path as the model wrote it @param path the same path with all links resolved */
export function baseOf (bases: Bases, named: string, path: string): string | undefined {
  const normal = normalisePath(named)
  const name = [named, 'path' in normal ? normal.path : named, path].find(each => Object.hasOwn(bases, each))
  return name === undefined ? undefined : bases[name]
}

/** Whether the file system takes `A` and `a` for the same name. To find out, the folder is looked up by its name in capital or small letters. */
async function foldsCase (root: string): Promise<boolean> {
  const name = basename(root)
  const other = name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase()
  if (other === name) return dirname(root) !== root && await foldsCase(dirname(root))
  const [mine, its] = await Promise.all([stat(root), stat(join(dirname(root), other)).catch(() => undefined)])
  return its !== undefined && its.ino === mine.ino && its.dev === mine.dev
}

async function everyOf<T> (items: readonly T[], test: (item: T) => Promise<boolean>): Promise<boolean> {
  for (const item of items) if (!await test(item)) return false
  return true
}
