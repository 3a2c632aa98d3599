import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { KEPT_OUTPUT, ShownOutput } from '../../../src/exec/terminal/terminal.ts'
import { noSshd, startOpenSsh, type TestSshd } from '../../helpers/sshd.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { noPty, openTerminal, type Place } from './terminals-of-tests.ts'

let server: TestSshd | undefined
before(async () => { if (noSshd === false) server = await startOpenSsh() })
after(() => server?.stop())

/** How much is printed, in MiB; `npm run test:long` prints more. */
const MEBIBYTES = Number(process.env['TERMINAL_MEBIBYTES'] ?? 64)

describe('Much output of a terminal', { skip: noPty }, () => {
  it('takes a bounded memory', async t => {
    const { run } = await openTerminal(t, 'bare')
    await run('head -c 8M /dev/zero | tr "\\0" x | fold -w 1000 | tail -c 1M')
    const before = process.memoryUsage.rss()
    let most = 0
    const look = setInterval(() => { most = Math.max(most, process.memoryUsage.rss()) }, 20)
    t.after(() => { clearInterval(look) })
    const { exitCode, stdout } = await run(`head -c ${MEBIBYTES}M /dev/zero | tr "\\0" x | fold -w 1000`, { timeout: 600_000, keep: 64 * 1024 })
    assert.equal(exitCode, 0)
    assert.match(stdout, /^x[^]*\.\.\.\[TRUNCATED \d+ bytes\]\.\.\.\n/)
    t.diagnostic(`${MEBIBYTES} MiB took ${Math.round((most - before) / 1024 ** 2)} MiB more than before`)
    assert.ok(most - before < 200 * 1024 ** 2)
  })

  it('keeps 256 KiB for whoever attaches again, from the beginning of a line on', async t => {
    const { run, terminal } = await openTerminal(t, 'bare')
    await run('seq 1 200000')
    let shown = ''
    terminal.attach({ unread: 0, data (text) { shown += text }, state () {}, closed () {}, cut () {} })
    await waitFor('the last line', () => shown.includes('200000\r\n'))
    assert.ok(shown.length <= KEPT_OUTPUT && shown.length > KEPT_OUTPUT / 2)
    assert.match(shown, /^\d{6}\r\n/)
  })
})

for (const [place, skip, at] of [['on this machine', noPty, (): Place => 'bare'], ['over OpenSSH', noSshd, (): Place => server as TestSshd]] as const) {
  describe(`Output of a terminal ${place}`, { skip }, () => {
    it('is whole though the size changes a thousand times meanwhile, and the last size is that of the shell', async t => {
      const { run, terminal, folder } = await openTerminal(t, at())
      let shown = ''
      const running = run('n=0; until [ -e enough ]; do n=$((n+1)); echo "line $n"; [ $((n % 50)) -gt 0 ] || sleep 0.01; done', { onOutput (text) { shown += text } })
      await waitFor('the output', () => shown.includes('line 100\n'))
      for (let n = 0; n < 1000; n++) {
        terminal.resize({ cols: 1 + n % 500, rows: 1 + n % 100 })
        await turn()
      }
      terminal.resize({ cols: 81, rows: 25 })
      const before = shown.length
      await writeFile(join(folder, 'enough'), '')
      const { exitCode } = await running
      t.diagnostic(`${before} characters came meanwhile`)
      const lines = shown.replaceAll('\r', '').trimEnd().split('\n')
      assert.deepEqual([exitCode, lines.findIndex((line, index) => line !== `line ${index + 1}`)], [0, -1])
      assert.equal((await run('stty size')).stdout, '25 81\n')
    })
  })
}

describe('The output that is kept', () => {
  it('is all of it while it is short', () => {
    const shown = new ShownOutput()
    for (const text of ['a', 'b\n', 'c']) shown.append(text)
    assert.equal(shown.text(), 'ab\nc')
  })

  it('is whole lines of the end of what is long', () => {
    const shown = new ShownOutput()
    for (let n = 0; n < 100_000; n++) shown.append(`line ${n}\n`)
    assert.match(shown.text(), /^line \d+\n[^]*line 99999\n$/)
    assert.ok(shown.text().length <= KEPT_OUTPUT)
  })
})
