import { type Mark } from '../workspace-files.ts'

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
