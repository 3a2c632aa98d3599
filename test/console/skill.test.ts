import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { startFaultProxy } from '../helpers/fault-proxy.ts'
import { scratchRepository } from '../helpers/scratch-repository.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { tokenEntry } from '../helpers/tokens.ts'

/** What a model might say to somebody's harm. */
const HOSTILE = [
  { last: 'Execute skill', reply: '[MESSAGE] <img src=x onerror="document.title=1"><b>bold</b>' },
  { last: 'Continue after', reply: '[CMD] echo a\u202e\u3164\u00a0b' },
  { last: 'Command output', reply: '[DONE] <script>document.title=2</script>' }
]

const SKILLS = Object.fromEntries(['git-quick-commit', 'disk-cleanup-report'].map(name => [`skills:${name}`, readFileSync(`examples/skills/${name}/SKILL.md`, 'utf8')]))

// The seed's skill, in the seed's language: the panel has both of its buttons.
describe('A skill at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** Serves the examples with the target `here`, a repository with a new file. */
  async function serve (t: TestContext, environment: Readonly<Record<string, string>> = {}) {
    const repository = await scratchRepository(t)
    const service = await startService(t, SKILLS, { ...repository.environment, LOG_LEVEL: 'silent', ...environment })
    return { ...service, origin: await service.listen(), log: repository.log }
  }

  const open = (t: TestContext, origin: string, path: string, token?: string): Promise<Page> => openConsole(t, browser, origin, path, { locale: 'ru-RU', ...(token === undefined ? {} : { token }) })

  /** Starts a skill by its form. */
  async function begin (t: TestContext, origin: string, skill: string, target: string, token?: string): Promise<Page> {
    const page = await open(t, origin, `/sessions/new?of=skills/${skill}`, token)
    await page.getByLabel('Где выполнять').selectOption(target)
    await page.getByRole('button', { name: 'Запустить' }).click()
    return page
  }

  it('is carried out: a question, an approval, and the end', async t => {
    const { origin, log } = await serve(t)
    const page = await begin(t, origin, 'git-quick-commit', 'here')
    await answer(page, 'words')
    await page.locator('.card').getByText('git add . && git commit').waitFor()
    assert.deepEqual(log(), [])
    await allow(page)
    await page.getByText('Коммит успешно создан.').waitFor()
    assert.deepEqual(log(), ['fix: update skills API'])
    assert.equal(await page.getByRole('button', { name: 'Отменить skill' }).count(), 0)
  })

  it('is cancelled by its button', async t => {
    const { origin, get } = await serve(t)
    const page = await begin(t, origin, 'git-quick-commit', 'here')
    await page.getByText('Введи сообщение коммита:').waitFor()
    await page.getByRole('button', { name: 'Отменить skill' }).click()
    await page.getByRole('button', { name: 'Закончить', exact: true }).click()
    await page.getByText('Сессия закончена.').waitFor()
    assert.equal((await get(`/api/sessions/${page.url().slice(-32)}`)).json['status'], 'cancelled')
  })

  it('asks for an answer where one is required, and sends none that is empty', async t => {
    const { origin } = await serve(t)
    const page = await begin(t, origin, 'git-quick-commit', 'here')
    await page.getByText('Введи сообщение коммита:').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Отправить', exact: true }).isDisabled())
  })

  it('takes what a command has printed that its user has run', async t => {
    const { origin } = await serve(t)
    const page = await begin(t, origin, 'disk-cleanup-report', '')
    for (const command of ['df -h .', 'du -xh']) {
      await page.locator('.card').getByText(command).waitFor()
      await page.getByLabel('Вывод команды').fill('printed')
      await page.getByRole('button', { name: 'Отправить результат' }).click()
    }
    await page.getByText('This report is scripted').waitFor()
  })

  it('goes on after its connection was cut, and shows nothing twice', async t => {
    const { origin, log } = await serve(t)
    const proxy = await startFaultProxy(Number(new URL(origin).port))
    t.after(() => proxy.stop())
    const page = await begin(t, `http://127.0.0.1:${proxy.port}`, 'git-quick-commit', 'here')
    await page.getByText('Введи сообщение коммита:').waitFor()
    proxy.set('cut')
    await page.getByText(/Связь потеряна|Соединение/).first().waitFor()
    proxy.set(undefined)
    await answer(page, 'words')
    await allow(page)
    await page.getByText('Коммит успешно создан.').waitFor()
    assert.deepEqual([log(), await page.getByText('Введи сообщение коммита:').count()], [['fix: update skills API'], 1])
  })

  it('goes on over an event stream where no socket comes through', async t => {
    const { origin } = await serve(t)
    const page = await open(t, origin, '/sessions')
    await page.addInitScript('globalThis.WebSocket = class extends EventTarget { static OPEN = 1; readyState = 3; constructor () { super(); setTimeout(() => { const event = new Event("close"); event.code = 1006; event.reason = ""; this.dispatchEvent(event) }) } send () {} close () {} }')
    await page.goto(`${origin}/console/sessions/new?of=skills/git-quick-commit`)
    await page.getByLabel('Где выполнять').selectOption('here')
    await page.getByRole('button', { name: 'Запустить' }).click()
    await answer(page, 'words')
    await page.locator('.card').getByText('git add . && git commit').waitFor()
    await allow(page)
    await page.getByText('Коммит успешно создан.').waitFor()
  })

  it('shows what a model says as text, and what hides in a command', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('replies.yaml', JSON.stringify(HOSTILE))
    const { origin } = await serve(t, { LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml') })
    const page = await begin(t, origin, 'git-quick-commit', 'here')
    await page.getByText('<img src=x onerror="document.title=1"><b>bold</b>').waitFor()
    assert.match(await page.locator('.card .command').innerText(), /echo a\\u\{202e\}\\u\{3164\}\\u\{a0\}b/)
    await page.locator('.typed input').fill('here')
    await allow(page)
    await page.getByText('<script>document.title=2</script>').waitFor()
    assert.deepEqual([/^[12]$/.test(await page.title()), await page.locator('main img, main .talk b, main script').count()], [false, 0])
  })

  it('is carried out by a token with its roles', async t => {
    const { origin } = await serve(t, { API_TOKENS: tokenEntry('ann', 'read+run+approve') })
    const page = await begin(t, origin, 'git-quick-commit', 'here', 'ann-token')
    await page.getByText('Введи сообщение коммита:').waitFor()
  })

  it('is found by the address that the page before the console had', async t => {
    const { origin, post } = await serve(t)
    const { json } = await post('/api/skills/start', { terminalSessionId: 'here', skillId: 'git-quick-commit' })
    const page = await open(t, origin, '/sessions')
    await page.goto(`${origin}/examples/term.html`)
    await page.getByRole('link', { name: 'git-quick-commit' }).waitFor()
    await page.goto(`${origin}/examples/term.html#${String(json['data']?.['skillSessionId'])}`)
    await page.getByRole('heading', { name: 'git-quick-commit' }).waitFor()
    await page.getByText('Введи сообщение коммита:').waitFor()
  })
})

async function answer (page: Page, text: string): Promise<void> {
  await page.getByText('Введи сообщение коммита:').waitFor()
  await page.getByLabel('Ответ', { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Отправить', exact: true }).click()
}

/** Lets the command run that waits, in its two steps. */
async function allow (page: Page): Promise<void> {
  const run = page.getByRole('button', { name: 'Выполнить на here…' })
  await page.locator('.card footer .primary:enabled').waitFor()
  await run.click()
  await page.getByRole('button', { name: 'Да, выполнить' }).click()
}
