import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { askingPlace } from '../helpers/asking-skill.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

interface Deceiving {
  readonly what: string
  readonly text: string
  /** What the card says of it. */
  readonly says: RegExp
  /** Whether the place has to be typed. */
  readonly isGrave?: true
}

const commandOf = (text: string): string => `printf %s '${text}' > ran.txt`

/** The largest command, in bytes. */
const MOST = 96 * 1024

const DECEIVING: readonly Deceiving[] = [
  { what: 'a turned direction', text: 'a\u202eb\u2066c', says: /a\\u\{202e\}b\\u\{2066\}c[^]*2 hidden/, isGrave: true },
  { what: 'letters of no width', text: 'a\u200bb\u2060\ufeffc', says: /a\\u\{200b\}b\\u\{2060\}\\u\{feff\}c[^]*3 hidden/, isGrave: true },
  { what: 'a letter that looks like a space', text: 'a\u3164b\u00a0c', says: /a\\u\{3164\}b\\u\{a0\}c[^]*2 hidden/, isGrave: true },
  { what: 'a return to the beginning of the line', text: 'rm -rf /\recho ok', says: /rm -rf \/\\u\{d\}echo ok[^]*1 hidden/, isGrave: true },
  { what: 'what stands far to the right', text: `a${' '.repeat(5000)}; rm b`, says: /·; rm b[^]*1 line/ },
  { what: 'a word of two alphabets', text: 'ex\u0430mple.com', says: /A word mixes two alphabets: ex\u0430mple/, isGrave: true },
  { what: 'what looks like a page', text: '<script>document.title = 1</script>', says: /<script>document\.title = 1<\/script>/ },
  { what: '96 KiB', text: `${'x'.repeat(MOST - commandOf('end').length)}end`, says: /xend'[^]*98,304 characters/ }
]

describe('What deceives', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** A skill that wants to run these commands, one after the other, at the screen of approvals in a narrow window. */
  async function open (t: TestContext, commands: readonly string[]): Promise<{ readonly page: Page, readonly shop: string }> {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('replies.yaml', JSON.stringify([...commands.map((command, index) => ({ last: `Step ${index + 1} of`, reply: `[CMD] ${command}` })), { reply: '[DONE] Done.' }]))
    const place = await askingPlace(t)
    const service = await place.start({}, { LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml') })
    const origin = await service.listen()
    await service.walk()
    return { page: await openConsole(t, browser, origin, '/approvals', { viewport: { width: 390, height: 844 } }), shop: place.shop }
  }

  it('is shown as what it is, is never wider than the window, and runs as exactly the bytes that were shown', async t => {
    const { page, shop } = await open(t, DECEIVING.map(({ text }) => commandOf(text)))
    const card = page.locator('.card').last()
    for (const { what, text, says, isGrave = false } of DECEIVING) {
      await waitFor(what, async () => says.test(await card.innerText()))
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), what)
      assert.equal(asRaw(await card.locator('.command .words').innerText()), commandOf(text), what)
      assert.equal(await card.getByLabel(/^Type/).count(), isGrave ? 1 : 0, what)
      if (isGrave) await card.getByLabel(/^Type/).fill('here')
      await card.locator('.command .end').scrollIntoViewIfNeeded()
      await card.locator('footer').scrollIntoViewIfNeeded()
      await card.getByRole('button', { name: 'Run on here…' }).click()
      await card.getByRole('button', { name: 'Yes, run it' }).click()
      await waitFor(`${what} to run`, async () => await readFile(join(shop, 'ran.txt'), 'utf8').catch(() => '') === text)
    }
    assert.notEqual(await page.title(), '1')
  })

  it('is shown so, too, when it was edited in', async t => {
    const { page } = await open(t, ['echo one'])
    await page.getByRole('button', { name: 'Edit' }).click()
    for (const { what, text, says } of DECEIVING.filter(each => !each.text.includes('\r'))) {
      await page.getByLabel('Command, edited').fill(commandOf(text))
      await waitFor(what, async () => says.test(await page.locator('.card').innerText()))
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), what)
    }
    assert.notEqual(await page.title(), '1')
  })

  it('has to have its place typed before it runs', async t => {
    const { page } = await open(t, ['echo one'])
    const run = page.getByRole('button', { name: 'Run on here…' })
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Command, edited').fill('echo ab')
    await waitFor('the button', async () => await run.isEnabled())
    await page.getByLabel('Command, edited').fill('echo a\u200bb')
    await page.getByLabel(/^Type/).fill('her')
    await page.waitForTimeout(1000)
    assert.ok(await run.isDisabled())
    await page.getByLabel(/^Type/).fill('here')
    await waitFor('the button', async () => await run.isEnabled())
  })
})

/** A text out of what is shown of it: names of hidden characters, and signs for blanks. */
function asRaw (shown: string): string {
  return shown.replaceAll(/\\u\{([0-9a-f]+)\}/g, (_name, code: string) => String.fromCodePoint(Number.parseInt(code, 16))).replaceAll('·', ' ')
}
