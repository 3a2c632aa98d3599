import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Locator, type Page } from 'playwright-core'
import { askingPlace, type AskingService, type Walk } from '../helpers/asking-skill.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { waitFor } from '../helpers/wait-for.ts'

// The skill wants `echo one`, `echo two`, then `echo one` again.

describe('An approver at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  async function approvals (t: TestContext): Promise<{ readonly page: Page, readonly service: AskingService, readonly walk: Walk }> {
    const service = await (await askingPlace(t)).start()
    const origin = await service.listen()
    const walk = await service.walk()
    const page = await openConsole(t, browser, origin, '/approvals')
    await card(page).waitFor()
    return { page, service, walk }
  }

  it('sees all that is decided about, and runs exactly that in two steps', async t => {
    const { page, walk } = await approvals(t)
    assert.match(await card(page).innerText(), /Run a command on here[^]*Folder[^]*shop[^]*no network|network open/)
    await enabled(run(page))
    await run(page).click()
    await yes(page).click()
    await page.getByText(/Decided/).waitFor()
    await card(page).getByText('echo two').waitFor()
    assert.equal((await walk.waiting())?.['effect']?.['command'], 'echo two')
  })

  it('runs a command as it was edited', async t => {
    const { page, service, walk } = await approvals(t)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Command, edited').fill('echo edited')
    await enabled(run(page))
    await run(page).click()
    await page.getByText('Run this, as you edited it?').waitFor()
    await yes(page).click()
    await waitFor('what it printed', async () => JSON.stringify((await service.get(`/api/sessions/${walk.id}/messages`)).json).includes('"output":"edited\\n"'))
  })

  it('runs nothing with the second of two clicks, with one after less than 0.8 s, nor with Enter and Space', async t => {
    const { page, walk } = await approvals(t)
    await page.reload()
    await card(page).waitFor()
    assert.ok(await run(page).isDisabled())
    await enabled(run(page))
    await run(page).dblclick()
    await yes(page).waitFor()
    await yes(page).focus()
    for (const key of ['Enter', ' ', 'Enter']) await page.keyboard.press(key)
    await yes(page).dispatchEvent('click')
    assert.equal((await walk.waiting())?.['effect']?.['command'], 'echo one')
  })

  it('runs it without a pointer, by the name of its place', async t => {
    const { page, walk } = await approvals(t)
    await enabled(page.getByRole('button', { name: 'By keys' }))
    await page.getByRole('button', { name: 'By keys' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('.second button:focus', { hasText: 'No' }).waitFor()
    await page.getByLabel('here and Enter').focus()
    await page.keyboard.type('here')
    await page.keyboard.press('Enter')
    await card(page).getByText('echo two').waitFor()
    assert.equal((await walk.waiting())?.['effect']?.['command'], 'echo two')
  })

  it('works with letters: one opens the second step, one edits, one skips, and none runs anything', async t => {
    const { page, walk } = await approvals(t)
    await enabled(run(page))
    await page.keyboard.press('a')
    await page.locator('.second button:focus', { hasText: 'No' }).waitFor()
    await page.keyboard.press('Escape')
    await yes(page).waitFor({ state: 'detached' })
    await page.keyboard.press('e')
    await page.getByLabel('Command, edited').waitFor()
    await page.keyboard.press('e')
    await page.getByLabel('Command, edited').waitFor({ state: 'detached' })
    assert.equal((await walk.waiting())?.['effect']?.['command'], 'echo one')
    await page.keyboard.press('s')
    await page.getByText('refused').first().waitFor()
  })

  it('sees on a mark what he has changed, and what differs in the next command', async t => {
    const { page } = await approvals(t)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Command, edited').fill('echo other')
    await card(page).locator('.command mark', { hasText: 'other' }).waitFor()
    await page.getByRole('button', { name: 'As proposed' }).click()
    assert.equal(await card(page).locator('.command mark').count(), 0)
    await enabled(run(page))
    await run(page).click()
    await yes(page).click()
    await card(page).getByText('echo two').waitFor()
    assert.equal(await card(page).locator('.command mark').innerText(), 'two')
  })

  it('refuses', async t => {
    const { page } = await approvals(t)
    await page.getByRole('button', { name: 'Skip' }).click()
    await page.getByText('refused').first().waitFor()
  })

  it('is not told that he has allowed what somebody else decided first; what is new stands below', async t => {
    const { page, service, walk } = await approvals(t)
    await enabled(run(page))
    await run(page).click()
    await page.route('**/api/approvals', route => route.abort())
    const { id, digest } = (await walk.waiting()) as { readonly id: unknown, readonly digest: unknown }
    await service.post(`/api/approvals/${String(id)}`, { decision: 'reject', digest })
    await yes(page).click()
    await page.getByText('not by this page').waitFor()
    assert.equal(await page.getByText('allowed', { exact: true }).count(), 0)
    await page.unroute('**/api/approvals')
    await card(page).getByText('echo two').waitFor()
  })

  it('is told that nobody knows whether his answer counted when the connection is lost, and looks again', async t => {
    const { page } = await approvals(t)
    await enabled(run(page))
    await run(page).click()
    // The answer arrives, and what it says does not.
    await page.route('**/api/approvals/*', async route => {
      if (route.request().method() !== 'POST') { await route.continue(); return }
      await route.fetch()
      await route.abort()
    })
    await page.route('**/api/approvals', route => route.abort())
    await yes(page).click()
    await page.getByText('it is not known whether this counted').waitFor()
    await page.unroute('**/api/approvals/*')
    await page.getByRole('button', { name: 'Look again' }).click()
    await page.getByText(/Decided/).waitFor()
  })
})

describe('What deceives', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  const DECEIVING: ReadonlyArray<readonly [what: string, command: string, shown: RegExp]> = [
    ['a turned direction and a letter that nobody sees', 'echo a\u202e\u3164b', /\\u\{202e\}\\u\{3164\}[^]*2 hidden/],
    ['a word of two alphabets', 'echo ex\u0430mple.com', /A word mixes two alphabets: ex\u0430mple/],
    ['what stands far to the right', `echo a${' '.repeat(5000)}; rm b`, /; rm b[^]*1 line/],
    ['what looks like a page', '<script>document.title = 1</script>', /<script>document\.title = 1<\/script>/]
  ]

  it('is shown as what it is in a command, which is never wider than the window and needs its place to be typed', async t => {
    const service = await (await askingPlace(t)).start()
    const origin = await service.listen()
    await service.walk()
    const page = await openConsole(t, browser, origin, '/approvals', { viewport: { width: 390, height: 844 } })
    for (const [what, command, shown] of DECEIVING) {
      await page.getByRole('button', { name: /^(?:Edit|As proposed)$/ }).click()
      if (await page.getByLabel('Command, edited').count() === 0) await page.getByRole('button', { name: 'Edit' }).click()
      await page.getByLabel('Command, edited').fill(command)
      await waitFor(what, async () => shown.test(await card(page).innerText()))
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), what)
    }
    assert.notEqual(await page.title(), '1')
  })

  it('has to have its place typed before it runs', async t => {
    const service = await (await askingPlace(t)).start()
    const origin = await service.listen()
    await service.walk()
    const page = await openConsole(t, browser, origin, '/approvals')
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Command, edited').fill('echo a\u200bb')
    await page.getByLabel(/^Type/).waitFor()
    await page.getByLabel(/^Type/).fill('her')
    await page.waitForTimeout(1000)
    assert.ok(await run(page).isDisabled())
    await page.getByLabel(/^Type/).fill('here')
    await enabled(run(page))
  })
})

function card (page: Page): Locator {
  return page.locator('.card').last()
}

const run = (page: Page): Locator => page.getByRole('button', { name: 'Run on here…' }).last()
const yes = (page: Page): Locator => page.getByRole('button', { name: 'Yes, run it' })

async function enabled (button: Locator): Promise<void> {
  await waitFor('the button', async () => await button.isEnabled())
}
