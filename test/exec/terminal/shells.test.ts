import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { quoted } from '../../../src/exec/scripts.ts'
import { cleanOutputForAI } from '../../../src/engine/clip.ts'
import { noSshd, startOpenSsh, type TestSshd } from '../../helpers/sshd.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { COMMANDS } from './commands-of-tests.ts'
import { noJail, openTerminal, type Place, plainly, SHELLS } from './terminals-of-tests.ts'

let server: TestSshd | undefined
before(async () => { if (noSshd === false) server = await startOpenSsh() })
after(() => server?.stop())

const PLACES = [
  { place: 'over OpenSSH', skip: noSshd, at: (): Place => server as TestSshd },
  { place: 'in the jail', skip: noJail, at: (): Place => 'jail' }
] as const

for (const { place, skip: noPlace, at } of PLACES) {
  for (const { name, words, skip: noShell } of SHELLS) {
    describe(`${name} ${place}`, { skip: noPlace === false ? noShell : noPlace }, () => {
      const shell = name === 'busybox' ? ['busybox', 'ash'] : [name]
      const open = (t: TestContext) => openTerminal(t, at(), { shell: words })

      it('ends each command with the status, the output and the folder that it has without a terminal', async t => {
        const { run, folder } = await open(t)
        let cwd = folder
        const wrong: string[] = []
        for (const { what, command, isStatusOnly = false } of COMMANDS) {
          const plain = plainly(shell, `${command}\n__s=$?; printf '\\n@%s' "$PWD"; exit $__s`, cwd)
          const [, printed = plain.output, plainFolder = cwd] = /^([^]*)\n@(.*)$/.exec(plain.output) ?? []
          const ran = await run(command)
          const seen = { status: ran.exitCode, output: cleanOutputForAI(ran.stdout), folder: ran.cwd }
          const expected = { status: isStatusOnly && ran.exitCode !== 0 ? ran.exitCode : plain.status, output: isStatusOnly ? seen.output : cleanOutputForAI(printed), folder: plainFolder }
          if (ran.outcome !== 'exited' || JSON.stringify(seen) !== JSON.stringify(expected)) wrong.push(`${what}: ${JSON.stringify({ ...seen, outcome: ran.outcome })}, expected ${JSON.stringify(expected)}`)
          cwd = ran.cwd
        }
        assert.deepEqual(wrong, [])
      })

      for (const [command, code] of [['exit 3', 3], ['set -e\nfalse\necho never', 1]] as const) {
        it(`gives the code of the shell that ${JSON.stringify(command)} ends`, async t => {
          const { run, terminal } = await open(t)
          const { outcome, exitCode } = await run(command)
          assert.deepEqual([outcome, exitCode, (await terminal.ended).reason], ['exited', code, 'exit'])
          await assert.rejects(run('echo more'), { code: 'TERMINAL_GONE' })
        })
      }

      it('is in the folder that the kernel knows, whatever $PWD says and the folder is called', async t => {
        const { run, folder, terminal } = await open(t)
        const name = 'b;\x07\x1b]7717;k\x07\'"$`\\n\n'
        const { begunIn, cwd } = await run(`mkdir ${quoted(name)}; cd ${quoted(name)}`)
        assert.deepEqual([begunIn, cwd, terminal.folder], [folder, join(folder, name), join(folder, name)])
        const lied = await run('cd ..; PWD=/etc')
        assert.deepEqual([lied.cwd, terminal.folder], [folder, folder])
        terminal.keys('cd /; PWD=/home\r')
        await waitFor('the folder', () => terminal.folder === '/')
        await assert.rejects(run('echo never', { mayBeginIn: each => each !== '/' }), { code: 'TERMINAL_MOVED' })
      })

      it('keeps variables from one command to the next', async t => {
        const { run } = await open(t)
        await run('A=1; export B=2')
        assert.equal((await run('echo "$A"; sh -c \'echo "$B"\'')).stdout, '1\n2\n')
      })

      it('shows the command in place of the line that runs it', async t => {
        const { run, shown } = await open(t)
        await run('echo one\necho two')
        const lines = shown().replaceAll('\r', '').split('\n').map(line => cleanOutputForAI(line)).filter(line => line !== '(no output)')
        assert.deepEqual(lines.map(line => line.replace(/^web:.*\$ ?/, '')).filter(line => line !== ''), ['echo one', 'echo two', 'one', 'two'])
        assert.doesNotMatch(shown(), /7717|\.aps/)
      })

      for (const [what, redraw] of [['a change of size', (terminal: { resize (size: { cols: number, rows: number }): void }) => { terminal.resize({ cols: 60, rows: 20 }) }], ['Ctrl-L', undefined]] as const) {
        it(`waits behind a line that is half typed, also when ${what} draws the prompt anew`, async t => {
          const { run, terminal, states, until, shown } = await open(t)
          terminal.keys('echo half')
          await until('echo half')
          let isTold = false
          const running = run('echo whole', { onWait () { isTold = true } })
          const before = shown().length
          if (redraw === undefined) terminal.keys('\x0c')
          else redraw(terminal)
          // dash draws nothing anew.
          if (name !== 'dash') await waitFor('the prompt to be drawn anew', () => shown().slice(before).includes('half'))
          assert.deepEqual([terminal.state, isTold], ['typing', true])
          terminal.keys(redraw === undefined ? '\x15\r' : '\r')
          assert.equal((await running).stdout, 'whole\n')
          if (redraw !== undefined) await until('half\r\n')
          assert.ok(states.includes('command'))
        })
      }

      it('waits while a line runs that was typed ahead', async t => {
        const { run, terminal, until, shown } = await open(t)
        terminal.keys('echo "fir"st; sleep 0.5\rcat\r')
        await until('first')
        const running = run('echo mine')
        terminal.keys('typed\r')
        // What cat has read it says again.
        await waitFor('cat to have read a line', () => shown().split('typed').length > 2)
        terminal.keys('\x03')
        assert.equal((await running).stdout, 'mine\n')
      })

      it('gives a command the keys of its person: an answer, and Ctrl-C', async t => {
        const { run, terminal, until } = await open(t)
        const asked = run('printf "name%s" "? "; read -r name; echo "hello $name"')
        await until('name? ')
        terminal.keys('ann\r')
        assert.match((await asked).stdout, /hello ann\n$/)
        // The words come from the process that sleeps: by then it has the keys. Before, the shell would take Ctrl-C and go on waiting.
        const slept = run('sh -c \'printf "sleep%s" "s"; exec sleep 30\'')
        await until('sleeps')
        terminal.keys('\x03')
        assert.equal((await slept).exitCode, 130)
        assert.equal((await run('echo after')).stdout.trim(), 'after')
      })

      it('ends a command whose time is over by Ctrl-C, and goes on', async t => {
        const { run } = await open(t)
        const { outcome, exitCode } = await run('echo begun; sleep 30', { timeout: 500 })
        assert.deepEqual([outcome, exitCode], ['timeout', null])
        assert.equal((await run('echo after')).stdout.trim(), 'after')
      })

      it('leaves no history and no secret in its environment or files', async t => {
        const { run } = await open(t)
        await run('echo remembered')
        const { stdout } = await run('env; history 2>/dev/null; ls -A "$HOME" 2>/dev/null | grep history; cat /tmp/.aps*/b')
        assert.doesNotMatch(stdout, /[0-9a-f]{32}|remembered/)
      })
    })
  }
}
