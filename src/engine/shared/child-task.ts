import { type Started } from '../../session/engine.ts'
import { clip } from './clip.ts'

/** The largest length of a child session's task, in code points; a longer one is cut. */
export const MAX_TASK = 20_000

/** The task of a child session, as its parent session wrote it; `undefined` for a session without a parent, which a user talks to. */
export function taskOf ({ parent, input }: Pick<Started<object>, 'parent' | 'input'>): string | undefined {
  if (parent === undefined) return undefined
  const { task } = input
  return clip(typeof task === 'string' ? task.trim() : '', MAX_TASK)
}
