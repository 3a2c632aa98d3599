import { createHook } from 'node:async_hooks'
import { collectGarbage } from './garbage.ts'
import { waitFor } from './wait-for.ts'

/**
 * Begins to watch promises.
 * @returns waits until at most so many of those made meanwhile are left that are neither settled nor garbage
 */
export function watchPromises (): (most: number) => Promise<void> {
  const pending = new Set<number>()
  const forget = (id: number) => { pending.delete(id) }
  const hook = createHook({
    init (id, type) { if (type === 'PROMISE') pending.add(id) },
    promiseResolve: forget,
    destroy: forget
  }).enable()
  return async most => {
    try {
      // What a collection frees is told in later turns, and may free more.
      await waitFor(`at most ${most} promises to be pending`, () => {
        collectGarbage()
        return pending.size <= most
      })
    } finally {
      hook.disable()
    }
  }
}
