import type { Mark } from '../workspace-files.ts'

/** The kind of an action on a file or folder, as a model names it in a change. */
export type ActionKind = 'CREATE_FILE' | 'CREATE_DIR' | 'UPDATE_FILE' | 'DELETE_FILE' | 'DELETE_DIR'

/** The kinds of actions, in the order in which a change carries them out. */
export const ORDER: readonly ActionKind[] = ['CREATE_DIR', 'CREATE_FILE', 'UPDATE_FILE', 'DELETE_FILE', 'DELETE_DIR']

/** A step of a change: it brings one path from the state `before` into the state `after`. An undo carries out the reverse steps. */
export interface Step {
  readonly kind: ActionKind
  /** The path in the workspace, with all symbolic links resolved. */
  readonly path: string
  readonly before: Mark
  readonly after: Mark
  /** The permissions of the file or folder before the step; 0 when there was no file or folder. */
  readonly mode: number
  /** Whether a person or model asked for this path. False for folders on the way, and for the entries of a deleted folder. */
  readonly isAsked: boolean
}

const REVERSED: Record<ActionKind, ActionKind> = {
  CREATE_FILE: 'DELETE_FILE',
  DELETE_FILE: 'CREATE_FILE',
  UPDATE_FILE: 'UPDATE_FILE',
  CREATE_DIR: 'DELETE_DIR',
  DELETE_DIR: 'CREATE_DIR'
}

/** Makes the steps that undo `steps`, in the order in which they have to be carried out. */
export function reversed (steps: readonly Step[]): Step[] {
  return steps.map(step => ({ ...step, kind: REVERSED[step.kind], before: step.after, after: step.before })).reverse()
}

/** Whether a path is the given folder, or is below it. */
export function isAtOrBelow (path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** The folders on the way to a path, the outermost first. */
export function foldersOf (path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

/**
 * Finds two actions that exclude each other: both are for one path, one treats a file of the other as a folder, or one writes into a folder that the
 * other deletes.
 * @param nameOf the form in which paths are compared. @default without differences of Unicode form: some file systems take `é` in two forms for one name
 */
export function conflictAmong<A extends { readonly kind: string, readonly path: string }> (
  actions: readonly A[],
  nameOf = (path: string): string => path.normalize('NFC')
): readonly [A, A] | undefined {
  const known = new Map<string, A>()
  for (const action of actions) {
    const other = known.get(nameOf(action.path))
    if (other !== undefined) return [other, action]
    known.set(nameOf(action.path), action)
  }
  for (const [name, action] of known) {
    for (const folder of foldersOf(name)) {
      const above = known.get(folder)
      const excludes = above?.kind === 'DELETE_DIR' ? !action.kind.startsWith('DELETE') : above !== undefined && above.kind !== 'CREATE_DIR'
      if (above !== undefined && excludes) return [above, action]
    }
  }
  return undefined
}

/**
 * The limits of one change of files: the number of actions, and the sizes of each new content and of all together, in bytes
 * (docs/plans.md, How files are changed).
 */
export const MAX_ACTIONS = 200
export const MAX_CONTENT_BYTES = 1024 * 1024
export const MAX_TOTAL_BYTES = 5 * 1024 * 1024

/** A conflict: a path at which a change cannot be undone or redone, since somebody else has changed it meanwhile. */
export interface Conflict {
  readonly path: string
  /**
   * The reason. `changed`: the file or folder is not as the change has left it. `gone`: the file that the change has left is missing.
   * `there`: something exists where the change has left nothing. `filled`: a folder to remove contains something else.
   */
  readonly reason: 'changed' | 'gone' | 'there' | 'filled'
}

/**
 * Makes the conflict of a path.
 * @param left the state in which the change has left the path
 * @param now the present state; `undefined` for something that no change can have left, such as a link
 */
export function conflictOf (path: string, left: Mark, now: Mark | undefined): Conflict {
  return { path, reason: left === null ? 'there' : now === null ? 'gone' : 'changed' }
}
