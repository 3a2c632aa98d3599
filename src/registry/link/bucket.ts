import { createHash, randomInt } from 'node:crypto'
import { type LabelShare, WHOLE } from '../kinds/release/release-record.ts'

/** A hash has this many values. */
const RANGE = 2 ** 32

/**
 * The place of a key between 0 and 100: the same on every replica, and for one prompt independent of that for another.
 * @param key left out, a random place
 */
export function bucketOf (id: string, key: string | undefined): number {
  if (key === undefined) return randomInt(RANGE) / RANGE * WHOLE
  return createHash('sha256').update(`${id}\0${key}`).digest().readUInt32BE(0) / RANGE * WHOLE
}

/** Which of several a bucket falls to: they are laid out from 0, the newest first. */
export function shareAt<Share extends Pick<LabelShare, 'weight'>> (shares: readonly Share[], bucket: number): Share | undefined {
  let end = 0
  for (const share of shares) {
    end += share.weight
    if (bucket < end) return share
  }
  return shares.at(-1)
}
