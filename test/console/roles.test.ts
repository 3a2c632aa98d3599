import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { askingPlace, type AskingService } from '../helpers/asking-skill.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'

const AUTHOR = ['Prompts', 'Variables', 'Tools', 'Extensions', 'Problems', 'Usage']
const WORK = ['Sessions', 'Approvals', 'Traces', 'Memory', 'Targets']

/** A token, and what the console has for it. */
interface Holder {
  readonly name: string
  readonly roles: string
  /** What its rail leads to. */
  readonly rail: readonly string[]
  /** Where it begins. */
  readonly home: string
  /** Buttons and links that a screen offers to it, and those that it does not. */
  readonly offers: Readonly<Record<string, readonly string[]>>
  readonly lacks: Readonly<Record<string, readonly string[]>>
}

const [PROMPT, TOOL, VARIABLE] = ['/prompts/team.greet', '/tools/crm.ticket', '/environs/company.name']

/** What only those see who may write. */
const WRITING = { '/prompts': ['New prompt'], [PROMPT]: ['Save', 'Add message'], [TOOL]: ['Call'], [VARIABLE]: ['Save'] }
const [SEND, RUN, OPEN] = ['Send', 'Run on here…', 'Open a terminal on here']

const HOLDERS: readonly Holder[] = [
  { name: 'reader', roles: 'read', rail: AUTHOR, home: '/prompts', offers: { [PROMPT]: ['Copy as curl'] }, lacks: WRITING },
  { name: 'caller', roles: 'render+chat', rail: ['Usage'], home: '/usage', offers: {}, lacks: {} },
  { name: 'author', roles: 'read+render+chat+write', rail: AUTHOR, home: '/prompts', offers: { ...WRITING, [PROMPT]: ['Save', 'Ask the model'] }, lacks: {} },
  { name: 'runner', roles: 'run', rail: WORK, home: '/sessions', offers: { '/sessions': ['Start a session'], 'of a skill': ['Skip'] }, lacks: { 'of a skill': [RUN], '/targets': [OPEN] } },
  { name: 'approver', roles: 'approve', rail: ['Approvals'], home: '/approvals', offers: { '/approvals': [RUN, 'Edit', 'Skip'] }, lacks: {} },
  { name: 'admin', roles: 'admin', rail: [...AUTHOR, ...WORK], home: '/prompts', offers: { ...WRITING, 'of a skill': [RUN], '/approvals': [RUN] }, lacks: { '/targets': [OPEN] } },
  { name: 'typist', roles: 'run+terminal', rail: WORK, home: '/sessions', offers: { '/targets': [OPEN], 'of a chat': [SEND] }, lacks: {} }
]

/** Pages that are gone through at most, each by a link of one before. */
const MOST = 40

describe('A token at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** A service with something of everything; each token that may run has a chat, and a skill that waits. */
  async function serve (t: TestContext): Promise<{ readonly service: AskingService, readonly origin: string }> {
    const service = await (await askingPlace(t, HOLDERS.map(({ name, roles }) => tokenEntry(name, roles)))).start({ here: { terminal: true } }, { LLM_BASE_URL: 'builtin:script', VERSIONS: 'http' })
    service.store.set('shenma:templates:team:greet', JSON.stringify({ messages: [{ role: 'user', content: '{{company.name}} greets {{variables.name}} {{crm_ticket id=1}}' }] }))
    service.store.set('shenma:environs:company:name', '"Northwind"')
    service.store.set('shenma:tools:crm:ticket', JSON.stringify({ restful: { url: 'http://127.0.0.1:9/', method: 'GET' }, parameters: [{ name: 'id', type: 'number' }], default: 'none' }))
    service.store.set('shenma:extensions:pack', JSON.stringify({ name: 'pack', version: '1.0.0', extensionType: 'prompt', contributes: { prompts: [{ name: 'one', userPrompt: 'One.' }] } }))
    service.store.set('shenma:agents:desk', JSON.stringify({ mode: 'tools', help: 'Ask.', system: 'Echo.', tools: [], messages: {} }))
    const origin = await service.listen()
    for (const path of ['prompts/team.greet', 'agents/desk']) await waitFor(path, async () => (await service.get(`/api/${path}`, bearer('admin'))).status === 200)
    return { service, origin }
  }

  for (const { name, roles, rail, home, offers, lacks } of HOLDERS) {
    it(`with ${roles} sees what these allow, and asks for nothing that they refuse`, async t => {
      const { service, origin } = await serve(t)
      const mayRun = /run|admin/.test(roles)
      // Somebody else's, so that there is something to approve.
      await service.walk(bearer('admin'))
      const own = mayRun ? { 'of a skill': `/sessions/${(await service.walk(bearer(name))).id}`, 'of a chat': `/sessions/${String((await service.post('/api/agents/desk/sessions', {}, bearer(name))).json['id'])}` } : {}
      const page = await openConsole(t, browser, origin, '/', { token: `${name}-token` })
      const refused: string[] = []
      page.on('response', response => { if (response.status() === 403) refused.push(`${response.request().method()} ${response.url()} on ${page.url()}`) })
      const calm = stillness(page)
      await page.reload()
      await calm()
      assert.equal(new URL(page.url()).pathname, `/console${home}`)
      assert.deepEqual((await page.locator('.rail a:not(.more) span:not(.count)').allInnerTexts()), rail)
      await goThrough(page, [home, ...Object.values(own)], calm)
      assert.deepEqual(refused, [])
      const wishes = [...Object.entries(offers).map(each => [...each, true] as const), ...Object.entries(lacks).map(each => [...each, false] as const)]
      for (const [path, buttons, isOffered] of wishes) {
        await page.goto(`${origin}/console${(own as Readonly<Record<string, string>>)[path] ?? path}`)
        await calm()
        for (const button of buttons) await assertOffered(page, button, isOffered)
      }
      assert.deepEqual(refused, [])
    })
  }

  it('that is revoked is asked for anew, as soon as its socket is closed, and what was open goes on with the next one', async t => {
    const { service, origin } = await serve(t)
    const { id } = await service.walk(bearer('typist'))
    const page = await openConsole(t, browser, origin, `/sessions/${id}`, { token: 'typist-token' })
    const opened = page.waitForEvent('websocket').then(async socket => {
      await socket.waitForEvent('framereceived')
      return socket
    })
    await page.reload()
    await page.locator('.card').waitFor()
    const closed = (await opened).waitForEvent('close')
    await service.setTokens([tokenEntry('admin', 'admin')])
    await closed
    await page.getByLabel('Token', { exact: true }).fill('admin-token')
    await page.getByRole('button', { name: 'Use it' }).click()
    await page.getByRole('button', { name: 'admin' }).waitFor()
    await page.locator('.card').waitFor()
    assert.equal(await page.getByLabel('Token', { exact: true }).isVisible(), false)
  })
})

async function assertOffered (page: Page, name: string, isOffered: boolean): Promise<void> {
  const found = page.getByRole('button', { name: new RegExp(`^${name}`) }).or(page.getByRole('link', { name })).first()
  if (isOffered) {
    await found.waitFor().catch(async (error: unknown) => {
      throw new Error(`no ${name} on ${page.url()}, but: ${await page.locator('body').innerText()}`, { cause: error })
    })
  } else assert.equal(await found.count(), 0, `${name} on ${page.url()}`)
}

/** Waits until a page has come, and all that it has asked for: streams, which never end, are not waited for. */
function stillness (page: Page): () => Promise<void> {
  const open = new Set<object>()
  page.on('request', request => {
    // What the page before had asked for is gone with it, and Chromium does not always tell its end.
    if (request.isNavigationRequest()) open.clear()
    if (!request.url().includes('/events')) open.add(request)
  })
  page.on('requestfinished', request => { open.delete(request) }).on('requestfailed', request => { open.delete(request) })
  return async () => {
    await page.locator('main h1, main h2').first().waitFor()
    await page.locator('.loading').first().waitFor({ state: 'detached' })
    await waitFor('all that was asked for', () => open.size === 0)
  }
}

/** Follows every link of the console that some pages, and those behind them, have. */
async function goThrough (page: Page, paths: readonly string[], calm: () => Promise<void>): Promise<void> {
  const { origin } = new URL(page.url())
  const known = new Set(paths.map(path => `${origin}/console${path}`))
  for (const address of known) {
    await page.goto(address)
    await calm()
    const links = await page.evaluate('[...document.querySelectorAll(\'a[href^="/console/"]\')].map(({ href }) => href)') as readonly string[]
    for (const link of links) if (known.size < MOST) known.add(link)
  }
}
