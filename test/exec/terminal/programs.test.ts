import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { noSshd, startOpenSsh, type TestSshd } from '../../helpers/sshd.ts'
import { addSudoer, noSudoer, type Sudoer } from '../../helpers/sudoer.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { noJail, openTerminal, type Place, SHELLS } from './terminals-of-tests.ts'

let server: TestSshd | undefined
before(async () => { if (noSshd === false) server = await startOpenSsh() })
after(() => server?.stop())

const PLACES = [
  { place: 'over OpenSSH', skip: noSshd, at: (): Place => server as TestSshd },
  { place: 'in the jail', skip: noJail, at: (): Place => 'jail' }
] as const

const noVim = spawnSync('vim', ['--version']).error === undefined ? false : 'vim is not installed'

/** Vim without files of its user, on a file of its own. */
const VIM = 'vim -u NONE -i NONE note'

/** How a program takes the whole screen. */
const WHOLE_SCREEN = '\x1b[?1049h'

for (const { place, skip: noPlace, at } of PLACES) {
  for (const { name, words, skip: noShell } of SHELLS) {
    describe(`A program in ${name} ${place}`, { skip: noPlace === false ? noShell : noPlace }, () => {
      const open = (t: TestContext) => openTerminal(t, at(), { shell: words })

      it('that takes the whole screen keeps a command waiting until its person has left it', { skip: noVim }, async t => {
        const { run, terminal, until, folder } = await open(t)
        terminal.keys(`${VIM}\r`)
        await until(WHOLE_SCREEN)
        let isTold = false
        const running = run('cat note', { onWait () { isTold = true } })
        assert.deepEqual([terminal.state, isTold], ['busy', true])
        terminal.keys('ihello\x1b:wq\r')
        assert.equal((await running).stdout, 'hello\n')
        assert.equal(await readFile(join(folder, 'note'), 'utf8'), 'hello\n')
      })

      for (const [left, status, text] of [[':wq', 0, 'hi\n'], [':cq', 1, 'old\n']] as const) {
        it(`that takes the whole screen ends a command with ${status} when its person leaves it by ${left}`, { skip: noVim }, async t => {
          const { run, terminal, until, folder } = await open(t)
          await writeFile(join(folder, 'note'), 'old\n')
          const running = run(VIM)
          await until(WHOLE_SCREEN)
          assert.equal(terminal.state, 'command')
          terminal.keys(`ddihi\x1b${left}\r`)
          const { outcome, exitCode } = await running
          assert.deepEqual([outcome, exitCode, await readFile(join(folder, 'note'), 'utf8')], ['exited', status, text])
          assert.equal((await run('echo after')).stdout.trim(), 'after')
        })
      }

      it('that is stopped by Ctrl-Z ends its command with 148, and is a job of the shell', async t => {
        const { run, terminal, until } = await open(t)
        // The program itself says that it runs: a Ctrl-Z before that would stop nothing, as the shell ignores it.
        const slept = run('sh -c \'printf "sleep%s" "s"; exec sleep 30\'')
        await until('sleeps')
        terminal.keys('\x1a')
        const { outcome, exitCode } = await slept
        assert.deepEqual([outcome, exitCode], ['exited', 148])
        assert.match((await run('jobs')).stdout, /Stopped|suspended/i)
        await run('kill %1; wait %1')
        // The shell may tell of the end of its job behind that.
        assert.match((await run('echo after')).stdout, /^after$/m)
      })

      it('is named by Tab, which draws no new prompt and lets no command into the line', async t => {
        const { run, terminal, until, folder } = await open(t)
        for (const file of ['longname-one', 'longname-two']) await writeFile(join(folder, file), '')
        terminal.keys('echo "fou"nd; ls long\t\t\t')
        // dash completes nothing: a Tab is a blank there.
        if (name !== 'dash') await until('longname-two')
        const running = run('echo mine')
        assert.equal(terminal.state, 'typing')
        terminal.keys(name === 'dash' ? '\x15ls longname-one; echo "fou"nd\r' : 'one\r')
        assert.equal((await running).stdout, 'mine\n')
        await until('found\r\n')
      })
    })
  }
}

describe('sudo over OpenSSH', { skip: noSshd === false ? noSudoer : noSshd }, () => {
  let sudoer: Sudoer | undefined
  let theirs: TestSshd | undefined
  before(async () => {
    sudoer = addSudoer()
    theirs = await startOpenSsh(sudoer.name)
  })
  after(async () => {
    await theirs?.stop()
    sudoer?.remove()
  })

  for (const { name, words, skip } of SHELLS) {
    it(`takes the password of its person in ${name}, shows it nowhere, and asks once`, { skip }, async t => {
      const { password } = sudoer as Sudoer
      const { run, terminal, until, shown } = await openTerminal(t, theirs as TestSshd, { shell: words })
      const asked = run('sudo -k; sudo -p "pass""word, please: " id -un')
      await until('password, please: ')
      assert.equal(terminal.state, 'command')
      terminal.keys(`${password}\r`)
      const { outcome, exitCode, stdout } = await asked
      assert.deepEqual([outcome, exitCode, stdout.trim().split('\n').at(-1)], ['exited', 0, 'root'])
      assert.deepEqual([stdout.includes(password), shown().includes(password)], [false, false])
      assert.equal((await run('sudo -n id -un')).stdout, 'root\n')
    })

    it(`ends a command in ${name} with its own status when the password is wrong`, { skip }, async t => {
      const { run, terminal, shown } = await openTerminal(t, theirs as TestSshd, { shell: words })
      const asked = run('sudo -k; sudo -p "pass""word, please: " id -un')
      for (let tries = 1; tries <= 3; tries++) {
        await waitFor(`question ${tries}`, () => shown().split('password, please: ').length > tries)
        terminal.keys('wrong\r')
      }
      const { outcome, exitCode } = await asked
      assert.deepEqual([outcome, exitCode], ['exited', 1])
    })
  }
})
