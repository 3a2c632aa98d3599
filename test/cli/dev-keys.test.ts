import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { listenToKeys } from '../../src/cli/serve.ts'
import { Output } from '../../src/cli/output.ts'

const ADDRESS = 'http://127.0.0.1:8080/console/prompts/greet'

async function press (keys: string, { isTTY }: { readonly isTTY: boolean }) {
  const raw: boolean[] = []
  const opened: string[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: (isRaw: boolean) => raw.push(isRaw) })
  const [stdout, stderr] = [Object.assign(new PassThrough(), { isTTY }), Object.assign(new PassThrough(), { isTTY })]
  await listenToKeys(stdin, ADDRESS, new Output(stdout, stderr), address => { opened.push(address) })
  stdin.end(keys)
  stdin.resume()
  await once(stdin, 'end')
  stdin.removeAllListeners('keypress')
  return { raw, opened, words: String(stderr.read() ?? '') }
}

describe('The keys of aps dev', () => {
  it('c opens the console at the prompt, and says where it is', async () => {
    const { raw, opened, words } = await press('xc', { isTTY: true })
    assert.deepEqual([raw, opened], [[true], [ADDRESS]])
    assert.equal(words, `c opens the console, Ctrl-C ends\nconsole: ${ADDRESS}\n`)
  })

  it('Ctrl-C ends, although keys come one by one', async () => {
    // A signal alone keeps no process waiting for it.
    const waiting = setInterval(() => {}, 60_000)
    const interrupted = once(process, 'SIGINT')
    const { opened } = await press('\u0003', { isTTY: true })
    await interrupted
    clearInterval(waiting)
    assert.deepEqual(opened, [])
  })

  it('are left alone where nobody sits at a terminal', async () => {
    assert.deepEqual(await press('c', { isTTY: false }), { raw: [], opened: [], words: '' })
  })
})
