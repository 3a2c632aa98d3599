import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type JsonObject } from '../../../src/base/json.ts'
import { applyChange } from '../../../src/files/change/apply.ts'
import { type ChangeOutcome } from '../../../src/files/change/journal.ts'
import { WorkspaceFiles } from '../../../src/files/workspace-files.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

/** A workspace with its journal, for one session. */
export interface TestWorkspace {
  readonly root: string
  readonly journal: string
  readonly files: WorkspaceFiles
  put (path: string, content: string | Uint8Array, mode?: number): Promise<void>
  get (path: string): Promise<string>
  /** All that is there: mode and bytes of each file and folder. */
  tree (): Promise<Tree>
  /** Reads the bases of the updates from what is there. */
  apply (actions: readonly TestAction[], bases?: Record<string, string>): Promise<ChangeOutcome>
  undo (paths?: readonly string[]): Promise<ChangeOutcome>
  redo (paths?: readonly string[]): Promise<ChangeOutcome>
  change (change: JsonObject, effect?: string): Promise<ChangeOutcome>
  remove (): Promise<void>
}

export interface TestAction {
  readonly kind: string
  readonly path: string
  readonly content?: string
  readonly edits?: ReadonlyArray<{ readonly search: string, readonly replace: string }>
}

/** `mode bytes` in hex or `folder`, by path. */
export type Tree = Record<string, string>

export async function createWorkspace (): Promise<TestWorkspace> {
  const folder = await createTemporaryFolder()
  const root = join(folder.path, 'shop')
  const journal = join(folder.path, 'journal', 'shop')
  await mkdir(root)
  const files = new WorkspaceFiles({ root, hidden: [journal] })
  let number = 0
  const workspace: TestWorkspace = {
    root,
    journal,
    files,
    async put (path, content, mode) {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), content)
      if (mode !== undefined) await chmod(join(root, path), mode)
    },
    get: path => readFile(join(root, path), 'utf8'),
    tree: () => treeOf(root),
    async apply (actions, bases) {
      const readNow = async () => Object.fromEntries(await Promise.all(actions.filter(({ kind }) => kind === 'UPDATE_FILE' || kind === 'EDIT_FILE').map(async ({ path }) => [path, await hashOf(join(root, path))] as const)))
      return await workspace.change({ do: { actions: actions as never, bases: bases ?? await readNow(), eol: 'keep' } })
    },
    undo: paths => workspace.change({ undo: paths === undefined ? {} : { paths: [...paths] } }),
    redo: paths => workspace.change({ redo: paths === undefined ? {} : { paths: [...paths] } }),
    change: (change, effect = `${++number}.0`) => applyChange({ files, journal, session: 'S', effect, change, signal: AbortSignal.timeout(60_000) }),
    remove: () => folder.remove()
  }
  return workspace
}

export async function treeOf (root: string, below = ''): Promise<Tree> {
  const tree: Tree = {}
  for (const name of (await readdir(join(root, below))).sort()) {
    const path = join(below, name)
    const stats = await lstat(join(root, path))
    const mode = (stats.mode & 0o7777).toString(8)
    tree[path] = stats.isDirectory() ? `${mode} folder` : stats.isFile() ? `${mode} ${stats.size} ${await hashOf(join(root, path))}` : `${mode} other`
    if (stats.isDirectory()) Object.assign(tree, await treeOf(root, path))
  }
  return tree
}

export async function hashOf (path: string): Promise<string> {
  return createHash('sha256').update(await readFile(path)).digest('hex')
}
