import { sessionsUnavailable } from '../../../base/errors.ts'
import { EngineUnknown } from '../../../session/fold.ts'
import { SessionStoreError } from '../../../session/session-store.ts'

/** Reads the first item of a list at once, so that an unreachable store is noticed before the reply has begun. @returns all items */
export async function begun<T> (read: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await read.next()
  return (async function * () {
    if (first.done !== true) yield first.value
    yield * read
  })()
}

/** Passes on the items that are read from the store of sessions. If the store fails, even between two items, it throws SESSIONS_UNAVAILABLE. */
export async function * available<T> (read: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield * read
  } catch (error) {
    throw inWords(error)
  }
}

/** The error for callers when the store of sessions cannot be reached, or the engine of one is not here; any other error is returned unchanged. */
export function inWords (error: unknown): unknown {
  if (error instanceof EngineUnknown) return sessionsUnavailable(`${error.message}; a process of the version that has it goes on with the session`)
  return error instanceof SessionStoreError ? sessionsUnavailable(error.message) : error
}
