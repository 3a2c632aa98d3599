import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { type SshTarget } from '../../../src/config/operator.ts'
import { type CommandOptions } from '../../../src/exec/executor.ts'
import { SshExecutor } from '../../../src/exec/ssh-executor.ts'
import { type Answer, startScriptedSsh, type TestSshd } from '../../helpers/sshd.ts'

const WRONG = `SHA256:${'a'.repeat(43)}`

describe('a command over SSH', () => {
  it('is not sent to a host with another key, and no key is offered there', async t => {
    const server = await scripted(t, () => {})
    const executor = executorOf(t, server, { hostKey: WRONG })
    await assert.rejects(executor.run('true', forever()), { name: 'ExecutorError', code: 'TARGET_UNREACHABLE', message: `target "t" at 127.0.0.1:${server.port} cannot be reached: expected the host key ${WRONG}, got ${server.hostKey}` })
    assert.deepEqual(server.logins, [])
  })

  it('is not run with a key that is not accepted', async t => {
    const server = await scripted(t, () => {})
    await assert.rejects(executorOf(t, server, { keyFile: server.strangerKeyFile }).run('true', forever()), { code: 'TARGET_UNREACHABLE', message: /authentication methods failed/ })
    assert.deepEqual(new Set(server.logins), new Set(['publickey']))
  })

  const unusable: ReadonlyArray<readonly [string, Partial<SshTarget>, RegExp]> = [
    ['a key file that is gone', { keyFile: '/nowhere' }, /ENOENT/],
    ['a port where nobody listens', { port: 1 }, /ECONNREFUSED/]
  ]
  for (const [what, target, message] of unusable) {
    it(`is not run with ${what}`, async t => {
      const server = await scripted(t, () => {})
      await assert.rejects(executorOf(t, server, target).run('true', forever()), { code: 'TARGET_UNREACHABLE', message })
    })
  }

  it('is not run without a key and without an agent', async t => {
    const server = await scripted(t, () => {})
    const { keyFile, ...target } = targetOf(server)
    await assert.rejects(new SshExecutor(target, undefined).run('true', forever()), { code: 'TARGET_UNREACHABLE', message: /no agent at SSH_AUTH_SOCK/ })
  })

  it('is lost when the host takes it and is silent, whatever ends the waiting', async t => {
    const controller = new AbortController()
    const server = await scripted(t, (_channel, command) => { if (command.includes('cancelled')) controller.abort() })
    const executor = executorOf(t, server)
    assert.equal((await executor.run('true', forever({ timeout: 100 }))).outcome, 'lost')
    assert.equal((await executor.run('cancelled', forever({ signal: controller.signal }))).outcome, 'lost')
  })

  it('is lost when it has begun and its end is not confirmed', async t => {
    const server = await scripted(t, (channel, command, mark) => { if (command.includes(' begin ')) channel.write(begun(mark)) })
    const executor = executorOf(t, server)
    const running = executor.run('true', forever({ timeout: 100 }))
    assert.equal((await running).outcome, 'lost')
  })

  it('is lost when the other side says that it still runs', async t => {
    const server = await scripted(t, (channel, command, mark) => {
      if (command.includes(' begin ')) channel.write(begun(mark))
      else channel.end(`${mark} alive\n`)
    })
    assert.equal((await executorOf(t, server).run('true', forever({ timeout: 100 }))).outcome, 'lost')
  })

  it('has no mark in a command line, which every process there can read', async t => {
    const said: string[] = []
    const server = await scripted(t, (channel, command, mark) => {
      assert.match(mark, /^aps-[0-9a-f]{32}$/)
      said.push(command)
      if (command.includes(' begin ')) channel.write(begun(mark))
      else channel.end(`${mark} dead TERM\n`)
    })
    assert.equal((await executorOf(t, server).run('true', forever({ timeout: 3000 }))).signal, 'SIGTERM')
    assert.deepEqual([said.length, said.some(command => command.includes('aps-'))], [2, false])
  })

  it('has ended when the other side confirms it', async t => {
    const server = await scripted(t, (channel, command, mark) => {
      if (command.includes(' begin ')) channel.write(`${begun(mark)}half`)
      else channel.end(`${mark} dead KILL\n`)
    })
    const { durationMs, ...ran } = await executorOf(t, server).run('true', forever({ timeout: 3000 }))
    assert.deepEqual(ran, { outcome: 'timeout', exitCode: null, signal: 'SIGKILL', stdout: 'half', stderr: '' })
  })

  it('is lost when its channel ends without an exit status', async t => {
    const server = await scripted(t, (channel, _command, mark) => { channel.end(`${begun(mark)}half`) })
    const { outcome, stdout } = await executorOf(t, server).run('true', forever())
    assert.deepEqual([outcome, stdout], ['lost', 'half'])
  })

  it('is lost when the connection is cut, and the next one gets another', async t => {
    const server = await scripted(t, (channel, command, mark) => {
      channel.write(`${begun(mark)}half`)
      if (command.includes('whole')) finish(channel, 0)
    })
    const executor = executorOf(t, server)
    const ran = await executor.run('cut', forever({ onOutput: () => { server.cut() } }))
    assert.deepEqual([ran.outcome, ran.stdout], ['lost', 'half'])
    assert.equal((await executor.run('whole', forever())).outcome, 'exited')
  })

  it('loses no other one over the same connection', async t => {
    const server = await scripted(t, (channel, command, mark) => {
      if (command.includes('silent')) return
      channel.write(begun(mark))
      setTimeout(() => { finish(channel, 0) }, 300)
    })
    const executor = executorOf(t, server)
    const [one, other] = await Promise.all([executor.run('silent', forever({ timeout: 50 })), executor.run('slow', forever())])
    assert.deepEqual([one.outcome, other.outcome], ['lost', 'exited'])
  })

  it('has no greeting of the login in its output', async t => {
    const server = await scripted(t, (channel, _command, mark) => {
      channel.write(`Welcome!\n${begun(mark)}a`)
      channel.write('b')
      finish(channel, 3)
    })
    const { exitCode, stdout } = await executorOf(t, server).run('true', forever())
    assert.deepEqual([exitCode, stdout], [3, 'ab'])
  })

  it('has not run when the login shell says something else', async t => {
    const server = await scripted(t, channel => {
      channel.write('This account is not available.\n')
      finish(channel, 1)
    })
    await assert.rejects(executorOf(t, server).run('true', forever()), { code: 'TARGET_UNREACHABLE', message: 'the login shell did not begin the command: This account is not available.' })
  })

  it('may have no more than 7 beside it', async t => {
    const server = await scripted(t, (channel, _command, mark) => {
      channel.write(begun(mark))
      setTimeout(() => { finish(channel, 0) }, 200)
    })
    const executor = executorOf(t, server)
    const running = Array.from({ length: 8 }, () => executor.run('true', forever()))
    await assert.rejects(executor.run('true', forever()), { code: 'TARGET_BUSY' })
    await Promise.all(running)
    assert.equal((await executor.run('true', forever())).exitCode, 0)
  })
})

/** What the wrapper of a command prints first. */
function begun (mark: string): string {
  return `${mark} begin 4194304\n`
}

function finish (channel: Parameters<Answer>[0], code: number): void {
  channel.exit(code)
  channel.end()
}

async function scripted (t: TestContext, answer: Answer) {
  const server = await startScriptedSsh(answer)
  t.after(() => server.stop())
  return server
}

function targetOf ({ port, user, hostKey, keyFile }: TestSshd): SshTarget {
  return { type: 'ssh', name: 't', host: '127.0.0.1', port, user, hostKey, keyFile, hasSkills: false, mayRunUnasked: false }
}

function executorOf (t: TestContext, server: TestSshd, target: Partial<SshTarget> = {}): SshExecutor {
  const executor = new SshExecutor({ ...targetOf(server), ...target }, undefined)
  t.after(() => executor.close())
  return executor
}

function forever (options: Partial<CommandOptions> = {}): CommandOptions {
  return { timeout: 60_000, signal: new AbortController().signal, ...options }
}
