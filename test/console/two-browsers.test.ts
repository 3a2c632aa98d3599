import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** What each of the two does; `PROPERTY_FACTOR=3` makes it more than 200 edits and 200 saves of each. */
const STEPS = Math.round(200 * Number(process.env['PROPERTY_FACTOR'] ?? 1))

const LINES = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']

describe('Two browsers that edit one prompt', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  it(`lose no word in ${STEPS} random steps each: edits, saves, lost replies, and pages that are loaded again`, async t => {
    const seed = Number(process.env['PROPERTY_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
    t.diagnostic(`PROPERTY_SEED=${seed}`)
    const { listen, get } = await startService(t, { 'templates:team:greet': { userPrompt: LINES.join('\n') } }, { VERSIONS: 'http', LOG_LEVEL: 'silent', LOG_REQUESTS: 'false' })
    const origin = await listen()
    const authors = await Promise.all(['a', 'b'].map(async (name, index) =>
      new Author(await openConsole(t, browser, origin, '/prompts/team.greet?tab=text', { viewport: { width: 1280, height: 2400 } }), name, randomFrom(seed + index))))
    await Promise.all(authors.map(each => each.work()))
    for (const author of authors) await author.saveAll()
    const stored = String((await get('/api/prompts/team.greet')).json['prompt']?.['userPrompt'])
    for (const { words, conflicts, name } of authors) {
      t.diagnostic(`${name}: ${words.length} words, ${conflicts} conflicts`)
      assert.deepEqual(words.filter(word => !stored.includes(word)), [])
    }
    assert.ok(authors.every(({ words }) => words.length > STEPS / 4))
    assert.ok(authors.some(({ conflicts }) => conflicts > 0))
  })
})

/** Adds words to lines, and takes none away. */
class Author {
  readonly words: string[] = []
  readonly name: string
  conflicts = 0
  readonly #page: Page
  readonly #random: () => number
  #losesReply = false

  constructor (page: Page, name: string, random: () => number) {
    this.#page = page
    this.name = name
    this.#random = random
  }

  async work (): Promise<void> {
    const page = this.#page
    await page.route('**/api/prompts/team.greet?**', async route => { await this.#answer(route) })
    await page.route('**/api/prompts/team.greet', async route => { await this.#answer(route) })
    for (let step = 0; step < STEPS; step++) {
      const dice = this.#random()
      if (await this.#conflict().isVisible()) await this.#resolve()
      else if (dice < 0.6) await this.#type()
      else if (dice < 0.95) await page.keyboard.press('Control+s')
      else if (dice < 0.98) this.#losesReply = true
      else await page.reload()
    }
  }

  async #answer (route: Parameters<Parameters<Page['route']>[1]>[0]): Promise<void> {
    if (route.request().method() !== 'PUT' || !this.#losesReply) { await route.continue().catch(() => {}); return }
    this.#losesReply = false
    await route.fetch().catch(() => {})
    await route.abort().catch(() => {})
  }

  /** Saves until nothing is left that is not saved. */
  async saveAll (): Promise<void> {
    this.#losesReply = false
    const page = this.#page
    await waitFor('everything to be saved', async () => {
      if (await this.#conflict().isVisible()) await this.#resolve()
      else if (await this.#canSave()) await page.keyboard.press('Control+s')
      else return await page.getByText('latest', { exact: true }).isVisible()
      return false
    })
  }

  #canSave (): Promise<boolean> {
    return this.#page.getByRole('button', { name: /^Save/, disabled: false }).isVisible()
  }

  #conflict () {
    return this.#page.locator('#conflict')
  }

  #editor () {
    return this.#page.locator('.cm-content').first()
  }

  async #type (): Promise<void> {
    const page = this.#page
    const word = `${this.name}${this.words.length}.`
    if (!await this.#focus()) return
    await page.keyboard.press('Control+Home')
    for (let down = Math.floor(this.#random() * LINES.length); down > 0; down--) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    await page.keyboard.insertText(` ${word}`)
    // Where a conflict has come in place of the editor, the key has met nothing.
    const texts = this.#editor().or(this.#page.getByLabel('Your draft'))
    if ((await texts.first().innerText()).includes(word)) this.words.push(word)
    else assert.ok(await this.#conflict().isVisible(), `${word} is gone while it was typed`)
  }

  async #focus (): Promise<boolean> {
    await this.#editor().or(this.#conflict()).first().waitFor().catch(async (error: unknown) => {
      throw new Error(`neither the text nor a conflict is there, but: ${await this.#page.locator('body').innerText()}`, { cause: error })
    })
    return await this.#editor().focus({ timeout: 2000 }).then(() => true, () => false)
  }

  /** Keeps both texts: by the button for it, or where they touch, by hand. */
  async #resolve (): Promise<void> {
    const page = this.#page
    this.conflicts++
    const both = page.getByRole('button', { name: 'Save both together' })
    if (await both.isVisible()) {
      await both.click()
      return
    }
    const [mine, theirs] = await Promise.all(['Your draft', 'Stored now'].map(label => page.getByLabel(label, { exact: true }).innerText()))
    const missing = wordsIn(theirs ?? '').filter(word => !wordsIn(mine ?? '').includes(word))
    await page.getByRole('button', { name: 'Go on editing' }).click()
    if (!await this.#focus()) return
    await page.keyboard.press('Control+End')
    await page.keyboard.insertText(` ${missing.join(' ')}`)
    // A reply that is lost is no conflict yet, and what an earlier save has stored is none.
    await waitFor('an answer to the save', async () => {
      if (await this.#conflict().isVisible() || !await this.#canSave()) return true
      await page.keyboard.press('Control+s')
      return false
    })
    if (!await this.#conflict().isVisible()) return
    const [now] = await Promise.all(['Stored now'].map(label => page.getByLabel(label, { exact: true }).innerText()))
    // Only what was read is replaced: something newer is another conflict.
    if (now === theirs) await page.getByRole('button', { name: 'Save mine over it' }).click()
  }
}

const wordsIn = (text: string): readonly string[] => text.match(/[ab]\d+\./g) ?? []

/** A generator of numbers from 0 to below 1 (mulberry32). */
function randomFrom (seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6D2B79F5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
