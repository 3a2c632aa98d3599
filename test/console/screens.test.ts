import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { askingPlace } from '../helpers/asking-skill.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'

/** A table that is wider than its panel, and a cell in which a text stands in a column of a few letters. */
const CRAMPED = `[...document.querySelectorAll('main .panel:has(> table)')].filter(panel => panel.scrollWidth > panel.clientWidth).map(panel => 'a table is cut off: ' + panel.innerText.slice(0, 60))
  .concat([...document.querySelectorAll('main td')].filter(cell => cell.clientWidth > 0 && cell.clientWidth < 64 && cell.innerText.length > 12).map(cell => 'a column of a few letters: ' + cell.innerText.slice(0, 60)))`

const LONG = '/api/prompts/team.desk.level-two.handover-to-the-owner-of-the-service'

/** What a stranger might write anywhere. */
const HOSTILE = '<script>document.title = 1</script>{{ <img src=x onerror="document.title=2"> '

describe('Every screen of the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** A service with something of everything, and the addresses of all its screens. */
  async function everything (t: TestContext) {
    const service = await (await askingPlace(t)).start({ here: { terminal: true } }, { LLM_BASE_URL: 'builtin:echo', VERSIONS: 'http' })
    service.store.set('shenma:templates:team:greet', JSON.stringify({ description: HOSTILE, messages: [{ role: 'system', content: 'You serve {{company.name}}.' }, { role: 'user', content: 'Greet {{variables.name}}.' }], parameters: [{ name: 'name', default: HOSTILE }] }))
    service.store.set('shenma:templates:team:broken', '{{#each variables.items}}')
    service.store.set('shenma:tests:team:greet', JSON.stringify([{ description: HOSTILE, vars: { name: HOSTILE }, assert: [{ type: 'contains', value: HOSTILE }] }]))
    service.store.set('shenma:environs:company:name', JSON.stringify(`${HOSTILE}${'x'.repeat(100_000)}`))
    service.store.set('shenma:tools:crm:ticket', JSON.stringify({ module: 'crm', description: HOSTILE, restful: { url: 'http://127.0.0.1:9/', method: 'GET' }, parameters: [{ name: 'id', type: 'string' }] }))
    service.store.set('shenma:extensions:pack', JSON.stringify({ name: 'pack', version: '1.0.0', extensionType: 'prompt', contributes: { prompts: [{ name: 'one', userPrompt: 'One.' }] } }))
    service.store.set('shenma:agents:echo', JSON.stringify({ mode: 'tools', help: HOSTILE, system: 'Echo.', tools: [], messages: {} }))
    const put = async (url: string, payload: object) => {
      const { statusCode, body } = await service.app.inject({ method: 'PUT', url, payload })
      assert.ok(statusCode < 300, body)
    }
    for (const userPrompt of ['One.', 'Two.']) await put(LONG, { userPrompt, description: 'Words. '.repeat(40) })
    await put(`${LONG}/labels/production`, { version: 1 })
    await put(`${LONG}/labels/a-label-with-a-rather-long-name`, { version: [{ version: 1, weight: 90 }, { version: 2, weight: 10 }] })
    const origin = await service.listen()
    const walk = await service.walk()
    const agent = String((await service.post('/api/agents/echo/sessions')).json['id'])
    await service.post(`/api/agents/sessions/${agent}/message`, { text: HOSTILE })
    const plan = String((await service.post('/api/plans', { goal: HOSTILE, workspace: 'shop' })).json['id'])
    const terminal = String((await service.post('/api/terminals', { target: 'here' })).json['terminalId'])
    const trace = String((await service.get('/api/traces')).json['traces']?.['0']?.['trace_id'])
    const long = LONG.slice('/api'.length)
    const paths = [
      '/prompts', '/prompts/team.greet', '/prompts/team.greet?tab=settings', '/prompts/team.greet?tab=raw', '/prompts/team.greet?tab=uses', '/prompts/team.greet?tab=tests', '/prompts/team.greet?tab=releases', '/prompts/team.greet?tab=compare', '/prompts/team.greet?tab=use', `${long}?tab=releases`, `${long}?tab=compare&a=1&b=2`, '/environs', '/environs/company.name', '/tools', '/tools/crm.ticket', '/extensions', '/extensions/pack', '/problems',
      '/sessions', '/sessions/new', '/sessions/new?of=agents/echo', '/sessions/new?of=skills/walk', '/sessions/new?of=plans/', `/sessions/${walk.id}`, `/sessions/${walk.id}?tab=timeline`, `/sessions/${agent}`, `/sessions/${agent}?tab=tree`, `/sessions/${plan}`, `/sessions/${plan}?tab=timeline`, `/sessions/${plan}?tab=uses`, '/sessions?status=failed', `/traces/${trace}`, `/terminals/${terminal}`, '/approvals', '/traces', '/memory', '/targets', '/more', '/nowhere'
    ]
    /** What opens on a screen. */
    const opened: ReadonlyArray<readonly [path: string, names: readonly RegExp[]]> = [
      ['/prompts', [/^New prompt/]],
      ['/prompts', [/^Actions for team.greet$/, /^Duplicate/]],
      ['/prompts', [/^Actions for team.greet$/, /^Delete/]],
      [long, [/^Add column/]],
      [`${long}?tab=releases`, [/^Move production/]],
      [`${long}?tab=releases`, [/^New label/]],
      ['/environs/company.name', [/^Delete/]],
      [`/terminals/${terminal}`, [/^Skills/]],
      [`/sessions/${walk.id}?tab=timeline`, [/^Details/]]
    ]
    return { origin, paths, opened }
  }

  async function open (page: Page, origin: string, path: string): Promise<void> {
    await page.goto(`${origin}/console${path}`)
    await page.locator('main h1, main h2').first().waitFor()
    await page.locator('.loading').first().waitFor({ state: 'detached' })
  }

  async function faultsOf (page: Page): Promise<readonly string[]> {
    const faults = [...await violationsOf(page), ...await page.evaluate(CRAMPED) as readonly string[]]
    if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) faults.push('it is wider than the window')
    if (/^[12]$/.test(await page.title())) faults.push('it has run a stranger\'s script')
    return faults
  }

  for (const [colorScheme, width] of [['light', 1280], ['dark', 390]] as const) {
    it(`can be used by everybody, in ${colorScheme} at ${width} px, and is never wider than the window; texts of strangers are texts`, async t => {
      const { origin, paths, opened } = await everything(t)
      const page = await openConsole(t, browser, origin, '/prompts', { colorScheme, viewport: { width, height: 800 } })
      const wrong: string[] = []
      for (const path of paths) {
        await open(page, origin, path)
        wrong.push(...(await faultsOf(page)).map(fault => `${path}: ${fault}`))
      }
      for (const [path, names] of opened) {
        await open(page, origin, path)
        for (const name of names) await page.locator('main').getByRole('button', { name }).first().click()
        await page.locator('.loading').first().waitFor({ state: 'detached' })
        wrong.push(...(await faultsOf(page)).map(fault => `${path}, ${String(names.at(-1))}: ${fault}`))
      }
      assert.deepEqual(wrong, [])
    })
  }

  it('is reached by keys alone', async t => {
    const { listen } = await startService(t, { 'templates:team:greet': 'Hello {{variables.name}}.' })
    const page = await openConsole(t, browser, await listen(), '/prompts')
    await page.getByRole('link', { name: 'team.greet' }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'team.greet' }).waitFor()
    await page.locator('.cm-content').waitFor()
    await page.locator('.cm-content').focus()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('Hi {{{{variables.name}}')
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.keyboard.press('v')
    await page.getByRole('heading', { name: 'Variables' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('greet')
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByText(/draft of/).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('main').focus()
    await page.keyboard.press('?')
    await page.getByRole('heading', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
  })

  it('takes a letter without g before it for no place, however young the page is', async t => {
    const { listen } = await startService(t, { 'templates:team:greet': 'Hello.' })
    const page = await openConsole(t, browser, await listen(), '/prompts')
    await page.getByRole('link', { name: 'team.greet' }).waitFor()
    await page.evaluate('(() => { const event = new KeyboardEvent("keydown", { key: "v", bubbles: true }); Object.defineProperty(event, "timeStamp", { value: 100 }); document.body.dispatchEvent(event) })()')
    assert.match(page.url(), /prompts$/)
    for (const key of ['g', 'v']) await page.keyboard.press(key)
    await page.getByRole('heading', { name: 'Variables' }).waitFor()
  })

  it('speaks Russian with a Russian browser', async t => {
    const { listen } = await startService(t, {})
    const page = await openConsole(t, browser, await listen(), '/', { locale: 'ru-RU' })
    await page.getByRole('heading', { name: 'Промпты' }).waitFor()
    assert.equal(await page.evaluate('document.documentElement.lang'), 'ru')
  })

  it('speaks the language that was chosen on the page, also when it is opened again', async t => {
    const { listen } = await startService(t, {})
    const origin = await listen()
    const page = await openConsole(t, browser, origin, '/?lang=en')
    await page.getByRole('button', { name: 'Русский' }).click()
    await page.getByRole('heading', { name: 'Промпты' }).waitFor()
    await page.goto(`${origin}/console/`)
    await page.getByRole('heading', { name: 'Промпты' }).waitFor()
    await page.getByRole('button', { name: 'English' }).click()
    await page.getByRole('heading', { name: 'Prompts' }).waitFor()
  })
})
