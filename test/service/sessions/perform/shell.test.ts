import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { USUAL_SIZE } from '../../../../src/exec/executor.ts'
import { Terminal } from '../../../../src/exec/terminal/terminal.ts'
import { Terminals } from '../../../../src/exec/terminal/terminals.ts'
import { keepOpen } from '../../../../src/service/sessions/perform-commands.ts'
import { type Session } from '../../../../src/session/session.ts'
import { FakeShell } from '../../../session/terminals/fake-shell.ts'

const host = { isUp: () => true, goesOn: async () => {}, onRun () {}, onMixed () {} }

describe('A terminal that the service ends', () => {
  for (const [what, isConfirmed, outcome] of [
    ['with all that ran in it', true, { kind: 'result', result: { reason: 'the service was stopped', exitCode: null } }],
    ['and of which something may run on', false, { kind: 'unknown', reason: 'nobody has confirmed the end of all that ran in it' }]
  ] as const) {
    it(`${what} is told as ${outcome.kind}`, async () => {
      const session = Object.assign({} as Session, { id: 'a1', start: { owner: 'ann' } })
      const controller = new AbortController()
      const open = async (): Promise<Terminal> => await Terminal.open({
        name: 'web',
        size: USUAL_SIZE,
        open: async options => {
          const shell = new FakeShell(options, host)
          const kill = shell.kill.bind(shell)
          shell.kill = async () => await kill() && isConfirmed
          return shell
        }
      })
      const terminals = new Terminals()
      const opened = terminals.expect('a1')
      const told = keepOpen({ session, signal: controller.signal }, terminals, open, async () => {})
      await opened
      controller.abort()
      assert.deepEqual(await told, outcome)
    })
  }
})
