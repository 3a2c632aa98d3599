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

  it('nothing is written that its page has not shown, also where it does not know what waits; it learns that by itself', async t => {
    const { origin, read } = await startScene(t)
    const before = await read('src/price.js')
    const send = async (path: string, body: object) => await (await fetch(`${origin}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json() as Readonly<Record<string, unknown>>
    const id = String((await send('/api/plans', { goal: 'fix the price of ten pieces', workspace: 'shop' }))['id'])
    const page = await openConsole(t, browser, origin, `/sessions/${id}`)
    await page.getByRole('button', { name: 'Make the change' }).waitFor()
    await page.route('**/api/**', async route => { await (route.request().method() === 'GET' ? route.abort() : route.continue()) })
    assert.equal((await send(`/api/plans/${id}/apply`, {}))['state'], 'awaiting_confirmation')
    await page.getByRole('button', { name: 'Make the change' }).click()
    await page.getByText('APPROVAL_OUTDATED').waitFor()
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: 'Apply 1 file' }).waitFor()
    assert.equal(await read('src/price.js'), before)
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
