import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { askingPlace } from '../helpers/asking-skill.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** Keeps the notifications that the page shows. */
const KEEP_NOTES = 'globalThis.notes = []; globalThis.Notification = class extends Notification { constructor (title, wish) { super(title, wish); this.tagged = wish.tag; notes.push(this) } }'

const GREET = { 'templates:team:greet': '{"userPrompt": "Hello."}' }

describe('Between the console and the service', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** How often each path of the API is asked for from now on. */
  function counted (page: Page): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    page.on('request', request => {
      const { pathname } = new URL(request.url())
      counts.set(pathname, (counts.get(pathname) ?? 0) + 1)
    })
    return counts
  }

  it('what waits is told by events, and asked for only when it has changed, as often as it has', async t => {
    const service = await (await askingPlace(t)).start()
    const page = await openConsole(t, browser, await service.listen(), '/approvals')
    await page.getByText('Nothing waits', { exact: false }).first().waitFor()
    await page.clock.install()
    const counts = counted(page)
    await page.clock.runFor(30_000)
    assert.deepEqual([counts.get('/api/approvals'), counts.get('/api/sessions')], [undefined, undefined])
    await service.walk()
    await page.locator('.card').getByText('echo one').waitFor()
    await page.clock.resume()
    await page.getByRole('link', { name: /Approvals/ }).first().getByText('1', { exact: true }).waitFor()
    assert.ok((counts.get('/api/approvals') ?? 0) <= 3, `${counts.get('/api/approvals')} requests for one approval`)
  })

  it('what waits is asked for at intervals while no events come, which is told, and told no more once they come again', async t => {
    const service = await (await askingPlace(t)).start()
    const origin = await service.listen()
    const context = await browser.newContext({ locale: 'en-GB' })
    t.after(() => context.close())
    await context.route('**/api/events', route => route.abort())
    const cut = await context.newPage()
    await cut.goto(`${origin}/console/approvals`)
    await cut.getByText('asks every 15 s').waitFor()
    await service.walk()
    await cut.locator('.card').getByText('echo one').waitFor()
    await context.unroute('**/api/events')
    await cut.getByText('live', { exact: true }).waitFor()
  })

  it('a notification tells of each approval while the page is hidden, if it was wished for by a press, and leads to it', async t => {
    const service = await (await askingPlace(t)).start()
    const origin = await service.listen()
    const page = await openConsole(t, browser, origin, '/approvals')
    await page.context().grantPermissions(['notifications'], { origin })
    await page.addInitScript(KEEP_NOTES)
    await page.reload()
    const hide = async (): Promise<void> => { await page.evaluate('Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" })') }
    const notes = async (): Promise<unknown> => await page.evaluate('notes.map(({ title, body, tagged }) => [title, body, tagged])')
    const count = page.getByRole('link', { name: /Approvals/ }).first().locator('.count')
    await page.getByRole('button', { name: 'Notify me' }).waitFor()
    await hide()
    const unwished = await service.walk()
    await count.getByText('1', { exact: true }).waitFor()
    assert.deepEqual(await notes(), [])
    await page.reload()
    await page.getByRole('button', { name: 'Notify me' }).click()
    await page.getByRole('button', { name: 'Notifications are on' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Notifications are on' }).waitFor()
    const seen = await service.walk()
    await count.getByText('2', { exact: true }).waitFor()
    assert.deepEqual(await notes(), [])
    await page.getByRole('link', { name: 'Prompts' }).first().click()
    await hide()
    const { approval } = await service.walk()
    await waitFor('a notification', async () => (await notes() as unknown[]).length > 0)
    assert.deepEqual(await notes(), [['An action waits for your decision', 'skills/walk', approval['id']]])
    await page.evaluate('notes[0].onclick()')
    await page.locator('.card header:focus').waitFor()
    assert.equal(new URL(page.url()).searchParams.get('at'), approval['id'])
    const focused = await page.evaluate('[...document.querySelectorAll(".card")].findIndex(card => card.contains(document.activeElement))')
    assert.equal(focused, 2)
    assert.ok(unwished.id !== seen.id)
  })

  it('a part of the code that does not come is asked for again, and then told, with a button that goes on', async t => {
    const { listen } = await startService(t, GREET)
    const page = await openConsole(t, browser, await listen(), '/prompts')
    await page.getByRole('link', { name: 'team.greet' }).waitFor()
    const go = async (name: string): Promise<void> => { await page.getByRole('navigation').getByRole('link', { name }).click() }
    await page.route('**/console/assets/*', route => route.abort(), { times: 1 })
    await go('Tools')
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    await page.route('**/console/**', route => route.abort())
    await go('Sessions')
    await page.getByText('A part of the console could not be loaded, since the service cannot be reached.').waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
  })

  it('a console that was updated says so, and what was typed is there when it was loaded anew', async t => {
    const agent = { mode: 'tools', help: 'Ask.', system: 'You are the desk.', tools: [], messages: {} }
    const service = await startService(t, { 'agents:desk': agent }, { LLM_BASE_URL: 'builtin:echo' })
    const origin = await service.listen()
    const path = `/sessions/${String((await service.post('/api/agents/desk/sessions')).json['id'])}`
    const page = await openConsole(t, browser, origin, path)
    await page.getByLabel('Write to desk').fill('Half a question')
    await page.route('**/console/assets/*', route => route.fulfill({ status: 404 }))
    await page.route('**/console/', route => route.fulfill({ body: '<script src="/console/assets/main-OTHER.js"></script>' }))
    await page.getByRole('navigation').getByRole('link', { name: 'Tools' }).click()
    await page.getByText('The console was updated.').waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    await page.goBack()
    await waitFor('the words', async () => await page.getByLabel('Write to desk').inputValue() === 'Half a question')
  })

  it('a page whose first script does not come says so', async t => {
    const { listen } = await startService(t, GREET)
    const context = await browser.newContext()
    t.after(() => context.close())
    await context.route('**/console/assets/main-*.js', route => route.abort())
    const page = await context.newPage()
    await page.goto(`${await listen()}/console/prompts`)
    await page.getByText('The console does not load.').waitFor()
    await context.unrouteAll()
    await page.getByRole('link', { name: 'Load it again' }).click()
    await page.getByRole('link', { name: 'team.greet' }).waitFor()
  })

  it('an error is told in Russian on a Russian page, with the service\'s own words a press away', async t => {
    const { listen } = await startService(t, GREET)
    const page = await openConsole(t, browser, await listen(), '/tools/team.gone?lang=ru')
    await page.getByText('Инструмента «team.gone» нет.').waitFor()
    assert.equal(await page.getByText('Tool "team.gone" not found').isVisible(), false)
    await page.getByText('Что ответил сервис').click()
    await page.getByText('Tool "team.gone" not found').waitFor()
    const guarded = await startService(t, {}, { API_TOKENS: tokenEntry('ann', 'read') })
    const other = await openConsole(t, browser, await guarded.listen(), '/prompts?lang=ru')
    await other.getByRole('dialog').getByText('Нужен токен.', { exact: true }).waitFor()
  })

  it('the keys of the console are those of their places on a Russian layout: Ctrl S saves, g a leads to the approvals', async t => {
    const { listen, get } = await startService(t, GREET)
    const page = await openConsole(t, browser, await listen(), '/prompts/team.greet?lang=ru')
    await page.locator('.cm-content').first().click()
    await page.keyboard.type('Привет. ')
    const keys = await page.context().newCDPSession(page)
    const press = async (key: string, code: string, modifiers = 0): Promise<void> => {
      await keys.send('Input.dispatchKeyEvent', { type: 'keyDown', key, code, windowsVirtualKeyCode: code.charCodeAt('Key'.length), modifiers })
    }
    await press('ы', 'KeyS', 2)
    await waitFor('the text to be saved', async () => JSON.stringify((await get('/api/prompts/team.greet')).json).includes('Привет'))
    await page.getByRole('heading', { name: 'team.greet' }).click()
    await press('п', 'KeyG')
    await press('ф', 'KeyA')
    await page.getByRole('heading', { name: 'Разрешения' }).waitFor()
  })
})
