import { setMaxListeners } from 'node:events'
import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { Deadline, type DeadlineReasons } from '../../runtime/deadline.ts'
import { ToolError } from './tool-error.ts'

const REASONS: DeadlineReasons = {
  expired: milliseconds => new ToolError('TIMEOUT', `took longer than ${milliseconds} ms`, { transient: true }),
  left: reasonOf
}

/**
 * Runs work with a signal that is aborted, with a `ToolError`, when the time is over or the caller gives up. The work has to settle soon
 * after that: see `untilAborted`.
 * @param milliseconds the time limit; `undefined` for as long as the caller waits
 * @throws ToolError `TIMEOUT` or `ABORTED`, or the work's own error
 */
export async function withDeadline<T> (caller: AbortSignal, milliseconds: number | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (caller.aborted) throw reasonOf(caller)
  const deadline = new Deadline(milliseconds ?? Infinity, performance.now(), caller, REASONS)
  const signal = deadline.toAbortSignal()
  // All calls of a render listen to the same signal, and there can be a hundred calls, so Node's limit of listeners is turned off.
  setMaxListeners(0, caller, signal)
  try {
    return await work(signal)
  } finally {
    deadline.end()
  }
}

/** The error for a call whose signal was aborted: `TIMEOUT` when the caller's time was over, `ABORTED` when nobody waits for the call any more. */
export function reasonOf ({ reason }: CallerSignal): ToolError {
  const isTimeout = reason instanceof Error && (reason.name === 'TimeoutError' || (reason as { code?: unknown }).code === 'RENDER_TIMEOUT')
  return isTimeout
    ? new ToolError('TIMEOUT', 'had not answered when its caller ran out of time', { transient: true, cause: reason })
    : new ToolError('ABORTED', 'was given up by its caller', { cause: reason })
}
