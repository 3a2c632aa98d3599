import { setTimeout as delay } from 'node:timers/promises'

type Truthy<T> = Exclude<T, false | null | undefined>

/**
 * Waits until `condition` gives something true, and gives it. Looks every 5 ms.
 * @param what named in the error, when it does not come true in time
 * @param timeout in ms; a bound against hanging, not a measurement
 * @throws Error after `timeout`, with what the condition threw last as its cause
 */
export async function waitFor<T> (what: string, condition: () => T | Promise<T>, timeout = 10_000): Promise<Truthy<T>> {
  const end = Date.now() + timeout
  let cause: unknown
  while (Date.now() < end) {
    try {
      const value = await condition()
      if (value) return value as Truthy<T>
      cause = undefined
    } catch (error) {
      cause = error
    }
    await delay(5)
  }
  throw new Error(`Waited ${timeout} ms in vain for: ${what}`, { cause })
}
