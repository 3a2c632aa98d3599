import { setMaxListeners } from 'node:events'
import { ToolError } from './tool-error.ts'

/**
 * Runs work under a signal that is aborted, with a `ToolError`, when the time is over or when the caller gives up.
 * The timer and the listener are gone when the work has settled, which it has to do soon after: see `untilAborted`.
 *
 * @param milliseconds `undefined`: as long as the caller waits
 * @throws ToolError `TIMEOUT` or `ABORTED`, or the work's own error
 */
export async function withDeadline<T> (signal: AbortSignal, milliseconds: number | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (signal.aborted) throw reasonOf(signal)
  const controller = new AbortController()
  const giveUp = () => controller.abort(reasonOf(signal))
  // Every call of a render listens to the render's one signal, and there may be a hundred of them.
  setMaxListeners(0, signal, controller.signal)
  signal.addEventListener('abort', giveUp, { once: true })
  const timer = milliseconds === undefined
    ? undefined
    : setTimeout(() => controller.abort(new ToolError('TIMEOUT', `took longer than ${milliseconds} ms`, { transient: true })), milliseconds)
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
  }
}

/** The same promise, but rejected at once with the signal's reason when that is aborted, whatever the work does. */
export async function untilAborted<T> (signal: AbortSignal, work: Promise<T>): Promise<T> {
  let abort = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => {
      const error = signal.reason as Error
      reject(error)
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([aborted, work])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Why the signal of a call was aborted: its caller ran out of time, or nobody waits for it any more. */
export function reasonOf (signal: AbortSignal): ToolError {
  const reason: unknown = signal.reason
  const isTimeout = reason instanceof Error && (reason.name === 'TimeoutError' || (reason as { code?: unknown }).code === 'RENDER_TIMEOUT')
  return isTimeout
    ? new ToolError('TIMEOUT', 'had not answered when its caller ran out of time', { transient: true, cause: reason })
    : new ToolError('ABORTED', 'was given up by its caller', { cause: reason })
}
