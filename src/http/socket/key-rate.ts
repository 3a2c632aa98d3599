import { setTimeout as sleep } from 'node:timers/promises'

/** Keys of one client, in bytes a second; so many at once. */
export const KEYS_A_SECOND = 64 * 1024

/** Makes keys wait that come too fast. */
export class KeyRate {
  #left = KEYS_A_SECOND
  #since = performance.now()

  /** Resolves when so many bytes may be typed. */
  async take (bytes: number): Promise<void> {
    const now = performance.now()
    this.#left = Math.min(KEYS_A_SECOND, this.#left + (now - this.#since) / 1000 * KEYS_A_SECOND) - bytes
    this.#since = now
    if (this.#left < 0) await sleep(-this.#left / KEYS_A_SECOND * 1000)
  }
}
