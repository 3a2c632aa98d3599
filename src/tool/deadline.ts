import { setMaxListeners } from 'node:events'
import { ToolError } from './tool-error.ts'

/**
 * Runs work that has to end: when the time is over, or when the caller gives up. The promise is settled then, whatever
 * the work does; its timer and its listener are gone with it. The signal that the work gets is aborted with a `ToolError`.
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
    return await Promise.race([rejectOnAbort(controller.signal), work(controller.signal)])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
  }
}

function rejectOnAbort (signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => {
    const error = signal.reason as Error
    reject(error)
  }, { once: true }))
}

/** A render that ran out of time speaks against the tool; one that nobody waits for any more does not. */
function reasonOf (signal: AbortSignal): ToolError {
  const reason: unknown = signal.reason
  const isTimeout = reason instanceof Error && (reason.name === 'TimeoutError' || (reason as { code?: unknown }).code === 'RENDER_TIMEOUT')
  return isTimeout
    ? new ToolError('TIMEOUT', 'had not answered when the render ran out of time', { transient: true, cause: reason })
    : new ToolError('ABORTED', 'was given up by its caller', { cause: reason })
}
