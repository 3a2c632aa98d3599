import { sessionsUnavailable } from '../../../base/errors.ts'
import { SessionStoreError } from '../../../session/session-store.ts'

/** Reads the first item now. A store that cannot be read is found before the answer has begun. */
export async function begun<T> (read: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await read.next()
  return (async function * () {
    if (first.done !== true) yield first.value
    yield * read
  })()
}

/** Reads on, and turns an error of the store into one that callers understand, also in the middle. */
export async function * available<T> (read: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield * read
  } catch (error) {
    throw inWords(error)
  }
}

/** The error that callers are told when the store cannot be reached. Any other error is given back as it is. */
export function inWords (error: unknown): unknown {
  return error instanceof SessionStoreError ? sessionsUnavailable(error.message) : error
}
