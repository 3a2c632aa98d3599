import { setTimeout as sleep } from 'node:timers/promises'

/** The rate at which one client may type into a terminal, in bytes a second. After a pause the client may send the bytes of one second at once. */
export const KEYS_A_SECOND = 64 * 1024

/** Slows down a client that types into a terminal faster than the allowed rate. */
export class KeyRate {
  #left = KEYS_A_SECOND
  #since = performance.now()

  /** Waits until the client is allowed to type this number of bytes more. */
  async take (bytes: number): Promise<void> {
    const now = performance.now()
    this.#left = Math.min(KEYS_A_SECOND, this.#left + (now - this.#since) / 1000 * KEYS_A_SECOND) - bytes
    this.#since = now
    if (this.#left < 0) await sleep(-this.#left / KEYS_A_SECOND * 1000)
  }
}
