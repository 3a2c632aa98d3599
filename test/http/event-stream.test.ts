import assert from 'node:assert/strict'
import { type PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { sessionsUnavailable } from '../../src/base/errors.ts'
import { eventStream, holdUnread } from '../../src/http/send-reply.ts'
import { type LogEntry } from '../../src/session/model.ts'
import { type FeedItem } from '../../src/session/follow.ts'
import { waitFor } from '../helpers/wait-for.ts'

const KIB = 1024

/** So many events of a length; counts how many were asked for. */
function eventsOf (count: number, length: number): { readonly followed: AsyncGenerator<FeedItem>, asked (): number } {
  let asked = 0
  async function * follow (): AsyncGenerator<FeedItem> {
    for (let seq = 1; seq <= count; seq++) {
      asked = seq
      yield { transition: { seq, at: 0, token: '', by: '', fact: { kind: 'took', repeats: [] }, begun: [], held: [], denied: [], notices: [{ type: 'stdout', data: { text: 'x'.repeat(length) } }] } satisfies LogEntry }
    }
  }
  return { followed: follow(), asked: () => asked }
}

async function textOf (stream: PassThrough): Promise<string> {
  const parts: string[] = []
  for await (const part of stream) parts.push(String(part))
  return parts.join('')
}

describe('A stream of events', () => {
  it('waits for a slow reader, and holds a part of a long log only', async () => {
    const { followed, asked } = eventsOf(1000, 10 * KIB)
    const stream = eventStream(followed)
    await waitFor('the first events', () => stream.writableNeedDrain)
    assert.ok(asked() < 30, `${asked()}`)
    assert.equal((await textOf(stream)).match(/^id: /gm)?.length, 1000)
  })

  it('sends one event that is larger than what may wait', async () => {
    const text = await textOf(eventStream(eventsOf(2, 3000 * KIB).followed))
    assert.equal(text.match(/^id: /gm)?.length, 2)
  })

  it('is cut off when too much waits for other readers', async () => {
    const held: Array<() => void> = []
    for (let release = holdUnread(1024 * KIB); release !== undefined; release = holdUnread(1024 * KIB)) held.push(release)
    for (let release = holdUnread(0); release !== undefined; release = holdUnread(0)) held.push(release)
    try {
      const stream = eventStream(eventsOf(100, 10 * KIB).followed)
      await waitFor('the cut', () => stream.destroyed)
      assert.ok(held.length >= 60 && held.length < 80)
    } finally {
      for (const release of held) release()
    }
    const again = holdUnread(60 * 1024 * KIB)
    assert.notEqual(again, undefined)
    again?.()
    again?.()
  })

  it('ends in words when the store is gone', async () => {
    async function * broken (): AsyncGenerator<FeedItem> {
      yield * eventsOf(1, 3).followed
      throw sessionsUnavailable('Redis at here has closed the connection')
    }
    assert.match(await textOf(eventStream(broken())), /^id: 1\.0\nevent: stdout\n.*\n\nevent: error\ndata: \{"code":"SESSIONS_UNAVAILABLE","message":"Sessions cannot be kept now: Redis at here has closed the connection","at":"[^"]+"\}\n\n$/)
  })
})
