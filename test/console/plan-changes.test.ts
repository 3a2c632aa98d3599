import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { type Answer, type RepairPlace, repairPlace, type TaskFiles } from '../plans/repair-harness.ts'

const PRICE = 'export function priceOf (pieces, each) {\n  const discount = pieces > 10 ? 0.1 : 0\n  return pieces * each * (1 - discount)\n}\n'
const FILES: TaskFiles = { 'src/price.js': PRICE, 'src/other.js': 'export const other = 10\n' }
const READ: Answer = { actions: [], context_requests: [{ type: 'read_file', path: 'src/price.js' }, { type: 'read_file', path: 'src/other.js' }] }

const edit = (search: string, replace: string, path = 'src/price.js') => ({ kind: 'EDIT_FILE', path, edits: [{ search, replace }] })
const does = (...actions: object[]): Answer => ({ actions, summary: 'Done.' })

/** Rounds behind the first attempt. */
const ROUNDS = 3
/** Files of a folder that is deleted: more than one page of a preview. */
const MANY = 600
/** Bytes of a text whose difference is cut. */
const LARGE = 1_000_000

describe('The change of a plan at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** Starts a plan whose model gives these answers, and opens it. */
  async function open (t: TestContext, answers: readonly Answer[], { check = 'true', files = FILES }: { readonly check?: string, readonly files?: TaskFiles } = {}): Promise<{ readonly page: Page, readonly place: RepairPlace }> {
    const place = await repairPlace(t, { files, check, answers })
    const origin = await place.service.listen()
    const { id } = await place.start()
    const page = await openConsole(t, browser, origin, `/sessions/${String(id)}`)
    return { page, place }
  }

  it('whose check fails is mended in rounds within its files, and is taken back when these are used up', async t => {
    const wrong = (n: number): Answer => does(edit(n === 0 ? 'pieces > 10' : `pieces > ${10 + n}`, `pieces > ${11 + n}`))
    const { page, place } = await open(t, [READ, wrong(0), wrong(1), wrong(2), wrong(3)], { check: 'grep -q ">= 10" src/price.js || { echo "not ten"; exit 1; }' })
    const before = await place.tree()
    await page.locator('.diff .add', { hasText: 'pieces > 11' }).waitFor()
    await page.getByRole('button', { name: 'Apply 1 file' }).click()
    const checks = page.locator('section', { has: page.getByRole('heading', { name: 'Check test' }) })
    await checks.nth(ROUNDS).waitFor()
    await page.getByText('taken back').first().waitFor()
    await page.getByText('AUTO_CHECK_FAILED_ROLLED_BACK').first().waitFor()
    assert.equal(await page.getByText('check failed').count(), 1)
    for (const words of await checks.allInnerTexts()) assert.match(words, /failed[^]*not ten/)
    assert.deepEqual(await place.tree(), before)
  })

  it('is not written over what somebody has edited between the difference and Apply', async t => {
    const { page, place } = await open(t, [READ, does(edit('pieces > 10', 'pieces >= 10'))])
    await page.locator('.diff .add').waitFor()
    await place.write('src/price.js', `// mine\n${PRICE}`)
    await page.getByRole('button', { name: 'Apply 1 file' }).click()
    await page.getByText('ERR_BASE_CHANGED').or(page.locator('.diff', { hasText: '// mine' })).first().waitFor()
    assert.equal(await place.read('src/price.js'), `// mine\n${PRICE}`)
  })

  it('is agreed to by nobody before it is on the screen, nor when it cannot be shown', async t => {
    const place = await repairPlace(t, { files: FILES, check: 'true', answers: [READ, does(edit('pieces > 10', 'pieces >= 10'))] })
    const origin = await place.service.listen()
    const { id } = await place.start()
    const page = await openConsole(t, browser, origin, '/sessions')
    // What is shown first is the preview of before; the next one fails.
    let isGone = false
    await page.route('**/api/plans/*/preview*', async route => {
      if (isGone) await route.fulfill({ status: 500, json: { statusCode: 500, code: 'INTERNAL_ERROR', error: 'Internal Server Error', message: 'it broke', requestId: '1' } })
      else await route.fulfill({ json: { files: [], more: 0 } })
    })
    await page.goto(`${origin}/console/sessions/${String(id)}`)
    const apply = page.getByRole('button', { name: /^Apply/ })
    await page.getByText('The change is being loaded.').waitFor()
    assert.ok(await apply.isDisabled())
    isGone = true
    await page.reload()
    await page.getByText('The change cannot be shown').waitFor()
    assert.ok(await apply.isDisabled())
    assert.equal(await place.read('src/price.js'), PRICE)
  })

  it('says of an undo what would be left alone, since somebody has changed it, and takes the rest back', async t => {
    const { page, place } = await open(t, [READ, does(edit('pieces > 10', 'pieces >= 10'), edit('other = 10', 'other = 11', 'src/other.js'))])
    await page.locator('.file', { hasText: 'src/other.js' }).click()
    await page.locator('.file', { hasText: 'src/price.js' }).click()
    await page.getByRole('button', { name: 'Apply 2 files' }).click()
    await page.getByRole('button', { name: 'Undo…' }).waitFor()
    await place.write('src/price.js', 'mine\n')
    await page.getByRole('button', { name: 'Undo…' }).click()
    await page.getByText('1 would be left alone.').waitFor()
    assert.match(await page.locator('.note.warn', { hasText: 'left alone' }).innerText(), /src\/price\.js[^]*was changed/)
    await page.getByRole('button', { name: 'Undo 1 file' }).click()
    await page.getByText('1 would be left alone.').waitFor({ state: 'detached' })
    assert.deepEqual(await Promise.all(['src/price.js', 'src/other.js'].map(place.read)), ['mine\n', FILES['src/other.js']])
  })

  it(`of ${MANY} deleted files names each of them before it can be agreed to`, async t => {
    const files = Object.fromEntries(Array.from({ length: MANY }, (_, index) => [`old/file-${index}.md`, `text ${index}\n`]))
    const { page, place } = await open(t, [READ, does({ kind: 'DELETE_DIR', path: 'old' })], { files: { ...FILES, ...files } })
    await page.locator('.files li').nth(MANY - 1).waitFor()
    const apply = page.getByRole('button', { name: /^Apply/ })
    assert.ok(await apply.isDisabled())
    await page.getByText('Look at every file first.').waitFor()
    await page.evaluate('(async () => { for (const file of document.querySelectorAll(".file")) { file.click(); await new Promise(resolve => setTimeout(resolve)) } })()')
    await apply.click()
    await page.getByRole('button', { name: 'Undo…' }).waitFor()
    assert.equal(Object.keys(await place.tree()).some(path => path.startsWith('old/')), false)
  })

  it('whose difference is cut is off until it was looked at as a whole', async t => {
    const line = 'x'.repeat(99)
    const { page, place } = await open(t, [READ, does({ kind: 'CREATE_FILE', path: 'large.md', content: `${line}\n`.repeat(LARGE / 100) })])
    await page.getByText(/This difference is cut/).waitFor()
    const apply = page.getByRole('button', { name: 'Apply 1 file' })
    assert.ok(await apply.isDisabled())
    await page.getByRole('button', { name: 'Side by side' }).click()
    await page.locator('.cm-content').nth(1).getByText(line).first().waitFor()
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
    await page.getByRole('button', { name: 'Seen', exact: true }).click()
    await apply.click()
    await page.getByRole('button', { name: 'Undo…' }).waitFor()
    assert.equal((await place.read('large.md')).length, LARGE)
  })
})
