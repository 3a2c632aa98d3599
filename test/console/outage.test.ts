import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { askingPlace } from '../helpers/asking-skill.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { startService } from '../helpers/service.ts'
import { startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** Does not end the first time, and ends at once the second. */
const COMMAND = 'echo begun >> log.txt; test "$(wc -l < log.txt)" -gt 1 || sleep 1000'

/** Tabs that are open at a time: a browser opens six connections to a host, sockets apart. */
const TABS = 8

describe('Sessions at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  it('that cannot be reached are said to be so, while prompts go on; both are gone when their Redis is back', async t => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    const { listen } = await startService(t, { 'templates:team:greet': 'Hello.' }, { SESSION_STORE: redis.url, LOG_LEVEL: 'silent' })
    const page = await openConsole(t, browser, await listen(), '/sessions')
    await page.getByRole('heading', { name: 'No sessions yet' }).waitFor()
    await redis.kill()
    await page.getByText(/Sessions cannot be reached; prompts go on/).waitFor()
    await page.locator('main .note.bad').getByText('SESSIONS_UNAVAILABLE').waitFor()
    await page.getByRole('link', { name: 'Prompts' }).first().click()
    await page.getByRole('link', { name: 'team.greet' }).waitFor()
    await page.getByText(/Sessions cannot be reached; prompts go on/).waitFor()
    await redis.restart()
    await page.getByText(/Sessions cannot be reached; prompts go on/).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Sessions' }).first().click()
    await page.getByRole('heading', { name: 'No sessions yet' }).waitFor()
  })

  it('whose process was killed in a command ask about it in the page that was open, and run it again when somebody says so', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const path = (name: string): string => join(folder.path, name)
    await folder.write('store/skills/slow/SKILL.md', '---\nname: slow\ndescription: Is slow.\n---\nRun it.')
    await folder.write('shop/a.txt', 'a')
    await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop' } }, targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off' } } }))
    await folder.write('replies.json', JSON.stringify([{ last: 'Step 1 of', reply: `[CMD] ${COMMAND}` }, { last: 'Command output', reply: '[DONE] Ran.' }]))
    const environment = { STORE_DIR: path('store'), STATE_DIR: path('state'), OPERATOR_FILE: path('operator.json'), LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: path('replies.json'), ALLOW_ROOT: 'true' }
    const begun = async (): Promise<number> => (await readFile(path('shop/log.txt'), 'utf8').catch(() => '')).length / 'begun\n'.length
    const first = await startProcess(t, environment)
    const page = await openConsole(t, browser, first.url, '/sessions/new?of=skills/slow')
    await page.getByLabel('Runs on').selectOption('here')
    await page.getByRole('button', { name: 'Start the skill' }).click()
    await allow(page)
    await waitFor('the command to begin', async () => await begun() === 1)
    first.process.kill('SIGKILL')
    await once(first.process, 'exit')
    await page.getByText(/The connection is lost/).waitFor()
    await startProcess(t, { ...environment, PORT: new URL(first.url).port })
    await page.getByText('nobody knows whether it was done').first().waitFor()
    assert.equal(await begun(), 1)
    await page.getByRole('button', { name: 'Run it again' }).click()
    await allow(page)
    await page.getByText('Ran.', { exact: true }).waitFor()
    assert.equal(await begun(), 2)
  })

  it(`go on in ${TABS} tabs of one browser, and leave it connections for more`, async t => {
    const service = await (await askingPlace(t)).start()
    const origin = await service.listen()
    const { id } = await service.walk()
    const first = await openConsole(t, browser, origin, `/sessions/${id}`)
    const pages = [first]
    while (pages.length < TABS) pages.push(await first.context().newPage())
    for (const page of pages.slice(1)) await page.goto(`${origin}/console/sessions/${id}`)
    for (const page of pages) await page.locator('.card').getByText('echo one').waitFor()
    await allow(first)
    for (const page of pages) await page.locator('.card').getByText('echo two').waitFor()
    const more = await first.context().newPage()
    await more.goto(`${origin}/console/prompts`)
    await more.getByRole('heading', { name: 'Prompts' }).waitFor()
    service.store.set('shenma:templates:team:new', 'New.')
    await more.getByRole('link', { name: 'team.new' }).waitFor()
  })
})

/** Lets the command run that waits, in its two steps. */
async function allow (page: Page): Promise<void> {
  await page.locator('.card footer').scrollIntoViewIfNeeded()
  await page.locator('.card footer .primary:enabled').click()
  await page.getByRole('button', { name: 'Yes, run it' }).click()
}
