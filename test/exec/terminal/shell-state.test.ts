import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ShellState } from '../../../src/exec/terminal/terminal-state.ts'

describe('What a shell does, as its marks and the keys tell', () => {
  it('is a prompt when the first one comes, typing with a key, busy with Enter, and a prompt with the next one', t => {
    const { shell, mark } = begun(t)
    assert.equal(shell.state, 'prompt')
    shell.keys('l')
    assert.equal(shell.state, 'typing')
    shell.keys('s\r')
    assert.equal(shell.state, 'busy')
    mark(3)
    assert.equal(shell.state, 'prompt')
  })

  it('is no prompt again because a prompt is drawn anew', t => {
    const { shell, mark } = begun(t)
    shell.keys('echo half')
    mark(2)
    assert.equal(shell.state, 'typing')
  })

  it('is typing where a prompt comes behind keys that are half a line', t => {
    const { shell, mark } = begun(t)
    shell.keys('sleep 1\recho ahe')
    mark(3)
    assert.equal(shell.state, 'typing')
  })

  for (const [name, key] of [['Ctrl-Z', '\x1a'], ['Ctrl-\\', '\x1c']] as const) {
    it(`is a prompt after ${name}, which ends what runs, and typing after ${name} at a prompt`, t => {
      const { shell, mark } = begun(t)
      shell.keys('sleep 30\r')
      shell.keys(`ahead${key}`)
      mark(3)
      t.mock.timers.tick(300)
      assert.equal(shell.state, 'prompt')
      shell.keys(`half${key}`)
      assert.equal(shell.state, 'typing')
    })
  }

  it('is a prompt after keys ahead only when nothing comes behind it for 300 ms', t => {
    const { shell, mark } = begun(t)
    shell.keys('sleep 1\r')
    shell.keys('\r')
    mark(3)
    assert.equal(shell.state, 'busy')
    t.mock.timers.tick(299)
    assert.equal(shell.state, 'busy')
    t.mock.timers.tick(1)
    assert.equal(shell.state, 'prompt')
  })

  it('stays busy when something comes behind such a prompt', t => {
    const { shell, mark } = begun(t)
    shell.keys('sleep 1\rcat\r')
    mark(3)
    shell.output('cat\r\n')
    t.mock.timers.tick(1000)
    assert.equal(shell.state, 'busy')
  })

  it('takes what a terminal is asked for no output', t => {
    const { shell, mark } = begun(t)
    shell.keys('sleep 1\r\r')
    mark(3)
    shell.output('\x1b[6n\x1b[?2004h')
    t.mock.timers.tick(300)
    assert.equal(shell.state, 'prompt')
  })

  it('is busy with Ctrl-C, which empties the line', t => {
    const { shell, mark } = begun(t)
    shell.keys('half')
    shell.keys('\x03')
    assert.equal(shell.state, 'busy')
    mark(3)
    assert.equal(shell.state, 'prompt')
  })

  it('is a command until the next prompt, and keys do not change that', t => {
    const { shell, mark } = begun(t)
    shell.began()
    shell.keys('password\r')
    assert.equal(shell.state, 'command')
    mark(3)
    assert.equal(shell.state, 'busy')
    t.mock.timers.tick(300)
    assert.equal(shell.state, 'prompt')
  })
})

function begun (t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const shell = new ShellState(() => {})
  const mark = (number: number): void => {
    shell.mark({ number, status: 0 })
    shell.shown()
  }
  mark(2)
  return { shell, mark }
}
