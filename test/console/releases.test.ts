import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { waitFor } from '../helpers/wait-for.ts'

const REGISTRATIONS = {
  'templates:team:greet': { messages: [{ role: 'system', content: 'You serve.' }, { role: 'user', content: 'Greet.' }] },
  'templates:team:includes': '{{> policy}}',
  'templates:team:names': '{{> "team.policy@next-week"}}',
  'templates:team:around': '{{> names}}',
  'templates:team:policy': 'Never promise a date.'
}

describe('Releases at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** A service with three versions of a prompt; `production` went from 1 to 2. */
  async function open (t: TestContext, path: string, environment: Readonly<Record<string, string>> = {}) {
    const service = await startService(t, REGISTRATIONS, { VERSIONS: 'http', ...environment })
    const change = async (method: 'PUT' | 'DELETE', url: string, body?: object) => {
      const { statusCode } = await service.app.inject({ method, url, ...(body === undefined ? {} : { payload: body }) })
      assert.ok(statusCode < 300, `${method} ${url}: ${statusCode}`)
    }
    const move = async (label: string, version: unknown, note?: string) => { await change('PUT', `/api/prompts/team.policy/labels/${label}`, { version, note }) }
    for (const text of ['Promise no date at all.', 'Promise a date.']) await change('PUT', '/api/prompts/team.policy', { userPrompt: text })
    for (const version of environment['VERSIONS'] === 'off' ? [] : [1, 2]) await move('production', version)
    const page = await openConsole(t, browser, await service.listen(), path)
    const labels = async (): Promise<unknown> => (await service.get('/api/prompts/team.policy/versions')).json['labels']
    const text = async (id: string): Promise<unknown> => (await service.get(`/api/prompts/${id}`)).json['prompt']
    return { ...service, page, change, move, labels, text }
  }

  const RELEASES = '/prompts/team.policy?tab=releases'
  const form = (page: Page) => page.getByRole('region', { name: /production|next-week|New label/ })

  it('roll a label back in one place, after they said what that does, and take it back by a key on another screen', async t => {
    const { page, labels } = await open(t, RELEASES)
    await page.getByRole('button', { name: 'Roll back production' }).click()
    await form(page).getByText(/production goes from version 2 back to version 1 of .+ by store\. Callers with this label get it at once\. 1 prompt includes it\./).waitFor()
    await form(page).getByText('What changes').click()
    await form(page).getByText('Promise no date at all.').waitFor()
    assert.deepEqual(await labels(), { production: 2 })
    await form(page).getByRole('button', { name: 'Roll back production' }).click()
    await page.getByRole('status').getByText('production of team.policy means version 1 now.').waitFor()
    assert.deepEqual(await labels(), { production: 1 })
    await page.getByRole('link', { name: 'Prompts' }).first().click()
    await page.getByRole('heading', { name: 'Prompts' }).waitFor()
    await page.keyboard.press('u')
    await page.getByText('Taken back: production of team.policy means version 1 now.').waitFor()
    assert.deepEqual(await labels(), { production: 2 })
  })

  it('say who has moved a label meanwhile, and ask anew, whether that is seen before or by the refusal', async t => {
    const { page, labels, move } = await open(t, RELEASES)
    await page.getByRole('button', { name: 'Roll back production' }).click()
    const act = form(page).getByRole('button', { name: 'Roll back production' })
    // The page hears of nothing, so that it finds the move when it sends its own.
    await page.route('**/api/prompts/team.policy/versions', async route => {
      const seen = await route.fetch()
      await move('production', 3, 'urgent')
      await route.fulfill({ response: seen })
    }, { times: 1 })
    await act.click()
    await form(page).getByText(/anyone has moved production meanwhile, from version 2 to version 3, .+urgent/).waitFor()
    await form(page).getByText('production goes from version 3 back to version 2 of', { exact: false }).waitFor()
    assert.ok(await act.isDisabled())
    assert.deepEqual(await labels(), { production: 3 })
    await form(page).getByRole('button', { name: 'Go on from there' }).click()
    await act.click()
    await page.getByText('production of team.policy means version 2 now.').waitFor()
    assert.deepEqual(await labels(), { production: 2 })
  })

  for (const [what, button, wanted, says] of [
    ['goes back', 'Roll back production', 1, 'production means version 1 now, as you wanted.'],
    ['is removed', 'Remove production', undefined, 'production is gone now, as you wanted.']
  ] as const) {
    it(`say that a label is what was wanted when the reply was lost with which it ${what}, and end there`, async t => {
      const { page, labels } = await open(t, RELEASES)
      await page.getByRole('button', { name: button }).click()
      await page.route('**/labels/production', async route => {
        await route.fetch()
        await route.abort()
      })
      await form(page).getByLabel(/Type/).fill('production', { timeout: 500 }).catch(() => {})
      await form(page).getByRole('button', { name: button }).click()
      await page.getByText(says).waitFor()
      assert.deepEqual(await labels(), wanted === undefined ? {} : { production: wanted })
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByText(says).waitFor({ state: 'detached' })
    })
  }

  it('split a label by keyboard, from nobody to all, and make one of any name', async t => {
    const { page, labels } = await open(t, RELEASES)
    await page.getByRole('button', { name: 'Move production', exact: true }).click()
    const slider = page.getByRole('slider', { name: 'Percent of callers' })
    await slider.focus()
    await page.keyboard.press('Home')
    await page.getByText('Nobody gets version 3: all callers with the label get version 2, and it is not split.').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Move to version 2' }).isDisabled(), 'that is what it means')
    for (let times = 0; times < 3; times++) await page.keyboard.press('ArrowRight')
    await page.getByText('Of 100 callers, 3 get version 3 and 97 get version 2.').waitFor()
    await page.keyboard.press('End')
    await page.getByText('All callers with the label get version 3').waitFor()
    await page.getByRole('spinbutton', { name: 'Percent of callers' }).fill('5')
    await page.getByLabel('Note').fill('a twentieth')
    await page.getByLabel('Type production').fill('production')
    await page.getByRole('button', { name: 'Move to version 3 for 5 %, version 2 for 95 %' }).click()
    await page.getByText('production of team.policy means version 3 for 5 %, version 2 for 95 % now.').waitFor()
    assert.deepEqual(await labels(), { production: [{ version: 3, weight: 5 }, { version: 2, weight: 95 }] })
    await page.getByRole('button', { name: 'New label' }).click()
    await page.getByLabel('Label', { exact: true }).fill('Next week')
    await page.getByText('A small letter, then small letters').waitFor()
    await page.getByLabel('Label', { exact: true }).fill('next-week')
    await form(page).getByText('next-week is made, and means version 3').waitFor()
    assert.deepEqual(await violationsOf(page), [])
    await form(page).getByRole('button', { name: 'New label' }).click()
    await page.getByText('next-week of team.policy means version 3 now.').waitFor()
    assert.equal((await labels() as { readonly 'next-week': unknown })['next-week'], 3)
  })

  it('say what would break without a label before it is removed, and make it again by Undo', async t => {
    const { page, labels, move } = await open(t, RELEASES)
    await move('next-week', 3)
    await page.getByRole('button', { name: 'Remove next-week' }).click()
    await form(page).getByText('Whoever asks for team.policy@next-week is answered 404 from then on; now it is version 3.').waitFor()
    await form(page).getByText('2 prompts name it for a partial, and cannot be rendered without it:').waitFor()
    await form(page).getByRole('link', { name: 'team.around' }).waitFor()
    await form(page).getByRole('button', { name: 'Remove next-week' }).click()
    await page.getByText('team.policy has no label next-week now.').waitFor()
    assert.deepEqual(await labels(), { production: 2 })
    await page.getByRole('button', { name: /^Undo/ }).click()
    await page.getByText('Taken back: team.policy has no label next-week now.').waitFor()
    assert.deepEqual(await labels(), { production: 2, 'next-week': 3 })
  })

  it('restore a version over what was seen only, and put the text before back', async t => {
    const { page, change, text } = await open(t, RELEASES)
    await page.route('**/restore', async route => {
      await change('PUT', '/api/prompts/team.policy?note=theirs', { userPrompt: 'Theirs' })
      await route.continue()
    }, { times: 1 })
    const row = page.getByRole('row', { name: /^1 / })
    await row.getByRole('button', { name: 'Restore' }).click()
    await page.getByText(/Somebody has saved another text meanwhile, so nothing was restored: version 4, anyone, .*theirs/).waitFor()
    assert.deepEqual(await text('team.policy'), { userPrompt: 'Theirs' })
    await page.getByRole('button', { name: 'Restore it all the same' }).click()
    await page.getByText('Version 1 was restored').waitFor()
    assert.deepEqual(await text('team.policy'), { userPrompt: 'Never promise a date.' })
    await page.getByRole('button', { name: /^Undo/ }).click()
    await page.getByText('Taken back: Version 1 was restored').waitFor()
    assert.deepEqual(await text('team.policy'), { userPrompt: 'Theirs' })
  })

  it('say after a save whom it has changed, and lead back', async t => {
    const { page, text } = await open(t, '/prompts/team.policy')
    await write(page, 0, 'Mine')
    await page.keyboard.press('Control+s')
    const line = page.getByRole('status').filter({ hasText: 'Saved as version 4.' })
    await line.getByText('Callers without a label get this now. Labels stay: production (version 2). 1 prompt includes it.').waitFor()
    await line.getByRole('button', { name: 'Back to the text before' }).click()
    await page.getByText('The text before is stored again.').waitFor()
    assert.deepEqual(await text('team.policy'), { userPrompt: 'Promise a date.' })
    await line.waitFor({ state: 'detached' })
    await page.locator('.cm-content', { hasText: 'Promise a date.' }).waitFor()
  })

  it('say after a save that nobody gets it where a label is served', async t => {
    const { page } = await open(t, '/prompts/team.policy', { DEFAULT_LABEL: 'production' })
    await write(page, 0, 'Mine')
    await page.keyboard.press('Control+s')
    await page.getByText('Callers without a label get production, version 2: nobody gets this until a label is moved, but who asks for latest.').waitFor()
  })

  it('say that a folder keeps no versions, after a save, too', async t => {
    const { page, text } = await open(t, '/prompts/team.greet', { VERSIONS: 'off' })
    await write(page, 1, 'Mine')
    await page.keyboard.press('Control+s')
    await page.getByText('Saved. Callers without a label get this now. The text before is kept nowhere but on this page.').waitFor()
    await page.getByRole('link', { name: 'Releases' }).click()
    await page.getByText('No version is kept of what is saved here').waitFor()
    await page.getByText('No versions yet').waitFor()
    assert.equal(await page.getByText('A version is made with every save').count(), 0)
    await page.getByRole('button', { name: 'Back to the text before' }).click()
    await page.getByText('The text before is stored again.').waitFor()
    assert.deepEqual(await text('team.greet'), REGISTRATIONS['templates:team:greet'])
    await page.getByRole('button', { name: /^Undo/ }).click()
    await waitFor('what was saved', async () => JSON.stringify(await text('team.greet')).includes('Mine'))
  })

  it('bring a draft back that was discarded, on another screen and also when the page is closed, and never over newer words', async t => {
    const { page } = await open(t, '/prompts/team.greet')
    const words = (text: string) => page.locator('.cm-content', { hasText: text })
    await write(page, 1, 'Half a thought')
    await page.getByRole('button', { name: 'Discard draft' }).click()
    await words('Greet.').waitFor()
    await page.reload()
    await words('Half a thought').waitFor()
    await page.getByRole('button', { name: 'Discard draft' }).click()
    await words('Greet.').waitFor()
    await page.getByRole('link', { name: 'Prompts' }).first().click()
    await page.getByRole('button', { name: /^Undo/ }).click()
    await page.getByText('Taken back: The draft was discarded.').waitFor()
    await page.getByRole('link', { name: 'team.greet' }).click()
    await words('Half a thought').waitFor()
    await page.getByRole('button', { name: 'Discard draft' }).click()
    await write(page, 1, 'A newer one')
    await page.getByRole('button', { name: /^Undo/ }).click()
    await page.getByText('Another tab of this browser has another draft').waitFor()
    await words('A newer one').waitFor()
    await page.getByRole('button', { name: 'Take it here' }).click()
    await words('Half a thought').waitFor()
  })

  it('put a message back that was removed, beside what was typed since', async t => {
    const { page } = await open(t, '/prompts/team.greet')
    await page.locator('.cm-content').nth(1).waitFor()
    await page.getByRole('button', { name: 'Remove', exact: true }).first().click()
    await page.getByText('Message 1 was removed.').waitFor()
    await write(page, 0, 'Greet her.')
    await page.getByRole('button', { name: /^Undo/ }).click()
    await page.locator('.cm-content', { hasText: 'You serve.' }).waitFor()
    assert.deepEqual(await page.locator('.cm-content').allInnerTexts(), ['You serve.', 'Greet her.'])
  })
})

/** Replaces the text of a message. */
async function write (page: Page, message: number, text: string): Promise<void> {
  await page.locator('.cm-content').nth(message).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}
