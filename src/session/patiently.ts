import pRetry from 'p-retry'
import { SessionStoreError } from './session-store.ts'

/**
 * Runs `work`, and runs it again while it fails because the session store cannot be reached.
 * @param signal ends the retries when it aborts
 * @throws any other error of `work`
 */
export async function patiently<T> (signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const shouldRetry = ({ error }: { readonly error: Error }): boolean => error instanceof SessionStoreError && !signal.aborted
  return await pRetry(work, { retries: Infinity, minTimeout: 100, maxTimeout: 2000, shouldRetry })
}
