import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { waitFor } from '../helpers/wait-for.ts'

const TEXT = 'One\nTwo\nThree\nFour'
const REGISTRATIONS = { 'templates:team:greet': { userPrompt: TEXT }, 'environs:company': { name: 'Northwind', city: 'Oslo', lines: 3 }, 'tests:team:greet': [{ description: 'renders' }] }

describe('What somebody edits at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  async function open (t: TestContext, path: string) {
    const service = await startService(t, REGISTRATIONS)
    const origin = await service.listen()
    const page = await openConsole(t, browser, origin, path)
    await page.locator('.cm-content').first().waitFor()
    return { ...service, origin, page }
  }

  const storedPrompt = async (get: (path: string) => Promise<{ readonly json: { readonly [name: string]: unknown } }>): Promise<unknown> => (await get('/api/prompts/team.greet')).json['prompt']

  it('is somebody else\'s newer text in Raw, too, where nothing was typed', async t => {
    const { page, store, get } = await open(t, '/prompts/team.greet?tab=raw')
    store.set('shenma:templates:team:greet', JSON.stringify({ userPrompt: 'Theirs', description: 'new' }))
    await page.locator('.cm-content', { hasText: 'Theirs' }).waitFor()
    await page.locator('.cm-content').getByText('"new"').dblclick()
    await page.keyboard.insertText('mine')
    await page.keyboard.press('Control+s')
    await page.getByText('latest', { exact: true }).waitFor()
    assert.deepEqual(await storedPrompt(get), { description: 'mine', userPrompt: 'Theirs' })
  })

  it('keeps a text of JSON that cannot be read yet, while somebody else saves and the tab is left', async t => {
    const { page, store } = await open(t, '/prompts/team.greet?tab=settings')
    await write(page, '{ "description": "half')
    store.set('shenma:templates:team:greet', JSON.stringify({ userPrompt: 'Theirs' }))
    await page.getByText('Somebody else has saved a newer text.').waitFor()
    await page.getByRole('link', { name: 'Raw' }).click()
    await page.getByText('A text of JSON cannot be read yet').waitFor()
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.locator('.cm-content', { hasText: '"half' }).waitFor()
  })

  it('keeps the words that are typed while a save is on its way', async t => {
    const { page, get } = await open(t, '/prompts/team.greet')
    let release = () => {}
    const released = new Promise<void>(resolve => { release = resolve })
    await page.route('**/api/prompts/team.greet', async route => {
      if (route.request().method() === 'PUT') await released
      await route.continue()
    })
    await write(page, 'Saved')
    await page.keyboard.press('Control+s')
    await page.keyboard.insertText(' and more')
    release()
    await waitFor('the save', async () => JSON.stringify(await storedPrompt(get)) === '{"userPrompt":"Saved"}')
    await page.getByRole('button', { name: /^Save/, disabled: false }).waitFor()
    assert.equal(await page.locator('.cm-content').innerText(), 'Saved and more')
    await page.keyboard.press('Control+s')
    await waitFor('the second save', async () => JSON.stringify(await storedPrompt(get)) === '{"userPrompt":"Saved and more"}')
  })

  it('is shown beside what was opened and what somebody else has saved, and both are kept where they do not touch', async t => {
    const { page, store, get } = await open(t, '/prompts/team.greet')
    await write(page, 'Mine\nTwo\nThree\nFour')
    store.set('shenma:templates:team:greet', JSON.stringify({ userPrompt: 'One\nTwo\nThree\nTheirs' }))
    await page.keyboard.press('Control+s')
    await page.getByRole('heading', { name: 'When you began' }).waitFor()
    assert.deepEqual(await page.locator('.three pre').allInnerTexts().then(all => all.map(text => text.trim())), [TEXT, 'Mine\nTwo\nThree\nFour', 'One\nTwo\nThree\nTheirs'])
    await page.getByRole('button', { name: 'Save both together' }).click()
    await page.getByText('latest', { exact: true }).waitFor()
    assert.deepEqual(await storedPrompt(get), { userPrompt: 'Mine\nTwo\nThree\nTheirs' })
  })

  it('is not replaced when it is a variable that somebody else saves, and nothing is saved over theirs', async t => {
    const { page, store, get } = await open(t, '/environs/company')
    await page.locator('.cm-content').getByText('"Oslo"').dblclick()
    await page.keyboard.insertText('Bergen')
    store.set('shenma:environs:company', JSON.stringify({ name: 'Northwind', city: 'Oslo', lines: 4 }))
    await page.getByText('Somebody else has saved a newer text.').waitFor()
    await page.locator('.cm-content').getByText('Bergen').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Somebody else has saved this since you began.').waitFor()
    await page.getByRole('button', { name: 'Save mine over it' }).click()
    await waitFor('the save', async () => JSON.stringify((await get('/api/environs/company')).json).includes('Bergen'))
  })

  it('stays when it is tests that somebody else saves first', async t => {
    const { page, store, get } = await open(t, '/prompts/team.greet?tab=tests')
    await write(page, '[{ "description": "mine" }]')
    await page.route('**/api/prompts/team.greet/tests', async route => { await (route.request().method() === 'GET' ? route.abort() : route.continue()) })
    store.set('shenma:tests:team:greet', JSON.stringify([{ description: 'theirs' }]))
    await waitFor('theirs', async () => JSON.stringify((await get('/api/prompts/team.greet/tests')).json).includes('theirs'))
    await page.unroute('**/api/prompts/team.greet/tests')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Somebody else has saved this since you began.').waitFor()
    await page.locator('.three').getByText('mine').waitFor()
    await page.getByRole('button', { name: 'Go on editing' }).click()
    await page.locator('.cm-content', { hasText: 'mine' }).waitFor()
  })

  for (const [what, path, key, text, field] of [
    ['a prompt', '/prompts/team.greet', 'shenma:templates:team:greet', '{ "userPrompt": "Theirs', 'userPrompt'],
    ['a new prompt', '/prompts/team.new', 'shenma:templates:team:new', '{ "userPrompt": "Theirs', 'userPrompt'],
    ['a variable', '/environs/broken', 'shenma:environs:broken', '{ "city": "Theirs', 'city']
  ] as const) {
    it(`is mended where ${what} is stored as a text that is no JSON`, async t => {
      const service = await startService(t, REGISTRATIONS)
      service.store.set(key, text)
      await waitFor('the mistake', async () => JSON.stringify((await service.get('/api/status/entries')).json).includes(key))
      const page = await openConsole(t, browser, await service.listen(), path)
      await page.locator('.cm-content', { hasText: 'Theirs' }).click()
      await page.getByText('VALUE_INVALID').or(page.getByText(/cannot be used/)).first().waitFor()
      await page.keyboard.press('Control+End')
      assert.ok(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled())
      await page.keyboard.insertText(' again" }')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('heading', { name: 'What is stored' }).waitFor({ state: 'detached' })
      assert.deepEqual(await service.store.read([key]), [{ kind: 'text', text: `{ "${field}": "Theirs again" }` }])
    })
  }

  it('is said not to be kept where the browser has no room for it, until it has', async t => {
    const { page } = await open(t, '/prompts/team.greet')
    await page.evaluate('Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError") }')
    await write(page, 'Not kept')
    await page.getByText('This browser does not keep your draft').waitFor()
    await page.evaluate('Storage.prototype.setItem = function (key, text) { this[key] = text }')
    await page.keyboard.insertText(', but now')
    await page.getByText('This browser does not keep your draft').waitFor({ state: 'detached' })
  })

  it('is edited and saved in a browser that forbids its storage, which is said', async t => {
    const service = await startService(t, REGISTRATIONS)
    const origin = await service.listen()
    const context = await browser.newContext({ locale: 'en-GB' })
    t.after(async () => { await context.close() })
    await context.addInitScript(() => {
      for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(globalThis, name, { get () { throw new DOMException('forbidden', 'SecurityError') } })
    })
    const page = await context.newPage()
    await page.goto(`${origin}/console/prompts/team.greet`)
    await write(page, 'Not kept')
    await page.getByText('This browser does not keep your draft').waitFor()
    await page.keyboard.press('Control+s')
    await waitFor('the save', async () => JSON.stringify(await storedPrompt(service.get)) === '{"userPrompt":"Not kept"}')
    await page.getByText('This browser does not keep your draft').waitFor({ state: 'detached' })
  })

  it('is known to the other tabs of the browser', async t => {
    const { page, origin } = await open(t, '/prompts/team.greet')
    await write(page, 'Of the first tab')
    await page.getByText('draft', { exact: true }).waitFor()
    const other = await page.context().newPage()
    await other.goto(`${origin}/console/prompts/team.greet`)
    await other.locator('.cm-content', { hasText: 'Of the first tab' }).waitFor()
    await write(other, 'Of the second tab')
    await page.getByText(/Another tab of this browser has another draft/).waitFor()
    assert.equal(await page.locator('.cm-content').innerText(), 'Of the first tab')
    await page.getByRole('button', { name: 'Take it here' }).click()
    await page.locator('.cm-content', { hasText: 'Of the second tab' }).waitFor()
  })
})

async function write (page: Page, text: string): Promise<void> {
  await page.locator('.cm-content').first().click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}
