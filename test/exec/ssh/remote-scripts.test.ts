import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { quoted } from '../../../src/exec/scripts.ts'
import { keptCommand, killingScript } from '../../../src/exec/ssh-connection.ts'
import { isAlive, untilDead } from '../../helpers/processes.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { waitFor } from '../../helpers/wait-for.ts'

/** What is `/bin/sh` somewhere. */
const SHELLS = ['dash', 'busybox sh', 'bash --posix']

const IGNORING = 'trap "" TERM HUP; echo $$; while :; do sleep 1; done'

for (const shell of SHELLS) {
  const [program = ''] = shell.split(' ')
  describe(`a command over SSH where the shell is ${shell}`, { skip: spawnSync(program, ['-c', '']).error === undefined ? false : `${program} is not installed` }, () => {
    it('is told from the folder in which it ended', async () => {
      const { closed, said } = begin(shell, 'echo "it\'s"; cd /etc; exit 3')
      assert.deepEqual([await closed, said()], [[3, null], 'MARK begin PID\nit\'s\nMARK end /etc\n'])
    })

    it('is told from a folder whatever its name holds', async t => {
      const folder = await createTemporaryFolder()
      t.after(folder.remove)
      const name = '\nMARK end \n;\x1b]0;c\x07\'"$`\\n\n'
      const { closed, said } = begin(shell, `mkdir ${quoted(name)}; cd ${quoted(name)}; echo in`, true, folder.path)
      assert.deepEqual([await closed, said()], [[0, null], `MARK begin PID\nin\nMARK end ${folder.path}/${name.replaceAll('\n', '//.')}\n`])
    })

    for (const [what, command, signal] of [['', 'echo $$; exec sleep 1000', 'TERM'], [' though it ignores SIGTERM', IGNORING, 'KILL']] as const) {
      it(`ends with its input${what}`, async t => {
        const { child, closed, command: pid } = await begun(t, shell, command)
        child.stdin.end()
        await closed
        assert.equal(isAlive(pid), false)
      })

      it(`is ended from beside, which confirms it${what}`, async t => {
        const one = await begun(t, shell, command)
        const { command: pid } = one
        assert.equal(await kill(shell, one), `KILLER dead ${signal}\n`)
        assert.equal(isAlive(pid), false)
      })
    }

    for (const [what, end] of [
      ['ends with its input', async ({ child, closed }: Begun) => { child.stdin.end(); await closed }],
      ['is ended from beside', async (one: Begun) => { assert.equal(await kill(shell, one), 'KILLER dead KILL\n') }]
    ] as const) {
      it(`takes with it what has called setsid and ignores signals, when it ${what}, and nothing else`, async t => {
        const other = await begun(t, shell, `setsid sh -c '${IGNORING}' & wait`)
        const daemon = await begun(t, shell, `setsid sh -c '${IGNORING}' & wait`)
        assert.equal(isAlive(daemon.command), true)
        await end(daemon)
        await untilDead(daemon.command)
        assert.equal(isAlive(other.command), true)
        process.kill(other.command, 'SIGKILL')
      })
    }

    it('has no confirmed end where it leads no group', async t => {
      assert.equal(await kill(shell, await begun(t, shell, 'echo $$; exec sleep 2', false)), 'KILLER alive\n')
    })
  })
}

type Begun = Awaited<ReturnType<typeof begun>>

/** Begins a command as sshd does. @param detached whether it leads a group */
function begin (shell: string, command: string, detached = true, cwd = '/tmp') {
  const marker = randomBytes(8).toString('hex')
  const child = spawn('/bin/sh', ['-c', as(shell, keptCommand(command, marker, cwd))], { detached, stdio: ['pipe', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => { said += bytes.toString() })
  child.stdin.write('MARK\n')
  return { child, marker, closed: once(child, 'close'), said: () => said.replace(` ${child.pid}\n`, ' PID\n') }
}

/** Begins a command that says its own number. */
async function begun (t: TestContext, shell: string, command: string, detached = true) {
  const { child, closed, said, marker } = begin(shell, command, detached)
  t.after(() => child.kill('SIGKILL'))
  const [, pid] = await waitFor('its number', () => /^(\d+)$/m.exec(said()))
  return { child, marker, closed, command: Number(pid) }
}

async function kill (shell: string, { child: { pid }, marker }: Pick<Begun, 'child' | 'marker'>): Promise<string> {
  const killer = spawn('/bin/sh', ['-c', as(shell, killingScript(pid as number, marker))], { stdio: ['pipe', 'pipe', 'inherit'] })
  killer.stdin.end('KILLER\n')
  return await text(killer.stdout)
}

function as (shell: string, script: string): string {
  return script.replaceAll('/bin/sh', shell)
}
