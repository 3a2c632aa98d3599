import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { type Service, startService } from '../helpers/service.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'

const REPLIES = [
  { system: 'mode apply', reply: '{ "summary": "Done.", "context_requests": [], "memory_patch": {}, "actions": [{ "kind": "DELETE_FILE", "path": "old.md" }, { "kind": "DELETE_FILE", "path": "older.md" }] }' },
  { last: 'FILE[old.md]', reply: '{ "actions": [], "context_requests": [], "memory_patch": {}, "summary": "Both go." }' },
  { reply: '{ "actions": [], "summary": "To be read.", "memory_patch": {}, "context_requests": [{ "type": "read_file", "path": "old.md" }] }' }
]

describe('A change that deletes, of somebody else\'s plan, at the approvals', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  async function open (t: TestContext): Promise<{ readonly page: Page, readonly service: Service, readonly id: string, readonly folder: TemporaryFolder }> {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('shop/old.md', 'what is old\n')
    await folder.write('shop/older.md', 'what is older\n')
    await folder.write('replies.yaml', JSON.stringify(REPLIES))
    await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop' } } }))
    const service = await startService(t, {}, { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml'), OPERATOR_FILE: join(folder.path, 'operator.json'), STATE_DIR: join(folder.path, 'state'), LOG_LEVEL: 'silent', API_TOKENS: `${tokenEntry('ann', 'run')},${tokenEntry('bob', 'approve')}` })
    const origin = await service.listen()
    const id = String((await service.post('/api/plans', { goal: 'clear up', workspace: 'shop' }, bearer('ann'))).json['id'])
    const { json } = await service.post(`/api/plans/${id}/apply`, {}, bearer('ann'))
    await service.post(`/api/plans/${id}/apply`, { digest: json['confirm']?.['digest'] }, bearer('ann'))
    const page = await openConsole(t, browser, origin, '/approvals', { token: 'bob-token' })
    await page.locator('.card').waitFor()
    return { page, service, id, folder }
  }

  it('is off until each of its files was looked at and its place was typed, and does what was shown', async t => {
    const { page, service, id } = await open(t)
    await page.getByText('what is old').waitFor()
    await page.getByRole('heading', { name: 'A change that deletes (2)' }).waitFor()
    assert.match(await page.locator('.card .command').innerText(), /DELETE_FILE old\.md[^]*DELETE_FILE older\.md/)
    assert.deepEqual(await violationsOf(page), [])
    await page.getByLabel(/^Type/).fill('shop')
    const change = page.getByRole('button', { name: 'Change shop…' })
    await page.locator('.card .command .end').scrollIntoViewIfNeeded()
    await page.waitForTimeout(1000)
    assert.ok(await change.isDisabled())
    await page.locator('.file', { hasText: 'older.md' }).click()
    await page.getByText('what is older').waitFor()
    await change.click()
    await page.getByRole('button', { name: 'Yes, run it' }).click()
    await page.getByText('allowed', { exact: true }).waitFor()
    await waitFor('the change', async () => (await service.get(`/api/plans/${id}`, bearer('ann'))).json['state'] as unknown === 'applied')
  })

  it('is refused', async t => {
    const { page } = await open(t)
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('refused', { exact: true }).waitFor()
  })
})
