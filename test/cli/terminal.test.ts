import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { noPty } from '../exec/terminal/terminals-of-tests.ts'
import { runAps, runApsHere, startApsHere } from '../helpers/aps.ts'
import { askingPlace } from '../helpers/asking-skill.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

describe('aps terminal', { skip: noPty }, () => {
  it('types into a shell and shows what it shows, until that ends', async () => {
    const { url } = await started()
    const { stdout, stderr, code } = await aps(['terminal', 'here', '--url', url], async (shown, type) => {
      await shown('$ ')
      type('echo $((6*7))\r')
      await shown('42\r\n')
      type('exit 3\r')
    })
    assert.match(stdout, /42\r\n/)
    assert.deepEqual([code, stderr.trim()], [0, 'the shell has ended with code 3'])
  })

  it('is left by Ctrl-], and comes back to what was shown', async t => {
    const { url } = await startOwn(t)
    const { stderr, code } = await aps(['terminal', 'here', '--url', url], async (shown, type) => {
      await shown('$ ')
      type('echo kept-$((1+1))\r')
      await shown('kept-2')
      type('\x1d')
    })
    const id = /aps terminal --attach ([0-9a-f]{32})/.exec(stderr)?.[1] ?? ''
    assert.deepEqual([code, id.length], [0, 32])
    const again = await aps(['terminal', '--attach', id, '--url', url], async (shown, type) => {
      await shown('kept-2')
      type('\x1d')
    })
    assert.equal(again.code, 0)
  })

  it('prints nothing that the user\'s terminal would answer, and leaves that as it was', async t => {
    const { url } = await startOwn(t)
    const { stdout } = await aps(['terminal', 'here', '--url', url], async (shown, type) => {
      await shown('$ ')
      type('printf "a\\033]11;?\\007b\\033[6nc\\033[?1049hd\\033[?1002hscreen-$((1+1))"\r')
      await shown('screen-2')
      type('\x1d')
    })
    assert.match(stdout, /abc\x1b\[\?1049hd\x1b\[\?1002hscreen-2/) // eslint-disable-line no-control-regex
    assert.match(stdout, /\x1b\[\?1049l\x1b\[\?1002l(?:\x1b\[\?2004l)?$/) // eslint-disable-line no-control-regex
  })

  it('ends the shell where an input that is no terminal ends', async () => {
    const { url } = await started()
    const { stdout, stderr, code } = await runAps(['terminal', 'here', '--url', url], {}, 'echo $((6*7))\n')
    assert.match(stdout, /42\r\n/)
    assert.deepEqual([code, stderr.trim()], [0, 'the shell has ended with code 0'])
  })

  it('runs the last line of that input also without a line break', { timeout: 60_000 }, async () => {
    const { url } = await started()
    const { code, stderr } = await runApsHere(['terminal', 'here', '--url', url], {}, 'exit 3')
    assert.deepEqual([code, stderr.trim()], [0, 'the shell has ended with code 3'])
  })

  it('ends the shell also where that input ends while a command runs', { timeout: 60_000 }, async () => {
    const { url } = await started()
    const { stdout, stderr, code } = await runApsHere(['terminal', 'here', '--url', url], {}, 'sleep 0.3; echo $((6*7))\n')
    assert.match(stdout, /42\r\n/)
    assert.deepEqual([code, stderr.trim()], [0, 'the shell has ended with code 0'])
  })

  for (const [what, args, code, words] of [
    ['a target that is not offered', ['nowhere'], 1, /^aps: There is no target "nowhere".* \(TARGET_NOT_FOUND\)$/m],
    ['a terminal that is not there', ['--attach', '0'.repeat(32)], 1, /TERMINAL_NOT_FOUND/],
    ['neither', [], 2, /expected a target, or --attach/]
  ] as const) {
    it(`says what is wrong with ${what}`, async () => {
      const { url } = await started()
      const run = await runApsHere(['terminal', ...args, '--url', url])
      assert.equal(run.code, code)
      assert.match(run.stderr, words)
    })
  }

  it('runs a skill in the one terminal that is open', async t => {
    const { url, service } = await startOwn(t)
    const opened = await service.post('/api/terminals', { target: 'here' })
    const run = await runApsHere(['skill', 'run', 'walk', '--terminal', '--url', url], {}, 'y\ny\ny\n')
    assert.equal(run.code, 0, run.stderr)
    assert.match(run.stdout, /\$ echo one\none\n\$ echo two\ntwo\n/)
    const { json } = await service.get('/api/sessions?definition=skills/walk')
    const { data } = (await service.get(`/api/skills/${String(json['sessions']?.['0']?.['id'])}`)).json
    assert.equal(data?.['terminalSessionId'], opened.json['terminalId'])
  })

  it('says that there is none to run a skill in', async t => {
    const { url } = await startOwn(t)
    const run = await runApsHere(['skill', 'run', 'walk', '--terminal', '--url', url], {}, '')
    assert.equal(run.code, 2)
    assert.match(run.stderr, /you have none open/)
  })
})

async function startOwn (t: AtEnd) {
  const state = await createTemporaryFolder()
  t.after(state.remove)
  const service = await (await askingPlace(t)).start({ here: { terminal: true } }, { STATE_DIR: state.path })
  return { service, url: await service.listen() }
}

/** A service without an open terminal. */
const started = shared(startOwn)

type Play = (shown: (what: string) => Promise<void>, type: (keys: string) => void) => Promise<void>

/** Runs the command line while somebody reads and types. */
async function aps (args: readonly string[], play: Play) {
  const { stdin, printed, ended } = startApsHere(args)
  await play(async what => { await waitFor(`${JSON.stringify(what)} in ${JSON.stringify(printed)}`, () => printed.stdout.includes(what)) }, keys => { stdin.write(keys) })
  return await ended
}
