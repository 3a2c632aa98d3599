import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Locator, type Page } from 'playwright-core'
import { askingPlace, type AskingService, type Walk } from '../helpers/asking-skill.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, type ConsoleWishes, openConsole } from '../helpers/console.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** Later than any time of a page that was just opened, in ms. */
const DAY = 86_400_000

// The skill wants `echo one`, `echo two`, then `echo one` again.

describe('An approver at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  async function approvals (t: TestContext, wishes: ConsoleWishes = {}): Promise<{ readonly page: Page, readonly service: AskingService, readonly walk: Walk }> {
    const service = await (await askingPlace(t)).start()
    const origin = await service.listen()
    const walk = await service.walk()
    const page = await openConsole(t, browser, origin, '/approvals', wishes)
    await card(page).waitFor()
    return { page, service, walk }
  }

  it('sees all that is decided about, and runs exactly that in two steps', async t => {
    const { page, walk } = await approvals(t)
    assert.match(await card(page).innerText(), /Run a command on here[^]*Folder[^]*shop[^]*Sandbox\s*none, network open, as the user of the service/)
    await enabled(run(page))
    await run(page).click()
    await yes(page).click()
    await page.getByText(/Decided/).waitFor()
    await card(page).getByText('echo two').waitFor()
    assert.equal((await walk.waiting())?.['effect']?.['command'], 'echo two')
  })

  it('is told in the title of the window that something waits', async t => {
    const { page } = await approvals(t)
    await waitFor('the count', async () => (await page.title()).startsWith('(1) '))
    await page.getByRole('link', { name: 'Prompts', exact: true }).click()
    await waitFor('the count on another screen', async () => (await page.title()).startsWith('(1) Prompts'))
  })

  it('runs it with two taps of a finger, in two places', async t => {
    const { page, walk } = await approvals(t, { hasTouch: true, viewport: { width: 390, height: 800 } })
    await enabled(run(page))
    await run(page).tap()
    await yes(page).tap()
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
    await card(page).getByRole('link', { name: 'skills/walk' }).click()
    await page.locator('.ran', { hasText: 'echo edited' }).getByText(/^edited/).waitFor()
  })

  it('is told of in the timeline, with what he has allowed', async t => {
    const { page, walk } = await approvals(t)
    await enabled(run(page))
    await run(page).click()
    await yes(page).click()
    await card(page).getByText('echo two').waitFor()
    await page.goto(`${new URL(page.url()).origin}/console/sessions/${walk.id}?tab=timeline`)
    await page.getByText(/“echo one” was run on here\..* allowed it after /).first().waitFor()
  })

  it('runs nothing with a click 0.1 s after a change', async t => {
    const { page, walk } = await approvals(t)
    await page.clock.install()
    await page.reload()
    await page.getByRole('button', { name: 'Edit' }).click()
    await enabled(run(page))
    await page.clock.pauseAt(Date.now() + DAY)
    await page.getByLabel('Command, edited').fill('echo other')
    await page.clock.runFor(100)
    await run(page).click({ force: true })
    assert.deepEqual([await run(page).isDisabled(), await yes(page).count()], [true, 0])
    await page.clock.runFor(800)
    await enabled(run(page))
    assert.equal((await walk.waiting())?.['effect']?.['command'], 'echo one')
  })

  it('runs nothing with the second of two clicks, nor with Enter and Space', async t => {
    const { page, walk } = await approvals(t)
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
    await page.keyboard.press('j')
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
    await page.getByText('press S again').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('press S again').waitFor({ state: 'detached' })
    await page.keyboard.press('s')
    await page.getByText('press S again').waitFor()
    assert.equal((await walk.waiting())?.['effect']?.['command'], 'echo one')
    await page.keyboard.press('s')
    await page.getByText('refused').first().waitFor()
  })

  it('decides nothing with letters while no card has the focus', async t => {
    const { page, walk } = await approvals(t)
    await enabled(run(page))
    await page.keyboard.type('sessions, ease, as')
    assert.deepEqual([await yes(page).count(), await page.getByText('press S again').count(), await page.getByLabel('Command, edited').count()], [0, 0, 0])
    assert.equal((await walk.waiting())?.['effect']?.['command'], 'echo one')
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

  it('is told so, too, when somebody decides while his answer is on its way', async t => {
    const { page, service, walk } = await approvals(t)
    await enabled(run(page))
    await run(page).click()
    const { id, digest } = (await walk.waiting()) as { readonly id: unknown, readonly digest: unknown }
    const answers: number[] = []
    await page.route('**/api/approvals/*', async route => {
      if (route.request().method() !== 'POST') { await route.continue(); return }
      await service.post(`/api/approvals/${String(id)}`, { decision: 'reject', digest })
      const response = await route.fetch()
      answers.push(response.status())
      await route.fulfill({ response })
    })
    await yes(page).click()
    await page.getByText('not by this page').waitFor()
    assert.deepEqual([answers, await page.getByText('allowed', { exact: true }).count()], [[409], 0])
    await card(page).getByText('echo two').waitFor()
  })

  it('is told that it is another one by now, when what he was shown has changed on its way', async t => {
    const { page, walk } = await approvals(t)
    await enabled(run(page))
    await run(page).click()
    await page.route('**/api/approvals/*', async route => {
      if (route.request().method() !== 'POST') { await route.continue(); return }
      await route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON() as object, digest: 'anothertext1' }) })
    }, { times: 3 })
    await yes(page).click()
    await card(page).getByText('APPROVAL_OUTDATED').waitFor()
    assert.equal(await page.getByText('allowed', { exact: true }).count(), 0)
    assert.equal((await walk.waiting())?.['effect']?.['command'], 'echo one')
  })

  it('decides all the same when the service is overloaded for a moment, and refuses what it has not begun', async t => {
    const { page, walk } = await approvals(t)
    await enabled(run(page))
    await run(page).click()
    let refused = 0
    await page.route('**/api/approvals/*', async route => {
      refused++
      await route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json: { statusCode: 503, code: 'OVERLOADED', error: 'Service Unavailable', message: 'More requests come than can be answered; try again', requestId: '1' } })
    }, { times: 2 })
    await yes(page).click()
    await card(page).getByText('echo two').waitFor()
    assert.deepEqual([refused, (await walk.waiting())?.['effect']?.['command']], [2, 'echo two'])
  })

  for (const [what, isSilent] of [['is lost', false], ['never comes', true]] as const) {
    it(`is told that nobody knows whether his answer counted when the reply ${what}, and looks again`, async t => {
      const { page } = await approvals(t)
      await enabled(run(page))
      await run(page).click()
      // The answer arrives, and what it says does not.
      await page.route('**/api/approvals/*', async route => {
        if (route.request().method() !== 'POST') { await route.continue(); return }
        await route.fetch()
        if (!isSilent) await route.abort()
      })
      await page.route('**/api/approvals', route => route.abort())
      await yes(page).click()
      await page.getByText('it is not known whether this counted').waitFor()
      await page.unroute('**/api/approvals/*')
      await page.getByRole('button', { name: 'Look again' }).click()
      await page.getByText(/Decided/).waitFor()
      assert.equal(await page.getByText('not by this page').count(), 0)
    })
  }
})

function card (page: Page): Locator {
  return page.locator('.card').last()
}

const run = (page: Page): Locator => page.getByRole('button', { name: 'Run on here…' }).last()
const yes = (page: Page): Locator => page.getByRole('button', { name: 'Yes, run it' })

async function enabled (button: Locator): Promise<void> {
  await waitFor('the button', async () => await button.isEnabled())
}
