import { setTimeout as delay } from 'node:timers/promises'

type Truthy<T> = Exclude<T, false | null | undefined>

/**
 * Waits until `condition` gives something true, and gives it. Looks every 5 ms. A condition that never settles, as a command
 * to a Redis that never answers, is given up, too.
 * @param what named in the error, when it does not come true in time
 * @param timeout in ms; a bound against hanging, not a measurement
 * @throws Error after `timeout`, with what the condition threw last as its cause
 */
export async function waitFor<T> (what: string, condition: () => T | Promise<T>, timeout = 30_000): Promise<Truthy<T>> {
  const end = Date.now() + timeout
  let cause: unknown
  while (Date.now() < end) {
    try {
      const value = await within(condition(), end)
      if (value) return value as Truthy<T>
      cause = undefined
    } catch (error) {
      cause = error
    }
    await delay(5)
  }
  throw new Error(`Waited ${timeout} ms in vain for: ${what}`, { cause })
}

/** What a promise gives, or nothing when it takes too long. */
async function within<T> (result: T | Promise<T>, end: number): Promise<T | undefined> {
  if (!(result instanceof Promise)) return result
  const settled = new AbortController()
  try {
    return await Promise.race([result, delay(end - Date.now(), undefined, { signal: settled.signal })])
  } finally {
    settled.abort()
  }
}
