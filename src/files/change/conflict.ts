import { type Mark } from '../workspace-files.ts'

/** A path that a change cannot be taken back or done again at, since somebody else has been there. */
export interface Conflict {
  readonly path: string
  /**
   * `gone`: what the change has left is missing. `there`: something is where the change has left nothing. `filled`: a folder
   * holds something else.
   */
  readonly reason: 'changed' | 'gone' | 'there' | 'filled'
}

/**
 * @param left what the change has left there
 * @param now what is there; `undefined` for something that no change could have left
 */
export function conflictOf (path: string, left: Mark, now: Mark | undefined): Conflict {
  return { path, reason: left === null ? 'there' : now === null ? 'gone' : 'changed' }
}
