import { after, before, describe, it } from 'node:test'
import { type Browser } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'

describe('An operator at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  it('sees an outage of the store where he looks, and that it is over', async t => {
    const { store, listen } = await startService(t, { 'templates:team:greet': 'Hello.' })
    const page = await openConsole(t, browser, await listen(), '/prompts')
    await page.getByText('live', { exact: true }).waitFor()
    store.setProblem('no connection')
    store.set('shenma:templates:team:other', 'Other.')
    await page.getByText(/stale since/).waitFor()
    await page.getByText(/edits are not seen/).waitFor()
    await page.getByRole('link', { name: 'team.greet' }).waitFor()
    store.setProblem(undefined)
    store.set('shenma:templates:team:third', 'Third.')
    await page.getByText('live', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'team.third' }).waitFor()
  })

  it('sees a bad key with its place, and it is gone when it is mended', async t => {
    const { store, listen } = await startService(t, { 'templates:team:greet': 'Hello {{variables.name}}.' })
    const page = await openConsole(t, browser, await listen(), '/problems')
    await page.getByText('Nothing is wrong').waitFor()
    store.set('shenma:templates:team:greet', 'Hello\n{{#each variables.names}}')
    await page.getByText('The last good version is served.').waitFor()
    await page.getByText(/line 2, column/).waitFor()
    await page.getByRole('link', { name: 'Open there' }).waitFor()
    store.set('shenma:templates:team:greet', 'Hello again.')
    await page.getByText('Nothing is wrong').waitFor()
  })

  it('sees a list change as it is changed', async t => {
    const { store, listen } = await startService(t, { 'templates:team:greet': 'Hello.' })
    const page = await openConsole(t, browser, await listen(), '/prompts')
    await page.getByRole('link', { name: 'team.greet' }).waitFor()
    store.set('shenma:templates:team:new', 'New.')
    await page.locator('tr.changed', { has: page.getByRole('link', { name: 'team.new' }) }).waitFor()
  })
})
