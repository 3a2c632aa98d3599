import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Seeker } from '../../src/registry/store-reads.ts'
import { StoreError } from '../../src/store/store.ts'

/** A seeker of a store that waits with its answers. */
function createSeeker () {
  const asked: string[] = []
  const answers: Array<(isFound: boolean) => void> = []
  const loaded: string[] = []
  const has = async ([key = '']: readonly string[]): Promise<boolean[]> => {
    asked.push(key)
    return [await new Promise<boolean>(resolve => { answers.push(resolve) })]
  }
  const seeker = new Seeker({ has }, async key => { loaded.push(key) })
  return { seeker, asked, loaded, answer: (isFound: boolean) => { for (const each of answers.splice(0)) each(isFound) } }
}

describe('Seeker', () => {
  it('asks once for all who seek the same key at a time', async () => {
    const { seeker, asked, answer } = createSeeker()
    const found = [seeker.seek('a'), seeker.seek('a'), seeker.seek('b')]
    answer(true)
    assert.deepEqual([await Promise.all(found), asked], [[true, true, true], ['a', 'b']])
  })

  it('loads an entry that the store has, before it says so', async () => {
    const { seeker, loaded, answer } = createSeeker()
    const found = seeker.seek('a')
    answer(true)
    assert.deepEqual([await found, loaded], [true, ['a']])
  })

  it('finds nothing in an outage', async () => {
    const seeker = new Seeker({ has: () => Promise.reject(new StoreError('no answer')) }, async () => {})
    assert.equal(await seeker.seek('a'), false)
  })

  it('does not ask again at once for a key that was not there', async () => {
    const { seeker, asked, answer } = createSeeker()
    const first = seeker.seek('a')
    answer(false)
    assert.deepEqual([await first, await seeker.seek('a'), asked], [false, false, ['a']])
  })

  it('has no more than 64 questions under way', async () => {
    const { seeker, asked } = createSeeker()
    for (let index = 0; index < 64; index++) void seeker.seek(`key ${index}`)
    assert.equal(await seeker.seek('one more'), false)
    assert.equal(asked.length, 64)
  })
})
