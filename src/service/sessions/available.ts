import { sessionsUnavailable } from '../../base/errors.ts'
import { SessionStoreError } from '../../session/session-store.ts'

/** Reads the first one now, so that whoever cannot read is told before an answer has begun. */
export async function begun<T> (read: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await read.next()
  return (async function * () {
    if (first.done !== true) yield first.value
    yield * read
  })()
}

/** What is read later fails in words, too. */
export async function * available<T> (read: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield * read
  } catch (error) {
    throw inWords(error)
  }
}

/** A store that cannot be reached, as callers are told of it; any other error as it is. */
export function inWords (error: unknown): unknown {
  return error instanceof SessionStoreError ? sessionsUnavailable(error.message) : error
}
