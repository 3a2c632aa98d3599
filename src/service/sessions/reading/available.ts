import { sessionsUnavailable } from '../../../base/errors.ts'
import { SessionStoreError } from '../../../session/session-store.ts'

/** Reads the first item at once, so that an unreachable store is noticed before the answer has begun. */
export async function begun<T> (read: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await read.next()
  return (async function * () {
    if (first.done !== true) yield first.value
    yield * read
  })()
}

/** Passes items of the store on, and turns its errors, also those in the middle, into errors for callers. */
export async function * available<T> (read: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield * read
  } catch (error) {
    throw inWords(error)
  }
}

/** The error for callers when the store of sessions cannot be reached; any other error is returned unchanged. */
export function inWords (error: unknown): unknown {
  return error instanceof SessionStoreError ? sessionsUnavailable(error.message) : error
}
