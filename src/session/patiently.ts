import pRetry from 'p-retry'
import { SessionStoreError } from './session-store.ts'

/** Does something as soon as the store can be reached. @param signal aborts when nobody wants it any more @throws what `work` throws but for that */
export async function patiently<T> (signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const shouldRetry = ({ error }: { readonly error: Error }): boolean => error instanceof SessionStoreError && !signal.aborted
  return await pRetry(work, { retries: Infinity, minTimeout: 100, maxTimeout: 2000, shouldRetry })
}
