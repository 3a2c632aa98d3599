import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ReaderSeat } from '../../../src/exec/terminal/terminal-state.ts'

const MUCH = 600 * 1024

describe('The seat in front of a terminal', () => {
  it('makes the terminal wait for a reader who does not read, and goes on when he has', t => {
    const { seat, reader, did } = seated(t)
    reader.unread = MUCH
    seat.data('x')
    assert.deepEqual(did, ['data', 'pause'])
    t.mock.timers.tick(500)
    assert.deepEqual(did, ['data', 'pause'])
    reader.unread = 0
    t.mock.timers.tick(50)
    assert.deepEqual(did, ['data', 'pause', 'resume'])
  })

  it('cuts off such a reader while a command runs', t => {
    const { seat, reader, did, command } = seated(t)
    reader.unread = MUCH
    command.runs = true
    seat.data('x')
    assert.deepEqual([did, seat.isTaken], [['data', 'cut'], false])
  })

  it('cuts off a reader for whom the terminal waits when a command begins', t => {
    const { seat, reader, did, command } = seated(t)
    reader.unread = MUCH
    seat.data('x')
    command.runs = true
    seat.hurry()
    assert.deepEqual(did, ['data', 'pause', 'resume', 'cut'])
  })

  it('lets the terminal go on when a reader it waits for has left', t => {
    const { seat, reader, did } = seated(t)
    reader.unread = MUCH
    seat.data('x')
    seat.left(reader)
    assert.deepEqual(did, ['data', 'pause', 'resume'])
  })

  it('tells the reader who sat there that somebody else does', t => {
    const { seat, did } = seated(t)
    seat.take({ unread: 0, data () {}, state () {}, closed () {}, cut () {} })
    assert.deepEqual(did, ['closed: attached elsewhere'])
  })
})

function seated (t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const did: string[] = []
  const command = { runs: false }
  const seat = new ReaderSeat({ pause () { did.push('pause') }, resume () { did.push('resume') } }, () => command.runs)
  const reader = { unread: 0, data () { did.push('data') }, state () {}, closed (reason: string) { did.push(`closed: ${reason}`) }, cut () { did.push('cut') } }
  seat.take(reader)
  return { seat, reader, did, command }
}
