import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { type Service, startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { createScratch } from '../plans/scratch.ts'

const TOKENS = `${tokenEntry('ann', 'run')},${tokenEntry('bob', 'approve')}`

const REPLIES = [
  { system: 'mode apply', reply: '{ "summary": "Done.", "context_requests": [], "memory_patch": {}, "actions": [{ "kind": "DELETE_FILE", "path": "old.md" }, { "kind": "DELETE_FILE", "path": "older.md" }] }' },
  { last: 'FILE[old.md]', reply: '{ "actions": [], "context_requests": [], "memory_patch": {}, "summary": "Both go." }' },
  { reply: '{ "actions": [], "summary": "To be read.", "memory_patch": {}, "context_requests": [{ "type": "read_file", "path": "old.md" }] }' }
]

describe('What somebody else\'s plan asks, at the approvals', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** A page at the approvals, of somebody who may approve and nothing else. */
  async function approvals (t: TestContext, service: Service): Promise<Page> {
    const page = await openConsole(t, browser, await service.listen(), '/approvals', { token: 'bob-token' })
    await page.locator('.card').waitFor()
    return page
  }

  async function openDeletions (t: TestContext): Promise<{ readonly page: Page, readonly service: Service, readonly id: string }> {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('shop/a.md', 'one\n')
    await folder.write('shop/old.md', 'what is old\n')
    await folder.write('shop/older.md', 'what is older\n')
    await folder.write('replies.yaml', JSON.stringify(REPLIES))
    await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop', checks: { lines: 'wc -l a.md' } } } }))
    const service = await startService(t, {}, { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml'), OPERATOR_FILE: join(folder.path, 'operator.json'), STATE_DIR: join(folder.path, 'state'), LOG_LEVEL: 'silent', API_TOKENS: TOKENS })
    const id = String((await service.post('/api/plans', { goal: 'clear up', workspace: 'shop' }, bearer('ann'))).json['id'])
    const { json } = await service.post(`/api/plans/${id}/apply`, {}, bearer('ann'))
    await service.post(`/api/plans/${id}/apply`, { digest: json['confirm']?.['digest'] }, bearer('ann'))
    return { page: await approvals(t, service), service, id }
  }

  async function openCommit (t: TestContext): Promise<{ readonly page: Page, readonly subject: () => string }> {
    const { path, environment: { STORE_DIR: _store, ...environment } } = await createScratch(t)
    await writeFile(environment['OPERATOR_FILE'] as string, 'workspaces:\n  shop: { path: shop, checks: { test: node --test }, commit: true }\ntargets:\n  shop: { type: local, workspace: shop }\n')
    const git = (...words: string[]): string => execFileSync('git', ['-C', path, '-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...words], { encoding: 'utf8' }).trim()
    git('add', '.')
    git('commit', '--quiet', '-m', 'First')
    git('config', 'user.name', 'Ann')
    git('config', 'user.email', 'ann@example.com')
    const service = await startService(t, { 'plans:quick': { confirm: 'deletions' } }, { ...environment, LOG_LEVEL: 'silent', API_TOKENS: TOKENS })
    const id = String((await service.post('/api/plans', { goal: 'plan: fix the test', workspace: 'shop', profile: 'quick' }, bearer('ann'))).json['id'])
    await service.post(`/api/plans/${id}/apply`, {}, bearer('ann'))
    await service.post(`/api/plans/${id}/commit`, { message: 'Mend the price' }, bearer('ann'))
    return { page: await approvals(t, service), subject: () => git('log', '-1', '--format=%s') }
  }

  it('a change that deletes is off until each of its files was looked at and its place was typed, and does what was shown', async t => {
    const { page, service, id } = await openDeletions(t)
    await page.getByText('what is old').waitFor()
    await page.getByRole('heading', { name: 'A change that deletes (2)' }).waitFor()
    assert.match(await page.locator('.card .command').innerText(), /DELETE_FILE old\.md[^]*DELETE_FILE older\.md/)
    assert.match(await page.locator('.card .facts').innerText(), /Checks\s*lines wc -l a\.md[^]*They run by themselves/)
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

  it('a commit is shown with its files and its message, and made in two steps', async t => {
    const { page, subject } = await openCommit(t)
    await page.getByRole('heading', { name: 'Commit in shop' }).waitFor()
    assert.match(await page.locator('.card .command').innerText(), /src\/price\.js[^]*Mend the price/)
    assert.deepEqual(await violationsOf(page), [])
    await page.getByRole('button', { name: 'Commit it…' }).click()
    assert.equal(subject(), 'First')
    await page.getByRole('button', { name: 'Yes, run it' }).click()
    await page.getByText('allowed', { exact: true }).waitFor()
    await waitFor('the commit', () => subject() === 'Mend the price')
  })

  it('a change is refused', async t => {
    const { page } = await openDeletions(t)
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('refused', { exact: true }).waitFor()
  })
})
