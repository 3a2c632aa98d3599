import { type Started } from '../../session/engine.ts'
import { clip } from './clip.ts'

/** The task of a child session is cut at this length, in code points. */
export const MAX_TASK = 20_000

/** The task of a child session, which another session has started; `undefined` for a session that a user talks to. */
export function taskOf ({ parent, input }: Pick<Started<object>, 'parent' | 'input'>): string | undefined {
  if (parent === undefined) return undefined
  const { task } = input
  return clip(typeof task === 'string' ? task.trim() : '', MAX_TASK)
}
