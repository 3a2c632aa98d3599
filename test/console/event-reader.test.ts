import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createParser } from 'eventsource-parser'
import { eventReader, type StreamEvent } from '../../console/api/event-reader.ts'

const STREAM = ': hello\n\nid: 1.0\nevent: state\ndata: {"a": 1}\n\ndata:two\ndata:  lines\r\n\r\nevent: nothing\n\n:\ndata\n\nretry: 5\nid:7\ndata: ä: b\n\ndata: never ended\n'

describe('The reader of event streams', () => {
  it('reads what eventsource-parser reads, wherever the pieces are cut', () => {
    for (let size = 1; size <= STREAM.length; size++) {
      const [mine, theirs]: [unknown[], unknown[]] = [[], []]
      const read = eventReader((event: StreamEvent) => mine.push(event), comment => mine.push(comment))
      const parser = createParser({ onEvent: ({ id, event, data }) => theirs.push({ ...(id === undefined ? {} : { id }), ...(event === undefined ? {} : { event }), data }), onComment: comment => theirs.push(comment) })
      for (let at = 0; at < STREAM.length; at += size) {
        read(STREAM.slice(at, at + size))
        parser.feed(STREAM.slice(at, at + size))
      }
      assert.deepEqual(mine, theirs)
    }
  })
})
