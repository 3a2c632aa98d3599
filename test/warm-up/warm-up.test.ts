import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Log } from '../../src/runtime/telemetry.ts'
import { warmUp } from '../../src/warm-up.ts'
import { quietLog } from '../helpers/quiet-log.ts'

const NEVER = new AbortController().signal

function warningsInto (lines: unknown[]): Log {
  return quietLog({ warn: (...line: unknown[]) => { lines.push(line) } })
}

describe('the warm-up', { timeout: 60_000 }, () => {
  it('is answered, and logs nothing', async () => {
    const lines: unknown[] = []
    assert.ok(await warmUp(2000, 'info', warningsInto(lines), NEVER) > 0)
    assert.deepEqual(lines, [])
  })

  it('sends nothing for no time', async () => {
    assert.equal(await warmUp(0, 'info', quietLog(), NEVER), 0)
  })

  it('ends when it is told to', async () => {
    const begin = performance.now()
    await warmUp(50_000, 'info', quietLog(), AbortSignal.timeout(100))
    assert.ok(performance.now() - begin < 30_000)
  })

  it('logs what fails in it once, and gives up', async () => {
    const lines: unknown[] = []
    const requests = ['GET /nowhere HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n']
    assert.equal(await warmUp(2000, 'info', warningsInto(lines), NEVER, { requests }), 0)
    assert.equal(lines.length, 1)
  })
})
