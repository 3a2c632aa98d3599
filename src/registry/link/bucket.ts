import { createHash, randomInt } from 'node:crypto'
import { type LabelShare, WHOLE } from '../kinds/release/release-record.ts'

/** The number of values that the hash can have. */
const RANGE = 2 ** 32

/**
 * The bucket of a caller, by which one of a label's versions is chosen: a number from 0 to below 100, equal on every replica. A key's buckets for two
 * prompts are independent of each other.
 * @param id the prompt's id
 * @param key the key that the caller sends; without one the bucket is random
 */
export function bucketOf (id: string, key: string | undefined): number {
  if (key === undefined) return randomInt(RANGE) / RANGE * WHOLE
  return createHash('sha256').update(`${id}\0${key}`).digest().readUInt32BE(0) / RANGE * WHOLE
}

/**
 * Chooses one of a label's versions for a caller; `undefined` when there are no versions. Each version has a part of the range from 0 to 100, as large as
 * its weight, the newest version first. The caller's bucket (a number from 0 to below 100) lies in the part of the chosen version.
 */
export function shareAt<Share extends Pick<LabelShare, 'weight'>> (shares: readonly Share[], bucket: number): Share | undefined {
  let end = 0
  for (const share of shares) {
    end += share.weight
    if (bucket < end) return share
  }
  return shares.at(-1)
}
