import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { type Service, startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const REGISTRATIONS = {
  'templates:team:greet': { userPrompt: 'Greet.' },
  'templates:team:sum': { userPrompt: 'Sum up.' },
  'agents:desk': { mode: 'tools', help: 'Ask me.', system: 'You answer.', tools: [], messages: {}, model: 'gpt-4o' }
}

const TOKENS = [tokenEntry('ide', 'read+chat'), tokenEntry('bot', 'chat'), tokenEntry('boss', 'admin')].join('\n')

describe('What calls cost, at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** A service whose model `gpt-4o` costs 1 USD a token read, and which knows no price of any other. */
  async function open (t: TestContext): Promise<Service & { readonly origin: string, ask (token: string, id: string, body?: object, query?: string): Promise<number> }> {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('operator.yaml', 'budgets: { sums: { prompts: [team.sum], day: { tokens: 1 } }, ides: { tokens: [ide], month: { tokens: 100000 } } }')
    await folder.write('prices.json', JSON.stringify({ date: '2026-01-31', models: { 'gpt-4o': { input: 1_000_000, output: 0 } } }))
    const at = (name: string): string => join(folder.path, name)
    const environment = { VERSIONS: 'http', LLM_BASE_URL: 'builtin:echo', OPERATOR_FILE: at('operator.yaml'), PRICES_FILE: at('prices.json'), STATE_DIR: at('state'), API_TOKENS: TOKENS }
    const service = await startService(t, REGISTRATIONS, environment)
    const ask = async (token: string, id: string, body: object = {}, query = ''): Promise<number> => (
      (await service.post(`/api/chat/prompts/${id}${query}`, { model: 'gpt-4o', max_tokens: 1, ...body }, bearer(token))).status
    )
    return { ...service, origin: await service.listen(), ask }
  }

  const cellsOf = async (page: Page, name: string): Promise<readonly string[]> => await page.getByRole('row', { name }).first().getByRole('cell').allInnerTexts()

  it('is told by prompt, token and model, looked into by a press, kept in the address, with budgets', async t => {
    const { origin, ask } = await open(t)
    assert.deepEqual([await ask('ide', 'team.greet'), await ask('bot', 'team.greet'), await ask('ide', 'team.sum', { model: 'house' })], [200, 200, 200])
    const page = await openConsole(t, browser, origin, '/prompts', { token: 'boss-token' })
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByText(/^3 calls · 0 errors · \d+ tokens · \$\d+\.00 and 1 call of unknown cost$/).waitFor()
    assert.deepEqual((await cellsOf(page, 'team.greet')).map((text, index) => index === 3 ? /^≤/.test(text) : index === 4 ? Number(text) > 0 : text.replace(/\d+\.00/, 'n')), ['team.greet', '2', '0', true, true, '$n'])
    assert.equal((await cellsOf(page, 'team.sum')).at(-1), 'cost unknown')
    await page.getByRole('img', { name: /^Calls by day\. The most: 3 on \d{4}-\d\d-\d\d\.$/ }).waitFor()
    await page.getByText('Without Redis nothing outlives the service').waitFor()
    const budgets = page.getByRole('region', { name: 'Budgets' })
    await budgets.getByRole('listitem').filter({ hasText: /^sums \d+ of 1 tokens today/ }).getByText('used up').waitFor()
    await budgets.getByRole('progressbar', { name: /^ides: .+ of 100,000 tokens this month$/ }).waitFor()
    assert.deepEqual(await violationsOf(page), [])
    await page.getByRole('button', { name: 'team.greet', exact: true }).click()
    await page.getByRole('cell', { name: 'gpt-4o' }).waitFor()
    assert.match(page.url(), /\?prompt=team\.greet&by=model$/)
    await page.getByLabel('By', { exact: true }).selectOption('token')
    await page.getByLabel('Time', { exact: true }).selectOption('7')
    await page.getByRole('cell', { name: 'bot' }).waitFor()
    await page.reload()
    await page.getByRole('cell', { name: 'bot' }).waitFor()
    assert.deepEqual((await cellsOf(page, 'bot')).slice(0, 2), ['bot', '1'])
    await page.getByRole('button', { name: 'All, not only: team.greet' }).click()
    await page.getByText(/^3 calls ·/).waitFor()
    await page.goBack()
    await page.getByText(/^2 calls ·/).waitFor()
  })

  it('is told to a token of chats alone of its own calls, on a phone, in Russian, and says where there is nothing', async t => {
    const { origin, ask } = await open(t)
    await ask('ide', 'team.greet')
    const page = await openConsole(t, browser, origin, '/', { token: 'bot-token', locale: 'ru-RU', viewport: { width: 390, height: 844 } })
    await page.getByRole('heading', { name: 'Расход' }).waitFor()
    await page.getByText('Показаны только вызовы вашего токена bot.').waitFor()
    await page.getByText('За это время ничего не насчитано').waitFor()
    await ask('bot', 'team.greet')
    await page.reload()
    await page.getByText(/^1 вызов · 0 ошибок · токенов: \d+ · \d+,00/).waitFor()
    assert.equal(await page.getByText('ides').count(), 0)
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is wider than the phone')
    assert.deepEqual(await violationsOf(page), [])
  })

  it('stands with each version and label, with errors, and nothing where nothing was counted', async t => {
    const { origin, ask, app } = await open(t)
    const put = async (url: string, payload: object): Promise<void> => {
      assert.ok((await app.inject({ method: 'PUT', url, payload, headers: bearer('boss') })).statusCode < 300)
    }
    await put('/api/prompts/team.greet', { userPrompt: 'Greet twice.' })
    await put('/api/prompts/team.greet/labels/production', { version: 2 })
    await put('/api/prompts/team.greet/labels/staging', { version: 1 })
    assert.equal(await ask('ide', 'team.greet', {}, '?label=production'), 200)
    const page = await openConsole(t, browser, origin, '/prompts/team.greet?tab=releases', { token: 'boss-token' })
    const numbers = /^Today: 1 call, 0 errors, 95 of 100 answers ≤ [\d.]+ m?s, \d+ tokens, \$\d+\.00$/
    await page.getByRole('row', { name: /^2 / }).getByText(numbers).waitFor()
    await page.getByRole('row', { name: /^1 / }).getByText('No call was counted in 30 days.').waitFor()
    const labels = page.getByRole('region', { name: 'Labels' })
    await labels.getByRole('listitem').filter({ hasText: 'production' }).getByText(numbers).waitFor()
    await labels.getByRole('listitem').filter({ hasText: 'staging' }).getByText('No call was counted in 30 days.').waitFor()
    assert.deepEqual(await violationsOf(page), [])
  })

  it('stands in a session\'s head, in its timeline call by call, and in what it has used', async t => {
    const { origin, post } = await open(t)
    const headers = bearer('boss')
    const id = String((await post('/api/agents/desk/sessions', {}, headers)).json['id'])
    await post(`/api/agents/sessions/${id}/message`, { text: 'Hello' }, headers)
    const page = await openConsole(t, browser, origin, `/sessions/${id}?tab=timeline`, { token: 'boss-token' })
    await page.getByText(/^1 call, \d+ tokens · \$\d+\.00/).waitFor()
    await page.getByText(/^1 call, .+ of work, \d+ tokens, \$\d+\.00$/).waitFor()
    await page.getByRole('row', { name: /The model was asked/ }).getByRole('cell', { name: /^\$\d+\.00$/ }).waitFor()
    await page.getByRole('link', { name: 'Uses' }).click()
    await page.getByRole('cell', { name: /^\$\d+\.00$/ }).waitFor()
  })
})
