import { type FastifyReply } from 'fastify'
import { clientClosed, type ServiceError } from '../base/errors.ts'
import { type CallerSignal } from '../runtime/caller-signal.ts'

/** A signal that aborts when the client leaves before its reply is complete. */
export function abortWhenGone (reply: FastifyReply): CallerSignal {
  const departure = new Departure()
  // One that left while its body waited for a turn has been told of already.
  if (reply.raw.destroyed) departure.abort()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) departure.abort()
  })
  return departure
}

class Departure implements CallerSignal {
  reason: ServiceError | undefined
  #listeners: Set<() => void> | undefined

  get aborted (): boolean {
    return this.reason !== undefined
  }

  throwIfAborted (): void {
    if (this.reason !== undefined) throw this.reason
  }

  addEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  removeEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners?.delete(listener)
  }

  abort (): void {
    this.reason = clientClosed()
    const listeners = this.#listeners ?? []
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }
}
