import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bucketOf, shareAt, sharesOf } from '../../src/registry/kinds/release-record.ts'

const KEYS = Array.from({ length: 100_000 }, (_, index) => `user-${index}`)

function versionsAt (newest: number): number[] {
  const shares = sharesOf([{ version: 7, weight: 100 - newest }, { version: 9, weight: newest }])
  return KEYS.map(key => shareAt(shares, bucketOf('review.short', key))?.version ?? 0)
}

describe('A label with two versions', () => {
  it('gives 100,000 keys to them as its weights say, within half a point', () => {
    const share = versionsAt(5).filter(version => version === 9).length / KEYS.length * 100
    assert.ok(Math.abs(share - 5) <= 0.5, `${share} %`)
  })

  it('moves keys to the newer one only when that gets more', () => {
    const [before, after] = [versionsAt(5), versionsAt(20)]
    assert.equal(before.filter((version, index) => version === 9 && after[index] === 7).length, 0)
    assert.ok(before.some((version, index) => version === 7 && after[index] === 9))
  })

  it('gives a key the same place in every process', () => {
    // SHA-256 of the id, a zero byte and the key: computed by another program.
    assert.equal(bucketOf('review.short', 'ana').toFixed(6), '43.175579')
  })

  it('takes a place by chance without a key', () => {
    const shares = sharesOf([{ version: 7, weight: 50 }, { version: 9, weight: 50 }])
    const versions = new Set(Array.from({ length: 200 }, () => shareAt(shares, bucketOf('review.short', undefined))?.version))
    assert.deepEqual([...versions].sort(), [7, 9])
  })
})
