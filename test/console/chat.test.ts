import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, type ConsoleWishes, openConsole } from '../helpers/console.ts'
import { type Service, startService } from '../helpers/service.ts'
import { startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** A chat with an agent whose model says what a test wants, when it wants it. */
interface Chat {
  readonly page: Page
  readonly origin: string
  readonly path: string
  readonly service: Service
  /** The model's answers that are open. */
  readonly answers: readonly ServerResponse[]
}

describe('A chat at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  async function chat (t: TestContext, wishes: ConsoleWishes = {}): Promise<Chat> {
    const answers: ServerResponse[] = []
    const upstream = await startUpstream((_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      answers.push(response)
    })
    t.after(() => upstream.close())
    const service = await startService(t, { 'agents:desk': { mode: 'tools', help: 'Ask.', system: 'You are the desk.', tools: [], messages: {} } }, { LLM_BASE_URL: upstream.baseUrl, LLM_API_KEY: 'k', LLM_MODEL: 'm', LOG_LEVEL: 'silent' })
    const origin = await service.listen()
    const path = `/sessions/${String((await service.post('/api/agents/desk/sessions')).json['id'])}`
    const page = await openConsole(t, browser, origin, path, wishes)
    await page.getByLabel('Write to desk').waitFor()
    return { page, origin, path, service, answers }
  }

  /** Says something, and waits for the model's answer to begin. */
  async function ask ({ page, answers }: Chat, text: string): Promise<ServerResponse> {
    const before = answers.length
    await page.getByLabel('Write to desk').fill(text)
    await page.keyboard.press('Enter')
    return await waitFor('the question', () => answers[before])
  }

  it('shows words as they are said, and the answer once they are whole', async t => {
    const { page, ...rest } = await chat(t)
    const answer = await ask({ page, ...rest }, 'Who owns it?')
    say(answer, 'Ann ow')
    await page.locator('.talk .said', { hasText: /^Ann ow$/ }).waitFor()
    assert.ok(await page.locator('.talk .caret').isVisible())
    say(answer, 'ns it.')
    end(answer)
    await page.locator('.talk .caret').waitFor({ state: 'detached' })
    assert.equal(await dialogue(page).getByText('Ann owns it.').count(), 1)
  })

  it('keeps the words of an answer in sight until its message is read', async t => {
    const given = await chat(t)
    const { page } = given
    const answer = await ask(given, 'Who owns it?')
    await dialogue(page).getByText('Who owns it?').waitFor()
    say(answer, 'Ann owns it.')
    await dialogue(page).getByText('Ann owns it.').waitFor()
    let release = () => {}
    const released = new Promise<void>(resolve => { release = resolve })
    await page.route('**/api/sessions/*/messages*', async route => {
      await released
      await route.continue()
    })
    end(answer)
    await page.locator('.talk .caret').waitFor({ state: 'detached' })
    assert.equal(await dialogue(page).getByText('Ann owns it.').count(), 1)
    release()
    await dialogue(page).getByRole('listitem').filter({ hasText: 'Ann owns it.' }).locator('time').waitFor()
    assert.equal(await dialogue(page).getByText('Ann owns it.').count(), 1)
  })

  it('takes back what was said when the answer breaks off, and begins anew', async t => {
    const given = await chat(t)
    const { page, answers } = given
    const broken = await ask(given, 'Who owns it?')
    say(broken, 'Bob o')
    await dialogue(page).getByText('Bob o').waitFor()
    broken.destroy()
    const answer = await waitFor('another attempt', () => answers[1])
    say(answer, 'Ann owns it.')
    end(answer)
    await dialogue(page).getByText('Ann owns it.').waitFor()
    await page.locator('.talk .caret').waitFor({ state: 'detached' })
    assert.deepEqual([await dialogue(page).getByText(/Bob/).count(), await dialogue(page).getByText('Ann owns it.').count()], [0, 1])
  })

  it('counts words once that are sent again since nobody knew whether they had come', async t => {
    const given = await chat(t)
    const { page, answers } = given
    // They arrive, and the answer does not.
    await page.route('**/api/sessions/*/input', async route => {
      await route.fetch().catch(() => {})
      await route.abort()
    }, { times: 1 })
    const question = ask(given, 'Who owns it?')
    say(await question, 'Ann.')
    end(answers[0] as ServerResponse)
    await dialogue(page).getByText('Ann.').waitFor()
    await page.getByText('it is not known whether this has arrived').waitFor()
    assert.equal(await page.getByLabel('Write to desk').inputValue(), 'Who owns it?')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await waitFor('the field to be empty', async () => await page.getByLabel('Write to desk').inputValue() === '')
    assert.deepEqual([answers.length, await dialogue(page).getByText('Who owns it?').count()], [1, 1])
  })

  it('shows in a second tab what was said in the first, as it comes', async t => {
    const given = await chat(t)
    const { page, origin, path } = given
    const other = await page.context().newPage()
    await other.goto(`${origin}/console${path}`)
    await other.getByLabel('Write to desk').waitFor()
    const answer = await ask(given, 'Who owns it?')
    await dialogue(other).getByText('Who owns it?').waitFor()
    say(answer, 'Ann ow')
    await dialogue(other).getByText('Ann ow').waitFor()
    say(answer, 'ns it.')
    end(answer)
    for (const each of [page, other]) await dialogue(each).getByText('Ann owns it.').waitFor()
    assert.equal(await dialogue(other).getByText('Who owns it?').count(), 1)
  })

  for (const [screen, viewport] of Object.entries({ desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 }, 'phone with an open keyboard': { width: 390, height: 420 } })) {
    it(`covers nothing with its field on a ${screen}, and scrolls along only for who is at the end`, async t => {
      const given = await chat(t, { viewport })
      const { page, service, path } = given
      for (let line = 0; line < 12; line++) await service.post(`/api${path}/input`, { text: '/help' })
      const answer = await ask(given, 'Tell me all.')
      say(answer, 'First words. ')
      await dialogue(page).getByText('First words.').waitFor()
      for (let line = 0; line < 30; line++) say(answer, `Line ${line} of what is told.\n`)
      await dialogue(page).getByText('Line 29').waitFor()
      await waitFor('the end of what is said', async () => await page.evaluate(COVERED) as unknown === '')
      await page.getByLabel('Write to desk').fill('A long draft\n'.repeat(40))
      await waitFor('the draft to be below it', async () => await page.evaluate(COVERED) as unknown === '')
      await page.evaluate('scrollBy(0, -100)')
      const place = await waitFor('the scroll', async () => await page.evaluate('new Promise(resolve => requestAnimationFrame(() => { const before = scrollY; requestAnimationFrame(() => resolve(scrollY === before && scrollY > 0 ? scrollY : undefined)) }))'))
      for (let line = 30; line < 40; line++) say(answer, `Line ${line} of what is told.\n`)
      await dialogue(page).getByText('Line 39').waitFor()
      assert.equal(await page.evaluate('new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => resolve(scrollY))))'), place)
      end(answer)
      await page.locator('.talk .caret').waitFor({ state: 'detached' })
      await page.evaluate('document.querySelector(".talk > li:last-child").scrollIntoView({ block: "end" }); scrollBy(0, 400)')
      await waitFor('the end of the answer', async () => await page.evaluate(COVERED) as unknown === '')
    })
  }

  it('costs no request for each word that is being written', async t => {
    const given = await chat(t)
    const { page } = given
    const answer = await ask(given, 'Count.')
    say(answer, 'w0 ')
    await page.locator('.talk .answer', { hasText: 'w0' }).waitFor()
    const requests: string[] = []
    page.on('request', request => { requests.push(new URL(request.url()).pathname) })
    for (let word = 1; word <= 120; word++) {
      say(answer, `w${word} `)
      await dialogue(page).getByText(`w${word}`).waitFor()
    }
    // The state of the service is asked for every 15 s, and what began is read once, whatever is said.
    const asked = requests.filter(path => path !== '/readyz')
    assert.ok(asked.length <= 4, asked.join(' '))
    end(answer)
    await page.locator('.talk .caret').waitFor({ state: 'detached' })
  })
})

/** What of the end of the dialogue and of the field cannot be seen, or lies over the other; empty if all is well. */
const COVERED = `(() => {
  const last = document.querySelector('.talk > li:last-child').getBoundingClientRect()
  const field = document.querySelector('.composer').getBoundingClientRect()
  const rail = document.querySelector('.rail')
  const bottom = getComputedStyle(rail).position === 'fixed' ? rail.getBoundingClientRect().top : innerHeight
  if (last.bottom > field.top) return 'the last words end at ' + last.bottom + ', below the beginning of the field at ' + field.top
  return field.bottom > bottom ? 'the field ends at ' + field.bottom + ', below ' + bottom : ''
})()`

function dialogue (page: Page) {
  return page.getByRole('list', { name: 'Dialogue' })
}

function say (response: ServerResponse, content: string): void {
  response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`)
}

function end (response: ServerResponse): void {
  response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`)
}
