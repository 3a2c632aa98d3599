import { type Started } from '../../session/engine.ts'
import { clip } from './clip.ts'

/** What a child is asked for is cut at this length, in code points. */
export const MAX_TASK = 20_000

/** What a session is asked for that another one has started; `undefined` for one that a user talks to. */
export function taskOf ({ parent, input }: Pick<Started<object>, 'parent' | 'input'>): string | undefined {
  if (parent === undefined) return undefined
  const { task } = input
  return clip(typeof task === 'string' ? task.trim() : '', MAX_TASK)
}
