import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Browser } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { appendOf, newId } from '../session/store/session-appends.ts'
import { formatLine } from '../../src/session/store/session-file.ts'

const COUNT = 10_000

// What is wanted on an idle machine: first rows within 300 ms, a search within 100 ms, a session within 400 ms, a preview within 150 ms of
// the last key. The bounds here leave room for a machine that is not idle; the figures are told.
describe(`The list of ${COUNT} prompts`, { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  it('shows its first rows at once, and finds one as its name is typed', async t => {
    const { listen } = await startService(t, Object.fromEntries(Array.from({ length: COUNT }, (_, index) => [`templates:many:p${index}`, `Prompt ${index}`])))
    const page = await openConsole(t, browser, await listen(), '/problems')
    await page.getByText('Nothing is wrong').waitFor()
    const began = performance.now()
    await page.getByRole('link', { name: 'Prompts' }).first().click()
    await page.locator('tbody tr').first().waitFor()
    const rows = performance.now() - began
    await page.getByText('1–50 of 10,000').waitFor()
    const took = await page.evaluate(`(async () => {
      const field = document.querySelector('.filter input')
      const began = performance.now()
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, 'p9999')
      field.dispatchEvent(new Event('input', { bubbles: true }))
      while (document.querySelectorAll('tbody tr').length !== 1) await new Promise(resolve => setTimeout(resolve))
      return performance.now() - began
    })()`) as number
    t.diagnostic(`first rows after ${rows.toFixed()} ms, found after ${took.toFixed()} ms`)
    assert.ok(rows < 1500, `first rows after ${rows} ms`)
    assert.ok(took < 500, `found after ${took} ms`)
  })
})

/** What is said to the agent: it costs no model, and makes three events. */
const HELP = '/help'
const EVENTS_OF_HELP = 3

describe(`A session of ${COUNT} events`, { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  it('shows the end of its dialogue at once, goes on, and gives its beginning when that is wanted', async t => {
    const { listen, post } = await startService(t, { 'agents:desk': JSON.stringify({ mode: 'tools', help: 'Ask me.', system: 'Echo.', tools: [], messages: {} }) }, { LLM_BASE_URL: 'builtin:echo', LOG_LEVEL: 'silent' })
    const origin = await listen()
    const id = String((await post('/api/agents/desk/sessions')).json['id'])
    for (let said = 0; said < COUNT / EVENTS_OF_HELP; said++) await post(`/api/sessions/${id}/input`, { text: HELP })
    await post(`/api/sessions/${id}/input`, { text: 'the last words' })
    const page = await openConsole(t, browser, origin, '/sessions')
    await page.locator('tbody a').waitFor()
    const took = await page.evaluate(`(async () => {
      const began = performance.now()
      document.querySelector('tbody a').click()
      while (!document.querySelector('.talk')?.textContent.includes('the last words')) await new Promise(resolve => requestAnimationFrame(resolve))
      return performance.now() - began
    })()`) as number
    t.diagnostic(`opened after ${took.toFixed()} ms`)
    assert.ok(took < 2500, `opened after ${took} ms`)
    await page.getByLabel('Write to desk').fill('and these')
    await page.keyboard.press('Enter')
    await page.getByRole('list', { name: 'Dialogue' }).getByText('and these').first().waitFor()
    await page.getByRole('button', { name: 'Show earlier', exact: true }).click()
    await page.getByRole('button', { name: /^Show earlier \(/ }).waitFor()
    assert.match(await page.getByRole('button', { name: /^Show earlier \(/ }).innerText(), /\(\d{4}\)/)
  })
})

describe('A preview of 4 KB', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  it('follows the last key', async t => {
    const { listen } = await startService(t, { 'templates:team:long': JSON.stringify({ messages: [{ role: 'user', content: `${'Greet {{variables.name}} now. '.repeat(140)}#` }], parameters: [{ name: 'name', type: 'string', default: 'Ada' }] }) })
    const page = await openConsole(t, browser, await listen(), '/prompts/team.long')
    await page.getByText('Greet Ada now').first().waitFor()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+End')
    await page.evaluate('addEventListener("keydown", () => { globalThis.pressed = performance.now() }, true)')
    const times: number[] = []
    for (let text = '#', key = 0; key < 20; key++) {
      text += key % 10
      await page.keyboard.type(String(key % 10))
      times.push(await page.evaluate(`(async () => {
        while (!document.querySelector('.text.body').textContent.endsWith(${JSON.stringify(text)})) await new Promise(resolve => requestAnimationFrame(resolve))
        return performance.now() - globalThis.pressed
      })()`) as number)
    }
    const p95 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] as number
    t.diagnostic(`p95 ${p95.toFixed()} ms, median ${(times.toSorted((a, b) => a - b)[times.length / 2] as number).toFixed()} ms`)
    assert.ok(p95 < 1000, `p95 ${p95} ms`)
  })
})

describe(`The list of ${COUNT} sessions`, { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  it('shows its first rows at once, and finds one by its title', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const month = join(folder.path, 'sessions', 'ended', new Date().toISOString().slice(0, 7))
    mkdirSync(month, { recursive: true })
    const now = Date.now()
    for (let index = 0; index < COUNT; index++) {
      const { id, head, entry } = appendOf(newId(), undefined, { status: 'completed', owner: '', createdAt: now - index })
      const line = formatLine(entry, { head: { ...head, word: 'done', title: `Question q${index}x` }, due: undefined, written: now })
      writeFileSync(join(month, `${id}.jsonl`), line)
    }
    const { listen, post } = await startService(t, { 'agents:desk': JSON.stringify({ mode: 'tools', help: 'Ask me.', system: 'Echo.', tools: [], messages: {} }) }, { LLM_BASE_URL: 'builtin:echo', SESSION_STORE: join(folder.path, 'sessions'), LOG_LEVEL: 'silent' })
    const open = String((await post('/api/agents/desk/sessions')).json['id'])
    const page = await openConsole(t, browser, await listen(), '/problems')
    await page.getByText('Nothing is wrong').waitFor()
    const began = performance.now()
    await page.getByRole('link', { name: 'Sessions' }).first().click()
    await page.getByRole('link', { name: 'Question q0x', exact: true }).waitFor()
    const rows = performance.now() - began
    assert.equal(await page.locator(`a[href$="${open}"]`).count(), 1, 'what has not ended stands first')
    const searched = performance.now()
    await page.getByLabel('Search titles, ids, definitions').fill('q9876x')
    await page.getByRole('link', { name: 'Question q9876x', exact: true }).waitFor()
    const took = performance.now() - searched
    t.diagnostic(`first rows after ${rows.toFixed()} ms, found after ${took.toFixed()} ms`)
  })
})
