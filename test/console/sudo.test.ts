import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Browser } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { noSshd, startOpenSsh } from '../helpers/sshd.ts'
import { addSudoer, noSudoer } from '../helpers/sudoer.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const skip = noChromium === false ? noSudoer === false ? noSshd : noSudoer : noChromium

describe('sudo in a terminal over SSH at the console', { skip }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  it('asks for the password, which is typed unseen, and does what it was told', async t => {
    const user = addSudoer()
    t.after(user.remove)
    const server = await startOpenSsh(user.name)
    t.after(() => server.stop())
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const { port, hostKey, keyFile } = server
    await folder.write('operator.json', JSON.stringify({ targets: { web: { type: 'ssh', host: '127.0.0.1', port, user: user.name, hostKey, keyFile, cwd: '/tmp', terminal: true } } }))
    const { listen } = await startService(t, {}, { OPERATOR_FILE: join(folder.path, 'operator.json'), LOG_LEVEL: 'silent' })
    const page = await openConsole(t, browser, await listen(), '/targets')
    const screen = async (): Promise<string> => (await page.locator('.xterm-rows').innerText()).replaceAll('\u00a0', ' ')
    await page.getByRole('button', { name: 'Open a terminal on web' }).click()
    await page.getByText('at its prompt').waitFor()
    await page.keyboard.type('sudo -k; sudo id -un\n')
    await waitFor('the question', async () => /password for/.test(await screen()))
    await page.getByText('busy', { exact: true }).waitFor()
    await page.keyboard.type(`${user.password}\n`)
    await waitFor('what it printed', async () => (await screen()).split('\n').some(line => line.trim() === 'root'))
    await page.getByText('at its prompt').waitFor()
    assert.ok(!(await screen()).includes(user.password))
  })
})
