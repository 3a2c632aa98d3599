import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Locator, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, type ConsoleWishes, openConsole, violationsOf } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { sendCompletionStream, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

const GREETING = { userPrompt: 'Greet {{variables.name}}.', parameters: [{ name: 'name', type: 'string' }], defaults: { max_completion_tokens: 500 } }

const MARKDOWN = `# Findings

**One** of them, see [the docs](https://docs.example/a) and ![a picture](https://pictures.example/p.png).

<img src="https://pictures.example/q.png" onerror="document.title = 1"> <script>document.title = 2</script>

| file | lines |
| --- | --- |
| a.go | 12 |

\`\`\`js
const x = '<b>'
\`\`\``

describe('The playground', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /**
   * A workbench whose model API does by its model's name: `plain` and `markdown` answer, `json` does without telling tokens, `bad` refuses the first
   * request, `slow` says one word and waits for the test; and `script` is built in.
   */
  async function playground (t: TestContext, wishes: ConsoleWishes = {}) {
    const slow: ServerResponse[] = []
    const bodies: Array<Readonly<Record<string, unknown>>> = []
    const upstream = await startUpstream((hit, response) => {
      const body = JSON.parse(hit.body) as { readonly model: string, readonly messages: ReadonlyArray<{ readonly content: string }> }
      bodies.push(body)
      const isFirst = bodies.filter(({ model }) => model === body.model).length === 1
      if (body.model === 'bad' && isFirst) sendJson(response, 400, { error: { message: 'no such model', type: 'invalid_request_error', code: 'model_not_found' } })
      else if (body.model === 'slow') {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: {"choices":[{"index":0,"delta":{"content":"Slowly"}}]}\n\n')
        slow.push(response)
      } else if (body.model === 'json') sendCompletionStream(response, ['{ "score": 12345678901234567890, ', '"why": ["short", { "deep": true }] }'])
      else if (body.model === 'markdown') sendCompletionStream(response, MARKDOWN.match(/\S*\s*/g) ?? [], {}, true)
      else sendCompletionStream(response, ['You said: ', body.messages.at(-1)?.content ?? ''], {}, true)
    })
    t.after(() => upstream.close())
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const providers = [{ name: 'api', baseUrl: upstream.baseUrl, models: ['plain', 'json', 'markdown', 'bad', 'slow'] }, { name: 'builtin', baseUrl: 'builtin:script', models: ['script'] }]
    await folder.write('providers.json', JSON.stringify({ providers }))
    await folder.write('replies.yaml', JSON.stringify([{ last: 'Greet', reply: 'Read from a file.' }]))
    const environment = {
      LLM_PROVIDERS_FILE: join(folder.path, 'providers.json'),
      LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml'),
      LLM_MODEL: 'plain',
      VERSIONS: 'http',
      LOG_LEVEL: 'silent'
    }
    const service = await startService(t, { 'templates:team:greet': GREETING }, environment)
    const origin = await service.listen()
    await service.post('/api/prompts/team.greet/versions', {})
    await service.app.inject({ method: 'PUT', url: '/api/prompts/team.greet/labels/production', payload: { version: 1 } })
    const page = await openConsole(t, browser, origin, '/prompts/team.greet', wishes)
    await page.getByLabel('name text, required').fill('Ada')
    await page.getByRole('region', { name: 'Preview' }).getByText('Ada').waitFor()
    return { ...service, page, slow, bodies, upstream }
  }

  it('compares the draft, a version, a label and other models side by side; a column that fails or is stopped touches no other', async t => {
    const { page, slow, bodies, upstream } = await playground(t)
    await page.locator('.cm-content').first().click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText('Welcome {{variables.name}}!')
    await set(page, 1, { asks: 'draft' })
    await column(page, 1).getByText('Parameters', { exact: true }).click()
    await column(page, 1).getByLabel('temperature').fill('0.2')
    await column(page, 1).getByLabel('max_tokens').fill('20')
    await add(page)
    await set(page, 2, { asks: '1', model: 'slow' })
    await add(page)
    await set(page, 3, { asks: '@production', model: 'script' })
    await add(page)
    await set(page, 4, { asks: 'latest', model: 'bad' })
    assert.equal(await page.getByRole('button', { name: 'Add column' }).count(), 0, 'four at most')
    await page.keyboard.press('Control+Enter')

    await column(page, 1).getByText('You said: Welcome Ada!').waitFor()
    assert.match(await column(page, 1).innerText(), /First word[^]*Whole answer[^]*Tokens\s+19 in, 10 out/)
    const [draft] = bodies.filter(({ model }) => model === 'plain')
    assert.deepEqual({ ...draft, messages: 0 }, { model: 'plain', messages: 0, temperature: 0.2, max_tokens: 20, stream: true, stream_options: { include_usage: true } })
    await column(page, 3).getByText('Read from a file.').waitFor()
    assert.match(await column(page, 3).innerText(), /this is a script, no model[^]*Version\s+1/)
    await column(page, 4).getByRole('alert').getByText('no such model').waitFor()
    await column(page, 2).getByText('Slowly').waitFor()
    assert.equal(await page.getByRole('status').filter({ hasText: 'Answering' }).count(), 1)
    assert.equal(await page.getByText('Cost').count(), 0, 'no price is known')

    await column(page, 4).getByRole('button', { name: 'Try again' }).click()
    await column(page, 4).getByText('You said: Greet Ada.').waitFor()
    await column(page, 2).getByRole('button', { name: 'Stop' }).click()
    await column(page, 2).getByText('stopped').waitFor()
    await waitFor('the model is no longer asked', () => slow[0]?.destroyed === true)
    assert.match(await column(page, 2).innerText(), /Slowly/, 'what had come stays')
    assert.deepEqual(await violationsOf(page), [])

    await column(page, 2).getByRole('button', { name: 'Ask again' }).click()
    await waitFor('the model is asked again', () => slow.length === 2)
    await page.getByRole('link', { name: 'Settings' }).click()
    await upstream.allClosed()
  })

  it('keeps what was asked over a reload, and says that the answers are gone', async t => {
    const { page } = await playground(t)
    await add(page)
    await set(page, 2, { asks: '@production', model: 'json' })
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await column(page, 2).getByText('Answered').waitFor()
    assert.match(await column(page, 2).innerText(), /Tokens\s+not told by the provider/)
    await page.getByLabel('name text, required').fill('Bob')
    assert.equal(await page.getByText('with other values than now').count(), 2)
    await page.reload()
    await column(page, 2).getByText('the answer is gone').waitFor()
    assert.equal(await column(page, 2).getByLabel('Model').inputValue(), 'json')
    assert.equal(await column(page, 2).getByLabel('What is asked').inputValue(), '@production')
    await column(page, 2).getByText('Asked at').click()
    assert.match(await column(page, 2).getByLabel('Values of the answer').innerText(), /"name": "Ada"/)
    await column(page, 2).getByRole('button', { name: 'Ask again' }).click()
    await column(page, 2).getByText('score').waitFor()
    await page.goto(page.url().replace('team.greet', 'team.other'))
    await page.getByRole('region', { name: 'Answer 1' }).waitFor()
    assert.equal(await page.getByRole('region', { name: 'Answer 2' }).count(), 0, 'another prompt has columns of its own')
  })

  it('shows Markdown and JSON without loading or running anything of it', async t => {
    const { page } = await playground(t)
    const asked: string[] = []
    page.on('request', request => { if (request.url().includes('.example')) asked.push(request.url()) })
    await set(page, 1, { model: 'markdown' })
    await add(page)
    await set(page, 2, { model: 'json' })
    await page.keyboard.press('Control+Enter')
    await column(page, 1).getByText('Answered').waitFor()
    await column(page, 1).getByRole('heading', { name: 'Findings' }).waitFor()
    await column(page, 1).getByRole('cell', { name: 'a.go' }).waitFor()
    assert.equal(await column(page, 1).locator('pre').first().innerText(), "const x = '<b>'")
    const link = column(page, 1).getByRole('link', { name: 'the docs' })
    assert.deepEqual([await link.getAttribute('href'), await link.getAttribute('rel')], ['https://docs.example/a', 'noopener noreferrer nofollow'])
    assert.match(await column(page, 1).innerText(), /the docs \(https:\/\/docs\.example\/a\) and Picture: a picture \(https:\/\/pictures\.example\/p\.png\)/)
    assert.match(await column(page, 1).innerText(), /<img src="https:\/\/pictures\.example\/q\.png"/)
    assert.equal(await column(page, 1).locator('img, script').count(), 0)
    await column(page, 2).getByText('12345678901234567890').waitFor()
    await column(page, 2).locator('summary', { hasText: '{1}' }).click()
    await column(page, 2).getByText('deep').waitFor()
    await column(page, 2).getByRole('button', { name: 'As it came' }).click()
    await column(page, 2).getByText('"why": ["short"').waitFor()
    assert.deepEqual(asked, [])
    assert.doesNotMatch(await page.title(), /^[12]$/)
    assert.deepEqual(await violationsOf(page), [])
  })

  it('makes a test of an answer, and of values, in one step each', async t => {
    const { page, get, store } = await playground(t)
    await set(page, 1, { model: 'script' })
    await page.keyboard.press('Control+Enter')
    await column(page, 1).getByText('Read from a file.').waitFor()
    await column(page, 1).getByRole('button', { name: 'Make a test' }).click()
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByLabel('Value').inputValue(), 'Read from a file.')
    await dialog.getByLabel('Description').fill('is read')
    await dialog.getByLabel('Value').fill('FROM A FILE')
    assert.deepEqual(await violationsOf(page), [])
    // Somebody else saves a test meanwhile, which is kept.
    store.set('shenma:tests:team:greet', JSON.stringify([{ description: 'theirs' }]))
    await dialog.getByRole('button', { name: 'Save the case' }).click()
    await dialog.getByText('Saved as case 2.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()

    await page.getByLabel('name text, required').fill('Bob')
    await page.getByRole('region', { name: 'Variables' }).getByRole('button', { name: 'Make a test' }).click()
    await dialog.getByRole('button', { name: 'Save the case' }).click()
    await dialog.getByText('Saved as case 3.').waitFor()
    assert.deepEqual((await get('/api/prompts/team.greet/tests')).json['tests'], [
      { description: 'theirs' },
      { description: 'is read', run: 'chat', vars: { name: 'Ada' }, model: 'script', assert: [{ type: 'icontains', value: 'FROM A FILE' }] },
      { vars: { name: 'Bob' }, assert: [] }
    ])
    await dialog.getByRole('link', { name: 'Tests' }).click()
    await page.getByRole('button', { name: 'Run all' }).click()
    await page.getByText('2 passed, 1 failed').waitFor()
  })

  it('has every column within reach on a phone', async t => {
    const { page } = await playground(t, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' })
    for (const model of ['plain', 'json', 'script']) {
      await add(page)
      await page.getByLabel('Model').last().fill(model)
    }
    await page.getByRole('button', { name: 'Ask the model' }).click()
    await page.getByText('this is a script').waitFor()
    for (const number of [1, 2, 3, 4]) {
      await column(page, number).getByRole('button', { name: 'Make a test' }).scrollIntoViewIfNeeded()
      const box = await column(page, number).boundingBox()
      assert.ok(box !== null && box.width <= 390 && box.x > -10 && box.x + box.width < 400, JSON.stringify(box))
    }
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
    assert.deepEqual(await violationsOf(page), [])
  })
})

function column (page: Page, number: number): Locator {
  return page.getByRole('region', { name: `Answer ${number}` })
}

async function add (page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add column' }).click()
}

async function set (page: Page, number: number, { asks, model }: { readonly asks?: string, readonly model?: string }): Promise<void> {
  if (asks !== undefined) await column(page, number).getByLabel('What is asked').selectOption(asks)
  if (model !== undefined) await column(page, number).getByLabel('Model').fill(model)
}
