import { after } from 'node:test'

/** What closes things at an end: a test, or what several tests share. */
export interface AtEnd { after (close: () => unknown): void }

/**
 * What the tests of a file (or of the suite around this call) share: opened by the first that asks for it, and closed after the last, what was opened last
 * first.
 */
export function shared<T> (open: (t: AtEnd) => Promise<T>): () => Promise<T> {
  const closing: Array<() => unknown> = []
  let opened: Promise<T> | undefined
  after(async () => { for (const close of closing) await close() })
  return () => {
    opened ??= open({ after: close => { closing.unshift(close) } })
    return opened
  }
}
