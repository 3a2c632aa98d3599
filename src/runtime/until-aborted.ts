import { type CallerSignal } from './caller-signal.ts'

/** Gives a promise that settles as `work` does, but rejects with the signal's reason as soon as the signal aborts, even if the work goes on. */
export function untilAborted<T> (signal: CallerSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      const reason = signal.reason as Error
      reject(reason)
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    const settle = <A>(end: (outcome: A) => void) => (outcome: A) => {
      signal.removeEventListener('abort', abort)
      end(outcome)
    }
    work.then(settle(resolve), settle(reject))
  })
}
