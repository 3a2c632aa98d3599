import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { noSshd, startOpenSsh, type TestSshd } from '../../helpers/sshd.ts'
import { commandLines, isAlive, untilDead } from '../../helpers/processes.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { noJail, noPty, openTerminal, type Place, type TestTerminal } from './terminals-of-tests.ts'

let server: TestSshd | undefined
before(async () => { if (noSshd === false) server = await startOpenSsh() })
after(() => server?.stop())

const PLACES = [
  { place: 'over OpenSSH', skip: noSshd, at: (): Place => server as TestSshd },
  { place: 'in the jail', skip: noJail, at: (): Place => 'jail' },
  { place: 'without a jail', skip: noPty, at: (): Place => 'bare' }
] as const

for (const { place, skip, at } of PLACES) {
  describe(`A terminal ${place} that ends`, { skip }, () => {
    it('leaves no process: neither its shell nor a job behind or in front of it', async t => {
      const { terminal, run } = await openTerminal(t, at())
      const marker = markerOf()
      await run(`sleep ${marker}1 & sleep ${marker}2 & sleep 0.3; kill -STOP $!`)
      terminal.keys(`sleep ${marker}3\r`)
      await waitFor('all three', async () => (await jobs(marker)).length === 3)
      assert.equal(await terminal.end('the test says so'), true)
      assert.deepEqual(await jobs(marker), [])
      assert.deepEqual((await terminal.ended).reason, 'ended')
    })

    it('leaves nothing that has called setsid or ignores the hangup', async t => {
      const { terminal, run } = await openTerminal(t, at())
      const marker = markerOf()
      await run(`setsid sleep ${marker}1 & (setsid sh -c 'trap "" HUP TERM; sleep ${marker}2; :' &); nohup sleep ${marker}3 >/dev/null 2>&1 & sleep 0.3`)
      await waitFor('all three', async () => (await jobs(marker)).length === 3)
      assert.equal(await terminal.end('the test says so'), true)
      assert.deepEqual(await jobs(marker), [])
    })

    it('ends with a command that Ctrl-C does not end, and with that command', async t => {
      const { terminal, run } = await openTerminal(t, at())
      // What the shell ignores, the program that it runs ignores from its first moment on.
      await run('trap "" INT')
      const ran = await run('sleep 60', { timeout: 300 })
      assert.deepEqual([ran.outcome, ran.exitCode, terminal.state], ['timeout', null, 'closed'])
    })

    it('tells a command that is cancelled, and that it has not begun', async t => {
      const { run, terminal } = await openTerminal(t, at())
      terminal.keys('half')
      const controller = new AbortController()
      const running = run('echo never', { signal: controller.signal, onWait () { controller.abort() } })
      assert.deepEqual([(await running).outcome, (await running).stdout], ['cancelled', ''])
    })

    it('is busy for a command whose line is never empty, and runs nothing', async t => {
      const { run, terminal, shown } = await openTerminal(t, at(), { patience: 200 })
      terminal.keys('half')
      await assert.rejects(run('echo never-$((1+1))'), { code: 'TERMINAL_BUSY' })
      assert.doesNotMatch(shown(), /never-2/)
    })

    it('begins a command only in a folder that is allowed', async t => {
      const { run, folder } = await openTerminal(t, at())
      await run('mkdir -p deep; cd deep')
      await assert.rejects(run('echo never', { mayBeginIn: each => each === folder }), { code: 'TERMINAL_MOVED' })
    })

    it('ends when nobody has used it for too long', async t => {
      let idle = (): void => {}
      const isIdle = new Promise<void>(resolve => { idle = resolve })
      const { terminal } = await openTerminal(t, at(), { idle: 100, onIdle: () => { idle() } })
      terminal.attach({ unread: 0, data () {}, state () {}, closed () {}, cut () {} })
      const reader = { unread: 0, data () {}, state () {}, closed () {}, cut () {} }
      terminal.attach(reader)
      terminal.detach(reader)
      await isIdle
    })
  })
}

describe('A terminal on a machine without SFTP', { skip: noSshd }, () => {
  it('runs commands, and is in a folder that nobody knows', async t => {
    const bare = await startOpenSsh(undefined, false)
    t.after(() => bare.stop())
    const { terminal, run } = await openTerminal(t, bare)
    const { stdout, begunIn, cwd } = await run('cd /; pwd')
    assert.deepEqual([stdout, begunIn, cwd, terminal.folder], ['/\n', '', '', ''])
  })
})

describe('A terminal whose connection is lost', { skip: noSshd }, () => {
  it('leaves no process and no file, and its command is lost', async t => {
    const { terminal, run } = await openTerminal(t, server as TestSshd)
    const { shell, folder } = await ownOf(run)
    const running = run('sleep 61')
    await waitFor('the command', () => terminal.state === 'command')
    ;(server as TestSshd).cut()
    assert.equal((await running).outcome, 'lost')
    assert.equal((await terminal.ended).reason, 'lost')
    await untilDead(shell)
    await waitFor('its files to be removed', () => !existsSync(folder))
  })

  it('leaves nothing that has called setsid or ignores the hangup', async t => {
    const { run } = await openTerminal(t, server as TestSshd)
    const marker = markerOf()
    await run(`setsid sleep ${marker}1 & (setsid sh -c 'trap "" HUP TERM; sleep ${marker}2; :' &); nohup sleep ${marker}3 >/dev/null 2>&1 & sleep 0.3`)
    await waitFor('all three', async () => (await jobs(marker)).length === 3)
    ;(server as TestSshd).cut()
    await waitFor('their end', async () => (await jobs(marker)).length === 0)
  })

  it('leaves what was to live on when its shell ends by itself', async t => {
    const { run, terminal } = await openTerminal(t, server as TestSshd)
    const marker = markerOf()
    const { folder } = await ownOf(run)
    await run(`setsid sleep ${marker}1 & sleep 0.3`)
    terminal.keys('exit\r')
    await terminal.ended
    await waitFor('its files to be removed', () => !existsSync(folder))
    const left = (await commandLines()).filter(({ words }) => words === `sleep ${marker}1`)
    assert.equal(left.length, 1)
    for (const { pid } of left) process.kill(pid, 'SIGKILL')
  })

  it('leaves no file when its shell ends by itself', async t => {
    const { run, terminal } = await openTerminal(t, server as TestSshd)
    const { shell, folder } = await ownOf(run)
    terminal.keys('exit\r')
    await terminal.ended
    assert.equal(isAlive(shell), false)
    await waitFor('its files to be removed', () => !existsSync(folder))
  })
})

/** The beginning of a number of seconds that no other process sleeps. */
function markerOf (): string {
  return `3${String(process.pid).padStart(7, '0')}${Math.floor(performance.now())}`
}

async function jobs (marker: string): Promise<string[]> {
  return (await commandLines()).filter(({ pid, words }) => words.startsWith(`sleep ${marker}`) && isAlive(pid)).map(({ words }) => words)
}

/** A terminal's shell, as its process id, and the folder of its files, which is there while it runs. */
async function ownOf (run: TestTerminal['run']): Promise<{ shell: number, folder: string }> {
  const { stdout } = await run('echo "$$ $(dirname "$BASH_SOURCE")"')
  const [shell = '', folder = ''] = stdout.trim().split(' ')
  assert.ok(existsSync(folder), stdout)
  return { shell: Number(shell), folder }
}
