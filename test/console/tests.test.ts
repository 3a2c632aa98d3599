import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'

const GREETING = { userPrompt: 'Greet {{variables.name}}.', parameters: [{ name: 'name', type: 'string' }] }
const GREEN = { description: 'greets by name', vars: { name: 'Ada' }, assert: [{ type: 'contains', value: 'Ada' }] }
const RED = { description: 'greets Bob', vars: { name: 'Ada' }, assert: [{ type: 'contains', value: 'Bob' }] }

describe('Tests of a prompt at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  async function tab (t: TestContext, cases: readonly object[] | undefined, name = 'tests') {
    const service = await startService(t, { 'templates:team:greet': GREETING, ...(cases === undefined ? {} : { 'tests:team:greet': cases }) }, { VERSIONS: 'http', LOG_LEVEL: 'silent' })
    const page = await openConsole(t, browser, await service.listen(), `/prompts/team.greet?tab=${name}`)
    return { ...service, page }
  }

  it('are green', async t => {
    const { page } = await tab(t, [GREEN])
    await run(page)
    await page.getByText('1 passed, 0 failed').waitFor()
    assert.match(await cases(page).innerText(), /passed\s+greets by name/)
    await cases(page).getByText('Output').click()
    await cases(page).getByText('Greet Ada.').waitFor()
    assert.deepEqual(await violationsOf(page), [])
  })

  it('are red, with what does not hold', async t => {
    const { page } = await tab(t, [GREEN, RED])
    await run(page)
    await page.getByText('1 passed, 1 failed').waitFor()
    assert.match(await cases(page).innerText(), /failed\s+greets Bob[^]*contains expected "Bob", got "Greet Ada\."/)
    assert.deepEqual(await violationsOf(page), [])
  })

  it('are written where there are none, saved, and run', async t => {
    const { page, get } = await tab(t, undefined)
    await page.getByText('This prompt has no tests').waitFor()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(JSON.stringify([GREEN]))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await cases(page).getByText('greets by name').waitFor()
    assert.deepEqual((await get('/api/prompts/team.greet/tests')).json['tests'], [GREEN])
    await run(page)
    await page.getByText('1 passed, 0 failed').waitFor()
  })

  it('are not saved with a mistake in them', async t => {
    const { page } = await tab(t, [GREEN])
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText('[{ "assert": [{ "type": "contans" }] }]')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('ENTRY_INVALID').waitFor()
  })

  it('are run on the version that a label is about to be moved to', async t => {
    const { page, post } = await tab(t, [GREEN], 'releases')
    await post('/api/prompts/team.greet/versions', {})
    await page.reload()
    await page.getByRole('button', { name: 'New label' }).click()
    await page.getByRole('button', { name: 'Run the tests of version 1' }).click()
    await page.getByText('1 passed, 0 failed').waitFor()
  })
})

const cases = (page: Page) => page.getByRole('region', { name: 'Cases' })

async function run (page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Run all' }).click()
}
