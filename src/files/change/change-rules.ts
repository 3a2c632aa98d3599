import type { ContentHash } from '../workspace-files.ts'

export type ActionKind = 'CREATE_FILE' | 'CREATE_DIR' | 'UPDATE_FILE' | 'DELETE_FILE' | 'DELETE_DIR'

/** In the order in which a change carries them out. */
export const ORDER: readonly ActionKind[] = ['CREATE_DIR', 'CREATE_FILE', 'UPDATE_FILE', 'DELETE_FILE', 'DELETE_DIR']

/** An undo carries out the reverse steps. */
export interface ChangeStep {
  readonly kind: ActionKind
  /** With all symbolic links resolved. */
  readonly path: string
  readonly before: ContentHash
  readonly after: ContentHash
  /** 0 when nothing was there. */
  readonly mode: number
  /** False for folders on the way, and for the entries of a deleted folder. */
  readonly isAsked: boolean
}

const REVERSED: Record<ActionKind, ActionKind> = {
  CREATE_FILE: 'DELETE_FILE',
  DELETE_FILE: 'CREATE_FILE',
  UPDATE_FILE: 'UPDATE_FILE',
  CREATE_DIR: 'DELETE_DIR',
  DELETE_DIR: 'CREATE_DIR'
}

export function reversed (steps: readonly ChangeStep[]): ChangeStep[] {
  return steps.map(step => ({ ...step, kind: REVERSED[step.kind], before: step.after, after: step.before })).reverse()
}

export function isAtOrBelow (path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** The outermost first. */
export function foldersOf (path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** One path twice, a file as a folder, or a write into a deleted folder. Some file systems take `é` in two Unicode forms for one name. */
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

/** Sizes in bytes (docs/plans.md, How files are changed). */
export const MAX_ACTIONS = 200
export const MAX_CONTENT_BYTES = 1024 * 1024
export const MAX_TOTAL_BYTES = 5 * 1024 * 1024

export interface Conflict {
  readonly path: string
  /** `there`: something exists where the change has left nothing. `filled`: a folder to remove contains something else. */
  readonly reason: 'changed' | 'gone' | 'there' | 'filled'
}

/** `now` is `undefined` for what no change can have left, such as a link. */
export function conflictOf (path: string, left: ContentHash, now: ContentHash | undefined): Conflict {
  return { path, reason: left === null ? 'there' : now === null ? 'gone' : 'changed' }
}
