import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { askingPlace, type AskingService } from '../helpers/asking-skill.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** A prompt, whatever folder it tells. */
const PROMPT = /[$#] $/

describe('A shell in the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** Opens a terminal on the target, by its button. */
  async function open (t: TestContext): Promise<{ readonly page: Page, readonly service: AskingService, readonly origin: string }> {
    const service = await (await askingPlace(t)).start({ here: { terminal: true } })
    const origin = await service.listen()
    const page = await openConsole(t, browser, origin, '/targets')
    await page.getByRole('button', { name: 'Open a terminal on here' }).click()
    await page.getByText('at its prompt').waitFor()
    return { page, service, origin }
  }

  it('runs what is typed, and ends a command with Ctrl C', async t => {
    const { page } = await open(t)
    await page.keyboard.type('echo $((6 * 7))\n')
    await shown(page, '42')
    await page.keyboard.type('sleep 60\n')
    await page.getByText('busy', { exact: true }).waitFor()
    await page.keyboard.press('Control+c')
    await page.getByText('at its prompt').waitFor()
  })

  it('is attached again when the page is loaded again, with what it has printed', async t => {
    const { page } = await open(t)
    await page.keyboard.type('x=kept; echo $x-once\n')
    await shown(page, 'kept-once')
    await page.reload()
    await shown(page, 'kept-once')
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('echo $x-twice\n')
    await shown(page, 'kept-twice')
  })

  it('is taken over by a second tab, and taken back', async t => {
    const { page, origin } = await open(t)
    const other = await openConsole(t, browser, origin, new URL(page.url()).pathname.replace('/console', ''))
    await other.getByText('at its prompt').waitFor()
    await page.getByText(/attached elsewhere/).waitFor()
    await page.getByRole('button', { name: 'Attach again' }).click()
    await other.getByText(/attached elsewhere/).waitFor()
  })

  it('has a skill run its commands in it, each after its card, and is told when the skill is cancelled', async t => {
    const { page, service } = await open(t)
    await page.getByRole('button', { name: 'Skills' }).click()
    await page.getByRole('button', { name: 'Start walk' }).click()
    await page.locator('.card').getByText('echo one').waitFor()
    assert.match(await page.locator('.card').innerText(), /this shell/)
    // The end of what is agreed to has to be seen first.
    await page.locator('.card footer').scrollIntoViewIfNeeded()
    await waitFor('the button', async () => await page.getByRole('button', { name: 'Run on here…' }).isEnabled())
    if (process.env['SHOT']) await page.screenshot({ path: process.env['SHOT'] })
    await page.getByRole('button', { name: 'Run on here…' }).click()
    await page.getByRole('button', { name: 'Yes, run it' }).click()
    await shown(page, 'one')
    await page.locator('.card').getByText('echo two').waitFor()
    await page.getByRole('button', { name: 'Cancel skill' }).click()
    await page.getByRole('button', { name: 'End it' }).click()
    await page.getByText('This session has ended.').waitFor()
    const { json } = await service.get('/api/sessions?definition=skills%2Fwalk')
    assert.equal(json['sessions']?.['0']?.['status'], 'cancelled')
  })

  it('holds a command back while a line is half typed, says so, and lets it run once the line is empty', async t => {
    const { page } = await open(t)
    await page.getByRole('button', { name: 'Skills' }).click()
    await page.getByRole('button', { name: 'Start walk' }).click()
    await page.locator('.card footer').scrollIntoViewIfNeeded()
    await waitFor('the button', async () => await page.getByRole('button', { name: 'Run on here…' }).isEnabled())
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('echo half')
    await page.getByText('a line is being typed').waitFor()
    await page.getByRole('button', { name: 'Run on here…' }).click()
    await page.getByRole('button', { name: 'Yes, run it' }).click()
    await page.getByText('waits until your line in the terminal is empty').waitFor()
    await page.getByRole('button', { name: 'Ctrl C' }).click()
    await page.locator('.card').getByText('echo two').waitFor()
    assert.doesNotMatch(await screenOf(page), /^half$/m)
  })

  it('ends by its button', async t => {
    const { page, service } = await open(t)
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    await page.getByRole('heading', { name: 'Targets' }).waitFor()
    assert.deepEqual((await service.get('/api/terminals')).json['terminals'], [])
  })

  it('says that it has ended, and with which code, when its user has left it', async t => {
    const { page } = await open(t)
    await shownPrompt(page)
    await page.keyboard.type('exit 3\n')
    const told = page.getByText('This terminal is closed: the shell has ended with code 3.')
    await told.waitFor()
    assert.equal(await page.getByRole('button', { name: 'Attach again' }).count(), 0)
    // It is still so for whoever comes back.
    await page.reload()
    await told.waitFor()
  })

  it('says which signal has ended it', async t => {
    const { page } = await open(t)
    await shownPrompt(page)
    await page.keyboard.type('kill -KILL $$\n')
    const told = page.getByText('This terminal is closed: the shell was ended by the signal SIGKILL.')
    await told.waitFor()
    await page.reload()
    await told.waitFor()
  })
})

async function screenOf (page: Page): Promise<string> {
  return (await page.locator('.xterm-rows').innerText()).replaceAll('\u00a0', ' ')
}

async function shown (page: Page, text: string): Promise<void> {
  await waitFor(`${text} on the screen`, async () => (await screenOf(page)).split('\n').some(line => line.trim() === text))
}

async function shownPrompt (page: Page): Promise<void> {
  await waitFor('a prompt', async () => PROMPT.test((await screenOf(page)).trimEnd() + ' '))
}
