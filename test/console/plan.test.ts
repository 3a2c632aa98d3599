import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Browser } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { startScene } from '../helpers/console-scene.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'

describe('A plan and a chat at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  it('the plan is looked at, applied, checked and taken back', async t => {
    const { origin, screens } = await startScene(t)
    const page = await openConsole(t, browser, origin, screens.find(({ name }) => name === 'plan')?.path ?? '')
    await page.getByText('looked at: 1 of 1').waitFor()
    assert.match(await page.locator('.diff').innerText(), /−\s+const discount = pieces > 10[^]*\+\s+const discount = pieces >= 10/)
    await page.getByRole('button', { name: 'Apply 1 file' }).click()
    await page.getByText('Check test').waitFor()
    await page.getByText('passed', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Undo…' }).click()
    await page.getByText('1 file would be as before').waitFor()
    assert.equal(await page.getByText('taken back').count(), 0)
    await page.getByRole('button', { name: 'Undo 1 file' }).click()
    await page.getByText('taken back').waitFor()
  })

  it('words that are written arrive, and the answer comes below them', async t => {
    const { origin, screens } = await startScene(t)
    const page = await openConsole(t, browser, origin, screens.find(({ name }) => name === 'chat')?.path ?? '')
    await page.getByText('Ida answers for it').waitFor()
    await page.getByLabel('Write to desk').fill('Who owns the shop?')
    await page.keyboard.press('Enter')
    await page.getByRole('list', { name: 'Dialogue' }).getByText('Who owns the shop?').waitFor()
    await page.getByText('Ida answers for it').nth(1).waitFor()
    assert.equal(await page.getByText('Who owns the shop?').count(), 1)
  })

  it('a session is started from what is registered, and cancelled', async t => {
    const { origin } = await startScene(t)
    const page = await openConsole(t, browser, origin, '/sessions/new?of=agents/desk')
    await page.getByRole('button', { name: 'Start the dialogue' }).click()
    await page.getByText('Ask me who owns a service.').waitFor()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('button', { name: 'End it' }).click()
    await page.getByText('This session has ended.').waitFor()
  })
})
