import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { tokenEntry } from '../helpers/tokens.ts'

const GREETING = { messages: [{ role: 'system', content: 'You serve {{company.name}}.' }, { role: 'user', content: 'Greet {{variables.name}}.' }], parameters: [{ name: 'name', type: 'string' }] }
const REGISTRATIONS = { 'templates:team:greet': GREETING, 'environs:company:name': 'Northwind' }

describe('An author at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  async function workbench (t: TestContext, id = 'team.greet') {
    const service = await startService(t, REGISTRATIONS, { LLM_BASE_URL: 'builtin:echo', VERSIONS: 'http' })
    const page = await openConsole(t, browser, await service.listen(), `/prompts/${id}`)
    await page.locator('.cm-content').first().waitFor()
    return { ...service, page }
  }

  it('opens a prompt from the list', async t => {
    const { listen } = await startService(t, REGISTRATIONS)
    const page = await openConsole(t, browser, await listen(), '/')
    await page.getByRole('link', { name: 'team.greet' }).click()
    await page.getByRole('heading', { name: 'team.greet' }).waitFor()
  })

  it('sees what the text becomes while it is written, and no tool is called for it', async t => {
    const { page } = await workbench(t)
    await page.getByLabel('name text, required').fill('Ada')
    await preview(page).getByText('Ada').waitFor()
    assert.match(await preview(page).innerText(), /You serve Northwind\.[^]*Greet Ada\./)
    await write(page, 1, 'Welcome {{variables.name}}!')
    await preview(page).getByText('Welcome').waitFor()
    assert.match(await preview(page).innerText(), /Welcome Ada!/)
  })

  it('opens it calm, with a mark in the place of each value that is missing', async t => {
    const { page } = await workbench(t)
    await preview(page).getByText('⟨name⟩', { exact: true }).waitFor()
    assert.match(await preview(page).innerText(), /Not given yet: ⟨name⟩[^]*You serve Northwind\.[^]*Greet ⟨name⟩\./)
    assert.equal(await page.getByText('Missing.').count(), 0)
    await page.getByRole('button', { name: 'Render' }).first().click()
    await page.getByText('Missing.').waitFor()
  })

  it('keeps the fields of the form while an expression is being typed', async t => {
    const { page } = await workbench(t)
    await page.getByLabel('name text, required').waitFor()
    await write(page, 1, 'Greet {{variables.name}} of {{variables.town}}.')
    await page.getByLabel('town text, required').waitFor()
    await write(page, 1, 'Greet {{variables.name}} of {{variables.town}} and {{')
    await page.locator('.remark.bad').first().waitFor()
    await page.getByLabel('town text, required').waitFor()
  })

  it('writes a prompt in Go\'s syntax, too', async t => {
    const { page } = await workbench(t)
    await page.getByLabel('name text, required').fill('Ada')
    await write(page, 0, '{{/* Go */}}{{.company.name}} serves you.')
    await write(page, 1, '{{with .variables.name}}Hello {{.}}{{end}}')
    await preview(page).getByText('Hello').waitFor()
    assert.match(await preview(page).innerText(), /Northwind serves you\.[^]*Hello Ada/)
  })

  it('sees what parts become, and what of them is wrong', async t => {
    const service = await startService(t, { 'templates:photo': { messages: [{ placeholder: 'history' }, { role: 'user', content: [{ type: 'text', text: 'See {{variables.what}}' }, { type: 'image_url', image_url: { url: '{{variables.url}}' } }] }] } })
    const page = await openConsole(t, browser, await service.listen(), '/prompts/photo')
    await page.getByText('Not one text: edit it in the tab Raw.').first().waitFor()
    await page.getByLabel('what text, required').fill('this')
    await page.getByLabel('url text, required').fill('https://example.com/cat.png')
    await preview(page).getByRole('button', { name: /https:\/\/example\.com\/cat\.png/ }).hover()
    assert.match(await preview(page).innerText(), /history[^]*user[^]*See this/)
    await page.getByLabel('url text, required').fill('http://example.com')
    await page.getByText(/must be an https: or data: URL, not http:/).waitFor()
  })

  it('tries a prompt with a conversation, which stands in its place', async t => {
    const service = await startService(t, { 'templates:sum': { messages: [{ placeholder: 'history' }, { role: 'user', content: 'Sum it up.' }] } })
    const page = await openConsole(t, browser, await service.listen(), '/prompts/sum')
    await page.getByLabel('Conversation so far').fill('[{"role": "user", "content": "Hi {{x}}"}, {"role": "assistant", "content": "Hello"}]')
    await preview(page).getByText('assistant: Hello').waitFor()
    assert.match(await preview(page).innerText(), /history[^]*user: Hi \{\{x\}\}[^]*assistant: Hello[^]*Sum it up\./)
    await page.reload()
    await preview(page).getByText('assistant: Hello').waitFor()
  })

  it('points at a piece and sees where it comes from, in the text and below', async t => {
    const { page } = await workbench(t)
    await page.getByLabel('name text, required').fill('Ada')
    await preview(page).locator('[aria-description="from a variable"]', { hasText: 'Ada' }).hover()
    await preview(page).getByText('as you typed it').waitFor()
    assert.equal(await page.locator('.cm-content .from.here').innerText(), '{{variables.name}}')
    await preview(page).getByRole('button', { name: /Northwind/ }).focus()
    assert.equal(await page.locator('.cm-content .from.here').innerText(), '{{company.name}}')
    assert.match(await preview(page).locator('dl').innerText(), /company\.name, revision/)
  })

  it('reaches what came from a partial by keys and by mouse, and goes from it to its line there', async t => {
    const service = await startService(t, { 'templates:team:greet': 'You serve.\n{{> team.rules}}\nBye.', 'templates:team:rules': 'Always:\nbe kind to {{variables.name}}.' })
    const page = await openConsole(t, browser, await service.listen(), '/prompts/team.greet')
    await page.getByLabel('name text, required').fill('Ada')
    const pieces = preview(page).getByRole('button', { name: /Always|Ada/ })
    await preview(page).getByText('Ada').waitFor()
    await pieces.first().focus()
    assert.match(await preview(page).locator('dl').innerText(), /The text itself[^]*team\.rules, line 1, column 1/)
    await page.keyboard.press('ArrowRight')
    assert.match(await preview(page).locator('dl').innerText(), /variables\.name[^]*team\.rules, line 2, column 12/)
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'team.rules')
    await page.getByRole('heading', { name: 'Variables' }).hover()
    await pieces.last().hover()
    await preview(page).getByRole('link', { name: 'team.rules' }).click()
    await page.getByRole('heading', { name: 'team.rules' }).waitFor()
    await page.waitForURL(/line=2&column=12/)
  })

  it('finds the piece that an expression has written', async t => {
    const { page } = await workbench(t)
    await page.getByLabel('name text, required').fill('Ada')
    await preview(page).getByText('Ada').waitFor()
    await page.locator('.cm-content').nth(1).getByText('variables.name').click()
    assert.equal(await preview(page).locator('.from.here').innerText(), 'Ada')
  })

  it('is told of a mistake at its place, while the last good preview stays', async t => {
    const { page } = await workbench(t)
    await page.getByLabel('name text, required').fill('Ada')
    await preview(page).getByText('Ada').waitFor()
    await write(page, 1, 'Greet {{#if variables.name}}')
    await page.getByText('message 2, line 1').waitFor()
    await page.locator('.remark.bad').first().waitFor()
    assert.match(await preview(page).locator('.dim').innerText(), /Greet Ada/)
  })

  it('is told at its field that a value is missing, and which one may be meant', async t => {
    const { page } = await workbench(t)
    await page.getByLabel('name text, required').focus()
    await page.keyboard.press('Tab')
    await page.getByText('Missing.').waitFor()
    await page.getByRole('button', { name: 'Paste JSON' }).click()
    await page.getByRole('textbox', { name: 'JSON' }).fill('{"nme": "Ada"}')
    await page.getByRole('button', { name: 'Take them' }).click()
    await page.getByText(/Missing\. Did you mean .*nme/).waitFor()
  })

  it('finds a draft again after the page was closed', async t => {
    const { page } = await workbench(t)
    await write(page, 1, 'Half a thought')
    await page.getByText('draft', { exact: true }).waitFor()
    await page.reload()
    await page.getByText(/draft of/).waitFor()
    assert.equal(await page.locator('.cm-content').nth(1).innerText(), 'Half a thought')
  })

  it('saves', async t => {
    const { page, get } = await workbench(t)
    await write(page, 1, 'Welcome {{variables.name}}!')
    await page.keyboard.press('Control+s')
    await page.getByText('latest', { exact: true }).waitFor()
    const { json } = await get('/api/prompts/team.greet')
    assert.equal(json['prompt']?.['messages']?.['1']?.['content'], 'Welcome {{variables.name}}!')
  })

  it('meets an edit that was made meanwhile, and saves over it', async t => {
    const { page, store, get } = await workbench(t)
    await write(page, 1, 'Mine {{variables.name}}')
    store.set('shenma:templates:team:greet', JSON.stringify({ ...GREETING, messages: [{ role: 'user', content: 'Theirs {{variables.name}}' }] }))
    await page.keyboard.press('Control+s')
    await page.getByText('Somebody else has saved this since you began.').waitFor()
    await page.getByText('Theirs {{variables.name}}').waitFor()
    await page.getByRole('button', { name: 'Save mine over it' }).click()
    await page.getByText('latest', { exact: true }).waitFor()
    assert.equal((await get('/api/prompts/team.greet')).json['prompt']?.['messages']?.['1']?.['content'], 'Mine {{variables.name}}')
  })

  it('takes an edit that was made meanwhile in place of the draft', async t => {
    const { page, store } = await workbench(t)
    await write(page, 1, 'Mine')
    store.set('shenma:templates:team:greet', JSON.stringify({ userPrompt: 'Theirs {{variables.name}}' }))
    await page.keyboard.press('Control+s')
    await page.getByRole('button', { name: 'Take theirs' }).click()
    await page.getByText('latest', { exact: true }).waitFor()
    assert.equal(await page.locator('.cm-content').first().innerText(), 'Theirs {{variables.name}}')
  })

  it('asks the model, whose words come as a stream, with a draft that is stored nowhere', async t => {
    const { page } = await workbench(t)
    await page.getByLabel('name text, required').fill('Ada')
    await write(page, 1, 'Say hi to {{variables.name}}')
    await preview(page).getByText('Say hi to').waitFor()
    await page.keyboard.press('Control+Shift+Enter')
    await page.getByRole('region', { name: 'Answer' }).getByText('Say hi to Ada').waitFor()
  })

  it('asks the model also while a preview of the last keys is still to come, and is told when nothing can be asked', async t => {
    const { page } = await workbench(t)
    await page.getByLabel('name text, required').fill('Ada')
    // The preview with calls is answered after that of the last keys was asked for, which on a slow machine is before.
    const words = 'Say ho to {{variables.name}}'
    let showKeys = () => {}
    const keysAreShown = new Promise<void>(resolve => { showKeys = resolve })
    await page.route('**/preview', async route => {
      const body = String(route.request().postData())
      if (body.includes('"live"')) await keysAreShown
      else if (body.includes(words)) showKeys()
      await route.continue()
    })
    await write(page, 1, words)
    await page.keyboard.press('Control+Shift+Enter')
    await page.getByRole('region', { name: 'Answer' }).getByText('Say ho to Ada').waitFor()
    await write(page, 1, 'Say ho to {{#each variables.name}}')
    await page.keyboard.press('Control+Shift+Enter')
    await page.getByText('The model was not asked').waitFor()
  })

  it('publishes a new prompt', async t => {
    const { listen, get } = await startService(t, {})
    const page = await openConsole(t, browser, await listen(), '/')
    await page.getByText('Nothing is published yet').waitFor()
    await page.getByRole('button', { name: 'New prompt' }).click()
    await page.getByLabel('Id of the prompt').fill('team.first')
    await page.keyboard.press('Enter')
    await page.locator('.cm-content').waitFor()
    await write(page, 0, 'Hello.')
    await page.getByRole('button', { name: /^Save/ }).click()
    await page.getByText('latest', { exact: true }).waitFor()
    assert.equal((await get('/api/prompts/team.first')).status, 200)
  })

  it('sees no Save with a token that may only render', async t => {
    const { listen } = await startService(t, REGISTRATIONS, { API_TOKENS: tokenEntry('caller', 'read+render') })
    const page = await openConsole(t, browser, await listen(), '/prompts/team.greet', { token: 'caller-token' })
    await page.getByRole('button', { name: 'Copy as curl' }).waitFor()
    assert.equal(await page.getByRole('button', { name: /^Save/ }).count(), 0)
  })

  it('is asked for a token, and goes on', async t => {
    const { listen } = await startService(t, REGISTRATIONS, { API_TOKENS: tokenEntry('ana', 'admin') })
    const page = await openConsole(t, browser, await listen(), '/prompts')
    await page.getByLabel('Token', { exact: true }).fill('ana-token')
    await page.getByRole('button', { name: 'Use it' }).click()
    await page.getByRole('link', { name: 'team.greet' }).waitFor()
    await page.getByRole('button', { name: 'ana' }).waitFor()
  })
})

function preview (page: Page) {
  return page.getByRole('region', { name: 'Preview' })
}

/** Replaces the text of a message. */
async function write (page: Page, message: number, text: string): Promise<void> {
  await page.locator('.cm-content').nth(message).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}
