import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { type Answer, type RepairPlace, repairPlace, type TaskFiles } from '../plans/repair-harness.ts'

const PRICE = 'export function priceOf (pieces, each) {\n  const discount = pieces > 10 ? 0.1 : 0\n  return pieces * each * (1 - discount)\n}\n'
const FILES: TaskFiles = { 'src/price.js': PRICE, 'src/other.js': 'export const other = 10\n' }
const READ: Answer = { actions: [], context_requests: [{ type: 'read_file', path: 'src/price.js' }, { type: 'read_file', path: 'src/other.js' }] }

const edit = (search: string, replace: string, path = 'src/price.js') => ({ kind: 'EDIT_FILE', path, edits: [{ search, replace }] })
const does = (...actions: object[]): Answer => ({ actions, summary: 'Done.' })

/** Rounds behind the first attempt. */
const ROUNDS = 3
/** Files of a change: more than four pages of a preview. They come with their folders. */
const MANY = 2000
const PARTS = 20
const ALL = MANY + PARTS + 1
const IN_PART = MANY / PARTS + 1
const LINES = 10_000
/** Bytes of a text of one line. */
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
    await page.locator('.file[title="src/other.js"]').click()
    await page.locator('.file[title="src/price.js"]').click()
    await page.getByRole('button', { name: 'Apply 2 files' }).click()
    await page.getByRole('button', { name: 'Undo…' }).waitFor()
    await place.write('src/price.js', 'mine\n')
    await page.getByRole('button', { name: 'Undo…' }).click()
    await page.getByText('1 would be left alone.').waitFor()
    assert.match(await page.locator('.note.warn', { hasText: 'left alone' }).innerText(), /src\/price\.js[^]*was changed/)
    await page.getByRole('button', { name: 'Undo 1 file' }).click()
    await page.getByText('1 would be left alone.').waitFor({ state: 'detached' })
    await waitFor('the rest to be taken back', async () => await place.read('src/other.js') === FILES['src/other.js'])
    assert.equal(await place.read('src/price.js'), 'mine\n')
  })

  it(`of ${MANY} files is looked at by their folders, and written`, async t => {
    const actions = Array.from({ length: MANY }, (_, index) => ({ kind: 'CREATE_FILE', path: `docs/part-${index % PARTS}/file-${index}.md`, content: `text ${index}\n` }))
    const { page, place } = await open(t, [does(...actions)])
    const apply = page.getByRole('button', { name: /^Apply/ })
    await page.getByText(`looked at: 1 of ${ALL}`).waitFor()
    await page.getByText('Look at every file first.').waitFor()
    assert.ok(await apply.isDisabled())
    assert.ok(await page.locator('.files [role=listitem]').count() < 300)
    assert.deepEqual(await violationsOf(page), [])
    const parts = page.getByRole('button', { name: 'Mark part-1/ as seen' })
    await parts.click()
    await page.getByText(`Mark ${IN_PART} files of part-1/ as seen without opening them?`).waitFor()
    await page.getByRole('button', { name: 'No', exact: true }).click()
    await page.getByText(`looked at: 1 of ${ALL}`).waitFor()
    await parts.click()
    await page.getByRole('button', { name: `Mark ${IN_PART} files` }).click()
    await page.getByText(`looked at: ${IN_PART + 1} of ${ALL}`).waitFor()
    assert.ok(await apply.isDisabled())
    await page.getByRole('button', { name: 'Mark docs/ as seen' }).click()
    await page.getByText(`Mark ${ALL - IN_PART - 1} files of docs/ as seen`).waitFor()
    await page.getByRole('button', { name: `Mark ${ALL - IN_PART - 1} files` }).click()
    await apply.click()
    await page.getByRole('button', { name: 'Undo…' }).waitFor()
    assert.equal(Object.keys(await place.tree()).filter(path => path.endsWith('.md')).length, MANY)
    await page.getByRole('button', { name: 'Undo…' }).click()
    await page.getByRole('button', { name: `Undo ${MANY} files` }).click()
    await page.getByText('taken back').first().waitFor()
    assert.equal(Object.keys(await place.tree()).filter(path => path.endsWith('.md')).length, 0)
  })

  it('that deletes a folder names each of its files before it can be agreed to', async t => {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`old/file-${index}.md`, `text ${index}\n`]))
    const { page, place } = await open(t, [READ, does({ kind: 'DELETE_DIR', path: 'old' })], { files: { ...FILES, ...files } })
    const apply = page.getByRole('button', { name: /^Apply/ })
    await page.locator('.file', { hasText: 'file-39.md' }).waitFor()
    assert.ok(await apply.isDisabled())
    await page.evaluate('(async () => { for (const file of document.querySelectorAll(".file[title]")) { file.click(); await new Promise(resolve => setTimeout(resolve)) } })()')
    await apply.click()
    await page.getByRole('button', { name: 'Undo…' }).waitFor()
    assert.equal(Object.keys(await place.tree()).some(path => path.startsWith('old/')), false)
  })

  it(`of ${LINES} changed lines is shown in hunks and by words, with few of them on the page, and can be searched, copied and unfolded`, async t => {
    const was = Array.from({ length: 2 * LINES }, (_, index) => `line ${index} is as it was`)
    const is = was.map((line, index) => index % 20 < 10 ? line.replace('as it was', 'another now') : line)
    // A model that has not read all of a file may only edit it.
    const edits = Array.from({ length: 100 }, (_, part) => {
      const [from, to] = [part * 2 * LINES / 100, (part + 1) * 2 * LINES / 100]
      return { search: was.slice(from, to).join('\n'), replace: is.slice(from, to).join('\n') }
    })
    const change = does({ kind: 'EDIT_FILE', path: 'src/long.md', edits })
    const { page } = await open(t, [change, change], { files: { ...FILES, 'src/long.md': `${was.join('\n')}\n` } })
    const diff = page.locator('.diff')
    await diff.locator('.add', { hasText: 'line 0 is another now' }).waitFor()
    t.diagnostic(await page.evaluate(`(async () => {
      const [before, began] = [document.querySelectorAll('.diff *').length, performance.now()]
      const frames = []
      for (let at = 0, last = began; at < 60; at++) {
        scrollBy(0, 400)
        const now = await new Promise(resolve => requestAnimationFrame(resolve))
        frames.push(now - last)
        last = now
      }
      frames.sort((a, b) => a - b)
      return before + ' nodes of the diff at first, ' + document.querySelectorAll('.diff *').length + ' behind 60 steps of 400 px, a frame ' + frames[30].toFixed() + ' ms, the longest ' + frames.at(-1).toFixed() + ' ms'
    })()`))
    assert.ok(await page.evaluate('document.querySelectorAll(".diff *").length < 5000'))
    await page.evaluate('scrollTo(0, 0)')
    assert.equal(await diff.locator('.add mark').first().innerText(), 'another now')
    const field = page.getByRole('searchbox', { name: 'Find in this file' })
    await field.fill('line 15007 is')
    await page.getByText('1 of 2').waitFor()
    await diff.locator('.del.found', { hasText: 'line 15007 is as it was' }).waitFor()
    await field.press('Enter')
    const found = diff.locator('.add.found', { hasText: 'line 15007 is another now' })
    await found.waitFor()
    await waitFor('it to be in sight', async () => await page.evaluate('(({ top, bottom }) => top > 0 && bottom < innerHeight)(document.querySelector(".diff .found").getBoundingClientRect())'))
    const copied = await page.evaluate(`(() => {
      const rows = [...document.querySelectorAll('.diff [data-row]')].slice(-30).filter(row => row.matches('.add'))
      document.getSelection().setBaseAndExtent(rows[0].lastChild, 0, rows[1].lastChild, rows[1].lastChild.childNodes.length)
      const data = new DataTransfer()
      document.activeElement.blur()
      rows[0].dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true }))
      return data.getData('text/plain')
    })()`)
    assert.match(String(copied), /^line \d+ is another now\nline \d+ is another now$/)
    await page.evaluate('scrollTo(0, 0)')
    // The rows of the place before stay until the page has been drawn: the first button would be one of theirs.
    await diff.locator('.add', { hasText: 'line 0 is another now' }).waitFor()
    assert.equal(await diff.getByText('line 14 is as it was').count(), 0)
    await diff.getByRole('button', { name: 'Show all 4' }).first().click()
    const opened = diff.locator('[data-row]', { hasText: 'line 14 is as it was' })
    await opened.waitFor()
    // What is searched for is a row further down by now, and nobody has asked for it again.
    await page.evaluate('new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve))))')
    assert.ok(await opened.isVisible() && Number(await page.evaluate('scrollY')) < 1000)
    assert.deepEqual(await violationsOf(page), [])
  })

  it('of a single line of 1 MB stops nothing, and is shown to its end', async t => {
    const { page, place } = await open(t, [does({ kind: 'CREATE_FILE', path: 'large.md', content: `${'word '.repeat(LARGE / 5 - 1)}tail\n` })])
    await page.locator('.diff .add').first().waitFor()
    const began = performance.now()
    const field = page.getByRole('searchbox', { name: 'Find in this file' })
    await field.fill('tail')
    await page.locator('.diff .found', { hasText: 'tail' }).waitFor()
    t.diagnostic(`the end of the line is found and shown after ${(performance.now() - began).toFixed()} ms, with ${await page.locator('.diff *').count()} nodes`)
    assert.ok(await page.locator('.diff *').count() < 2000)
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
    await page.getByRole('button', { name: 'Apply 1 file' }).click()
    await page.getByRole('button', { name: 'Undo…' }).waitFor()
    assert.equal((await place.read('large.md')).length, LARGE)
  })

  it('that cannot be shown whole is off until it was marked', async t => {
    const { page } = await open(t, [does({ kind: 'CREATE_FILE', path: 'large.md', content: 'x\n'.repeat(50_000) })])
    await page.route('**/preview?*side=diff*', async route => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...await response.json() as object, isCut: true } })
    })
    await page.reload()
    await page.getByText(/This difference is cut/).waitFor()
    const apply = page.getByRole('button', { name: 'Apply 1 file' })
    assert.ok(await apply.isDisabled())
    await page.getByRole('button', { name: 'Side by side' }).click()
    await page.locator('.cm-content').nth(1).getByText('x').first().waitFor()
    await page.getByRole('button', { name: 'Seen', exact: true }).click()
    await apply.click()
    await page.getByRole('button', { name: 'Undo…' }).waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })
})
