import assert from 'node:assert/strict'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Browser, type Locator, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { type JsonView, type Service, startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

// Each story is what somebody does who has read nothing: it begins on the first page, and presses what the page shows. It is done three times:
// undisturbed; with the network away whenever something is sent; and with a network that brings it there, and loses the reply.

/** What becomes of each thing that is sent for the first time. */
type Cut = 'none' | 'request' | 'reply'
const CUTS: Readonly<Record<Cut, string>> = { none: '', request: ', though the network is away when it is sent', reply: ', though the reply to it is lost' }

const SKILL = '---\nname: tidy\ndescription: Tidies the shop.\nparams:\n  - name: corner\n    description: Which corner\n---\nTidy.'
const AGENT = { mode: 'steps', onError: 'end', repairs: 0, classify: { prompt: 'classifier', answers: 'exact', unclear: 'error' }, select: { prompt: 'selector' }, tools: [{ name: 'find', tool: 'not.there', failed: 'It failed.' }] }

const FIXED = '/** The price of some pieces: ten of them and more are a tenth cheaper. */\nexport function priceOf (pieces, each) {\n  const discount = pieces >= 10 ? 0.1 : 0\n  return pieces * each * (1 - discount)\n}\n'

const REPLIES = [
  { system: 'classifier', reply: 'perhaps' },
  { last: 'Step 1 of', reply: '[CMD] echo ran >> log.txt' },
  { last: 'Step 2 of', reply: '[DONE] The shop is tidy.' },
  { system: 'PLAN', last: 'FILE[src/price.js]', reply: '{ "actions": [], "context_requests": [], "memory_patch": {}, "summary": "The discount has to begin with the tenth piece." }' },
  { system: 'PLAN', last: 'discount', reply: '{ "actions": [], "summary": "The code has to be read.", "memory_patch": {}, "context_requests": [{ "type": "read_file", "path": "src/price.js" }] }' },
  { system: 'APPLY', reply: JSON.stringify({ summary: 'The comparison is mended.', context_requests: [], memory_patch: {}, actions: [{ kind: 'UPDATE_FILE', path: 'src/price.js', content: FIXED }] }) }
]

describe('Somebody who has read nothing', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  const place = shared(async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const at = (path: string): string => join(folder.path, path)
    await cp('examples/shop', at('shop'), { recursive: true })
    await folder.write('replies.yaml', JSON.stringify(REPLIES))
    await folder.write('operator.json', JSON.stringify({
      workspaces: { shop: { path: 'shop', checks: { test: 'node --test' } } },
      targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off' } }
    }))
    const service = await startService(t, { 'skills:tidy': SKILL, 'agents:desk': AGENT }, {
      LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: at('replies.yaml'), OPERATOR_FILE: at('operator.json'), STATE_DIR: at('state'), VERSIONS: 'http', LOG_LEVEL: 'silent'
    })
    const read = async (path: string): Promise<string> => await readFile(at(`shop/${path}`), 'utf8').catch(() => '')
    return { ...service, origin: await service.listen(), read }
  })

  /** A story, told with each of the cuts. @param tell `id` is a name that no other telling has */
  function story (name: string, tell: (teller: Person, place: Place, id: string) => Promise<void>, cuts: readonly string[] = Object.keys(CUTS)): void {
    for (const [cut, words] of Object.entries(CUTS).filter(([each]) => cuts.includes(each))) {
      it(`${name}${words}`, async t => {
        const opened = await place()
        const page = await openConsole(t, browser, opened.origin, '/')
        const person = new Person(page, cut as Cut)
        await tell(person, opened, `${name.split(' ')[0] ?? ''}.${cut}`)
        t.diagnostic(`${name}: ${person.clicks} clicks`)
      })
    }
  }

  type Place = Service & { readonly origin: string, read (path: string): Promise<string> }

  interface Move { readonly note?: string }
  interface Releases { readonly versions: readonly Move[], readonly labels: object, readonly moves: readonly Move[] }
  const versionsOf = async ({ get }: Place, id: string): Promise<Releases> => (await get(`/api/prompts/${id}/versions`)).json as unknown as Releases

  /** Stores versions of a prompt, whose label `production` means the first, then each of `labels`. */
  async function publish ({ app }: Place, id: string, texts: readonly string[], labels: readonly number[] = []): Promise<void> {
    for (const userPrompt of texts) assert.ok((await app.inject({ method: 'PUT', url: `/api/prompts/${id}`, payload: { userPrompt } })).statusCode < 300)
    for (const version of labels) assert.ok((await app.inject({ method: 'PUT', url: `/api/prompts/${id}/labels/production`, payload: { version } })).statusCode < 300)
  }

  const opensPrompt = async (person: Person, id: string): Promise<void> => {
    await person.press(person.page.getByRole('link', { name: id, exact: true }))
  }

  story('writes a prompt', async (person, opened, id) => {
    const { page } = person
    await person.press(page.getByRole('button', { name: 'New prompt' }))
    await page.getByLabel('Id of the prompt').fill(id)
    await person.press(page.getByRole('button', { name: 'Go on' }))
    await person.write(page.locator('.cm-content').first(), 'Greet {{variables.name}}.')
    await page.getByLabel('Note: what has changed').fill('my first')
    await person.send(page.getByRole('button', { name: /^Save/ }), page.getByText('latest', { exact: true }))
    assert.equal((await opened.get(`/api/prompts/${id}`)).json['prompt']?.['messages']?.['0']?.['content'], 'Greet {{variables.name}}.')
    assert.deepEqual((await versionsOf(opened, id)).versions.map(({ note }) => note), ['my first'])
  })

  for (const [served, words] of [[undefined, ''], ['Your items.', ' while its last good version is served']] as const) {
    story(`mends a prompt that has a mistake${words}`, async (person, opened, name) => {
      const { page } = person
      const id = served === undefined ? name : `${name}-later`
      const key = `shenma:templates:${id.replace('.', ':')}`
      if (served !== undefined) {
        opened.store.set(key, served)
        await waitFor('the good version', async () => (await opened.get(`/api/prompts/${id}`)).status === 200)
      }
      opened.store.set(key, 'Your items:\n{{#each variables.items}}\n- {{name}}')
      await person.press(page.getByRole('link', { name: 'Problems' }))
      await person.press(page.locator('section, tr, li', { hasText: new RegExp(`${id.replace('.', '[.:]')}(?!-)`) }).getByRole('link', { name: 'Open there' }).last())
      await page.locator('.cm-content').first().waitFor()
      await person.press(page.locator('.cm-content').first())
      await page.keyboard.press('Control+End')
      await page.keyboard.insertText('\n{{/each}}')
      await person.send(page.getByRole('button', { name: /^Save/ }), page.getByText('latest', { exact: true }))
      const { json } = await opened.get(`/api/prompts/${id}`)
      assert.match(JSON.stringify(json['prompt']), /- \{\{name\}\}\\n\{\{\/each\}\}/)
    })
  }

  story('compares two versions', async (person, opened, id) => {
    const { page } = person
    await publish(opened, id, ['Promise no date.', 'Promise a date.', 'Promise a day.'])
    await opensPrompt(person, id)
    await person.write(page.locator('.cm-content').first(), 'Half a thought')
    const both = page.getByText('Promise no date.').first()
    await person.send(page.getByRole('link', { name: 'Compare', exact: true }), page.getByLabel('Before'))
    await person.choose(page.getByLabel('Before'), 'version 1')
    await person.choose(page.getByLabel('After'), 'version 2')
    await both.waitFor()
    await page.getByText('Promise a date.').first().waitFor()
    await person.press(page.getByRole('link', { name: 'Text', exact: true }))
    assert.equal(await page.locator('.cm-content').first().innerText(), 'Half a thought')
    await person.press(page.getByRole('link', { name: 'Compare', exact: true }))
    await both.waitFor()
    assert.deepEqual(await Promise.all(['Before', 'After'].map(each => page.getByLabel(each).inputValue())), ['1', '2'])
  })

  story('releases a text to a tenth', async (person, opened, id) => {
    const { page } = person
    await publish(opened, id, ['Promise no date.', 'Promise a date.'], [1])
    await opensPrompt(person, id)
    await person.press(page.getByRole('link', { name: 'Releases', exact: true }))
    await person.press(page.getByRole('button', { name: 'Move production', exact: true }))
    await person.write(page.getByRole('spinbutton', { name: 'Percent of callers' }), '10')
    await page.getByLabel('Note').fill('a tenth')
    await page.getByLabel('Type production').fill('production')
    const meaning = 'version 2 for 10 %, version 1 for 90 %'
    await person.send(page.getByRole('button', { name: `Move to ${meaning}` }), page.getByRole('listitem').filter({ hasText: meaning }))
    assert.equal(await page.getByText(/has moved/).count(), 0)
    const { labels, moves } = await versionsOf(opened, id)
    assert.deepEqual(labels, { production: [{ version: 2, weight: 10 }, { version: 1, weight: 90 }] })
    assert.deepEqual(moves.map(({ note }) => note), ['a tenth', undefined])
  })

  story('rolls back', async (person, opened, id) => {
    const { page } = person
    await publish(opened, id, ['Promise no date.', 'Promise a date.'], [1, 2])
    await opensPrompt(person, id)
    await person.press(page.getByRole('link', { name: 'Releases', exact: true }))
    await person.press(page.getByRole('button', { name: 'Roll back production' }))
    const form = page.getByRole('region', { name: 'Roll back production' })
    await form.getByLabel('Note').fill('too early')
    await person.send(form.getByRole('button', { name: 'Roll back production' }), page.getByRole('listitem').filter({ hasText: /production\s*version 1/ }))
    assert.equal(await page.getByText(/has moved/).count(), 0)
    const { labels, moves } = await versionsOf(opened, id)
    assert.deepEqual([labels, moves.length, moves[0]?.note], [{ production: 1 }, 3, 'too early'])
  })

  story('finds why a sentence is there', async (person, opened, id) => {
    const { page } = person
    const policy = `${id}-policy`
    await publish(opened, policy, ['First line.\nRefunds within 30 days.'])
    await publish(opened, id, [`Answer {{variables.name}}.\n{{> "${policy}"}}`])
    await opensPrompt(person, id)
    const preview = page.getByRole('region', { name: 'Preview' })
    await person.press(preview.getByRole('button', { name: /Refunds within 30 days/ }))
    await person.send(preview.getByRole('link', { name: policy }), page.locator('.cm-content', { hasText: 'Refunds within 30 days.' }))
    await page.getByRole('heading', { name: policy }).waitFor()
  })

  story('changes a shared variable', async (person, opened, id) => {
    const { page } = person
    opened.store.set(`shenma:environs:${id.replace('.', ':')}`, '"Northwind"')
    await person.press(page.getByRole('link', { name: 'Variables' }))
    await person.press(page.getByRole('link', { name: id, exact: true }))
    await person.write(page.getByRole('textbox', { name: 'Value' }), 'Southwind')
    const save = page.getByRole('button', { name: 'Save', exact: true })
    await person.send(save, page.getByRole('button', { name: 'Save', exact: true, disabled: true }))
    await waitFor('the value', async () => (await opened.get(`/api/environs/${id}`)).json as unknown === 'Southwind')
    assert.equal(await page.getByRole('textbox', { name: 'Value' }).inputValue(), 'Southwind')
  })

  const runs = async ({ read }: Place): Promise<number> => (await read('log.txt')).split('\n').length - 1

  /** Lets the command run that a card shows, in its two steps. */
  async function allow (person: Person, done: Locator): Promise<void> {
    const { page } = person
    const run = page.getByRole('button', { name: 'Run on here…' })
    await page.locator('.card footer').scrollIntoViewIfNeeded()
    await person.press(run)
    await person.send(page.getByRole('button', { name: 'Yes, run it' }), done, run)
  }

  story('approves a command', async (person, opened) => {
    const { page } = person
    const ran = await runs(opened)
    const { json } = await opened.post('/api/skills/start', { terminalSessionId: 'here', skillId: 'tidy', execution: 'approve', autoContinue: true })
    const id = String(json['data']?.['skillSessionId'])
    await person.press(page.getByRole('link', { name: 'Approvals' }))
    await allow(person, page.getByRole('heading', { name: 'Nothing waits' }))
    await waitFor('the end', async () => (await opened.get(`/api/sessions/${id}`)).json['status'] as unknown === 'completed')
    assert.equal(await runs(opened), ran + 1)
  })

  const sessionsOf = async ({ get }: Place, of: string): Promise<readonly JsonView[]> => (await get(`/api/sessions?limit=200&definition=${of}`)).json['sessions'] as unknown as readonly JsonView[]

  story('runs a skill', async (person, opened) => {
    const { page } = person
    const [ran, sessions] = [await runs(opened), await sessionsOf(opened, 'skills/tidy')]
    await person.press(page.getByRole('link', { name: 'Sessions' }))
    await person.press(page.getByRole('link', { name: 'Start a session' }).first())
    await person.press(page.getByRole('link', { name: 'tidy' }).first())
    await page.getByLabel('corner').fill('the left one')
    await page.getByLabel('In your own words').fill('please')
    await person.choose(page.getByLabel('Runs on'), 'here (this machine)')
    await person.send(page.getByRole('button', { name: 'Start the skill' }), page.locator('.card'))
    await allow(person, page.getByText('The shop is tidy.'))
    await page.getByText('The shop is tidy.').waitFor()
    assert.equal(await runs(opened), ran + 1)
    assert.equal((await sessionsOf(opened, 'skills/tidy')).length, sessions.length + 1)
  })

  story('applies a plan, and takes it back', async (person, opened) => {
    const { page } = person
    const [before, plans] = [await opened.read('src/price.js'), await sessionsOf(opened, 'plans/default')]
    await person.press(page.getByRole('link', { name: 'Sessions' }))
    await person.press(page.getByRole('link', { name: 'Start a session' }).first())
    await person.press(page.getByRole('link', { name: 'New plan' }))
    await page.getByLabel('Goal').fill('begin the discount with the tenth piece')
    await person.send(page.getByRole('button', { name: 'Make a plan' }), page.getByRole('button', { name: 'Make the change' }))
    await person.send(page.getByRole('button', { name: 'Make the change' }), page.getByRole('button', { name: 'Apply 1 file' }))
    await person.send(page.getByRole('button', { name: 'Apply 1 file' }), page.getByRole('button', { name: 'Undo…' }))
    assert.equal(await opened.read('src/price.js'), FIXED)
    await person.send(page.getByRole('button', { name: 'Undo…' }), page.getByRole('button', { name: 'Undo 1 file' }))
    await person.send(page.getByRole('button', { name: 'Undo 1 file' }), page.getByText('taken back').first())
    assert.equal(await opened.read('src/price.js'), before)
    assert.equal((await sessionsOf(opened, 'plans/default')).length, plans.length + 1)
  })

  story('finds the failed session of yesterday', async (person, opened, id) => {
    const { page } = person
    const session = String((await opened.post('/api/agents/desk/sessions', {})).json['id'])
    await opened.post(`/api/agents/sessions/${session}/message`, { text: `silence about ${id}` })
    await page.clock.setSystemTime(Date.now() + 24 * 60 * 60 * 1000)
    await person.press(page.getByRole('link', { name: 'Sessions' }))
    await person.choose(page.getByLabel('State', { exact: true }), 'failed')
    const filtered = page.waitForResponse(/status=failed.*since=/)
    await person.choose(page.getByLabel('Began', { exact: true }), 'Yesterday')
    await filtered
    await person.send(page.getByRole('link', { name: `silence about ${id}` }), page.getByText('It failed:'))
    assert.equal(new URL(page.url()).pathname, `/console/sessions/${session}`)
    await page.getByRole('list', { name: 'Dialogue' }).getByText(`silence about ${id}`).waitFor()
  })
})

/** Somebody who presses what the page shows, with the number of his clicks. What he chooses from a list takes two. */
class Person {
  clicks = 0
  readonly page: Page
  readonly #cut: Cut

  constructor (page: Page, cut: Cut) {
    this.page = page
    this.#cut = cut
  }

  async press (what: Locator): Promise<void> {
    await what.click()
    this.clicks++
  }

  async choose (field: Locator, option: string): Promise<void> {
    await field.selectOption(option)
    this.clicks += 2
  }

  /** Replaces the text of a field. */
  async write (field: Locator, text: string): Promise<void> {
    await this.press(field)
    await this.page.keyboard.press('Control+a')
    await this.page.keyboard.insertText(text)
  }

  /** Presses what sends something. Where that meets a cut, and the page says so, it is pressed again unless what was wanted is there. */
  async send (what: Locator, done: Locator, first?: Locator): Promise<void> {
    if (this.#cut === 'none') {
      await this.press(what)
      await done.first().waitFor()
      return
    }
    const { page } = this
    await what.click({ trial: true })
    const lift = this.#cut === 'request' ? await cutOff(page) : await loseReplies(page)
    await this.press(what)
    await page.getByText(/cannot be reached|connection (is|was) lost|does not answer/i).first().or(done.first()).first().waitFor()
    await lift()
    const look = page.getByRole('button', { name: /^(Look again|Try again)$/ }).first()
    for (let presses = 0; presses < 5; presses++) {
      const next = await waitFor('what was wanted, or a way on', async () => {
        if (await done.first().isVisible()) return 'done'
        for (const way of [look, what, ...(first === undefined ? [] : [first])]) if (await way.isVisible() && await way.isEnabled()) return way
        return undefined
      })
      if (next === 'done') return
      // What is done meanwhile can be pressed no more.
      await Promise.race([this.press(next), done.first().waitFor()])
      await Promise.race([done.first().waitFor().catch(() => {}), next.waitFor({ state: 'hidden', timeout: 1000 }).catch(() => {})])
    }
    await done.first().waitFor()
  }
}

async function cutOff (page: Page): Promise<() => Promise<void>> {
  await page.context().setOffline(true)
  return async () => { await page.context().setOffline(false) }
}

/** Brings requests to the service, and not one reply back. */
async function loseReplies (page: Page): Promise<() => Promise<void>> {
  await page.route('**/api/**', async route => {
    if (!route.request().url().includes('/events')) await route.fetch().catch(() => {})
    await route.abort().catch(() => {})
  })
  return async () => { await page.unroute('**/api/**') }
}
