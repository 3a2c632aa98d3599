import { createHash } from 'node:crypto'

/** The mask for sums modulo 2^256. */
const MASK = (1n << 256n) - 1n

/**
 * A hash of a set that changes member by member. It is the sum of the members' hashes: neither order nor history counts, and a change costs the same
 * however large the set is (https://people.csail.mit.edu/devadas/pubs/mhashes.pdf).
 */
export class SetHash {
  readonly #hashes = new Map<string, bigint>()
  #sum = 0n

  /** Sets the content of the member with a key; `undefined` removes the member. */
  set (key: string, content: string | undefined): void {
    const before = this.#hashes.get(key) ?? 0n
    const after = content === undefined ? 0n : hashOf(key, content)
    if (content === undefined) this.#hashes.delete(key)
    else this.#hashes.set(key, after)
    this.#sum = (this.#sum - before + after) & MASK
  }

  /** The hash: 12 characters that need no escaping, equal for equal sets. */
  digest (): string {
    return createHash('sha256').update(this.#sum.toString(16)).digest('base64url').slice(0, 12)
  }
}

function hashOf (key: string, content: string): bigint {
  return BigInt(`0x${createHash('sha256').update(JSON.stringify([key, content])).digest('hex')}`)
}
