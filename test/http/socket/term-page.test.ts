import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, openPage, startChromium } from '../../helpers/chromium.ts'
import { startFaultProxy } from '../../helpers/fault-proxy.ts'
import { scratchRepository } from '../../helpers/scratch-repository.ts'
import { startService } from '../../helpers/service.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { tokenEntry } from '../../helpers/tokens.ts'

// The page that `npm start` serves, in a browser.

/** What a model might say to somebody's harm. */
const HOSTILE = [
  { last: 'Execute skill', reply: '[MESSAGE] <img src=x onerror="document.title=1"><b>bold</b>' },
  { last: 'Continue after', reply: '[CMD] echo a\u202e\u3164\u00a0b' },
  { last: 'Command output', reply: '[DONE] <script>document.title=2</script>' }
]

const SKILLS = Object.fromEntries(['git-quick-commit', 'disk-cleanup-report'].map(name => [`skills:${name}`, readFileSync(`examples/skills/${name}/SKILL.md`, 'utf8')]))

describe('The page to try skills with', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => { browser = await startChromium() })
  after(async () => { await browser.close() })

  /** Serves the page with the examples and the target `here`, a repository with a new file. */
  async function serve (t: TestContext, environment: Readonly<Record<string, string>> = {}) {
    const repository = await scratchRepository(t)
    const service = await startService(t, SKILLS, { ...repository.environment, EXAMPLE_PAGE: 'examples/term.html', LOG_LEVEL: 'silent', ...environment })
    return { origin: await service.listen(), log: repository.log }
  }

  const open = (t: TestContext, origin: string): Promise<Page> => openPage(t, browser, `${origin}/examples/term.html`)

  it('carries a skill out: a question, an approval, and the end', async t => {
    const { origin, log } = await serve(t)
    const page = await open(t, origin)
    await begin(page, 'git-quick-commit', 'here')
    await answer(page, 'Введи сообщение коммита:', 'words')
    await page.getByLabel('Команда').waitFor()
    assert.deepEqual([await page.getByLabel('Команда').inputValue(), log()], ['git add . && git commit -m "fix: update skills API"', []])
    await page.getByRole('button', { name: 'Выполнить' }).click()
    await said(page, 'Коммит успешно создан.')
    assert.deepEqual(log(), ['fix: update skills API'])
    assert.deepEqual([await page.getByRole('button', { name: 'Запустить' }).isVisible(), await page.getByRole('button', { name: 'Отменить skill' }).isVisible()], [true, false])
  })

  it('runs a command as it was edited', async t => {
    const { origin, log } = await serve(t)
    const page = await open(t, origin)
    await begin(page, 'git-quick-commit', 'here')
    await answer(page, 'Введи сообщение коммита:', 'words')
    await page.getByLabel('Команда').fill('git add . && git commit -m mine')
    await page.getByRole('button', { name: 'Выполнить' }).click()
    await said(page, 'Коммит успешно создан.')
    assert.deepEqual(log(), ['mine'])
    const shown = await page.getByRole('log').innerText()
    assert.match(shown, /\$ git add \. && git commit -m mine/)
    assert.doesNotMatch(shown, /skills API/)
  })

  it('skips a command', async t => {
    const { origin, log } = await serve(t)
    const page = await open(t, origin)
    await begin(page, 'git-quick-commit', 'here')
    await answer(page, 'Введи сообщение коммита:', 'words')
    await page.getByRole('button', { name: 'Пропустить' }).click()
    await said(page, 'Коммит не создан.')
    assert.deepEqual(log(), [])
  })

  it('cancels a skill', async t => {
    const { origin } = await serve(t)
    const page = await open(t, origin)
    await begin(page, 'git-quick-commit', 'here')
    await page.getByRole('button', { name: 'Отменить skill' }).click()
    await said(page, 'Cancelled by user')
    assert.ok(await page.getByRole('button', { name: 'Запустить' }).isVisible())
  })

  it('takes what a command has printed that its user has run', async t => {
    const { origin } = await serve(t)
    const page = await open(t, origin)
    await begin(page, 'disk-cleanup-report', '')
    for (const command of ['$ df -h .', '$ du -xh']) {
      await said(page, command)
      await page.getByLabel('Вывод команды').fill('printed')
      await page.getByRole('button', { name: 'Отправить результат' }).click()
    }
    await said(page, 'This report is scripted')
  })

  it('is used without a mouse', async t => {
    const { origin, log } = await serve(t)
    const page = await open(t, origin)
    await page.locator('#skill option[value="git-quick-commit"]').waitFor({ state: 'attached' })
    await page.getByLabel('Skill', { exact: true }).focus()
    await page.keyboard.type('git')
    await page.keyboard.press('Tab')
    await page.keyboard.type('here')
    await page.keyboard.press('Enter')
    await said(page, 'Введи сообщение коммита:')
    await page.keyboard.type('words')
    await page.keyboard.press('Enter')
    await page.getByLabel('Команда').waitFor()
    await page.keyboard.press('Enter')
    await said(page, 'Коммит успешно создан.')
    assert.deepEqual(log(), ['fix: update skills API'])
  })

  it('goes on after its connection was cut, and shows nothing twice', async t => {
    const { origin, log } = await serve(t)
    const proxy = await startFaultProxy(Number(new URL(origin).port))
    t.after(() => proxy.stop())
    const page = await open(t, `http://127.0.0.1:${proxy.port}`)
    await begin(page, 'git-quick-commit', 'here')
    await said(page, 'Введи сообщение коммита:')
    proxy.set('cut')
    await said(page, 'Соединение прервано')
    proxy.set(undefined)
    await answer(page, 'Введи сообщение коммита:', 'words')
    await page.getByRole('button', { name: 'Выполнить' }).click()
    await said(page, 'Коммит успешно создан.')
    assert.deepEqual(log(), ['fix: update skills API'])
    assert.equal((await page.getByRole('log').innerText()).match(/Введи сообщение/g)?.length, 1)
  })

  it('shows what a model says as text, and what hides in a command', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('replies.yaml', JSON.stringify(HOSTILE))
    const { origin } = await serve(t, { LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml') })
    const page = await open(t, origin)
    await begin(page, 'git-quick-commit', 'here')
    await said(page, '<img src=x onerror="document.title=1"><b>bold</b>')
    await said(page, '$ echo a\\u{202e}\\u{3164}\\u{a0}b')
    const field = page.getByLabel('Команда')
    assert.deepEqual([await field.inputValue(), await field.isEditable()], ['echo a\\u{202e}\\u{3164}\\u{a0}b', false])
    await page.getByRole('button', { name: 'Выполнить' }).click()
    await said(page, '<script>document.title=2</script>')
    assert.deepEqual([await page.title(), await page.locator('#log img, #log b, #log script').count()], ['Skills', 0])
  })

  it('asks for a token where the service does', async t => {
    const { origin } = await serve(t, { API_TOKENS: tokenEntry('ann', 'read+run+approve') })
    const page = await open(t, origin)
    await said(page, 'Нет соединения')
    await page.getByLabel('Токен').fill('ann-token')
    await page.getByRole('button', { name: 'Подключиться' }).click()
    await begin(page, 'git-quick-commit', 'here')
    await said(page, 'Введи сообщение коммита:')
  })
})

async function begin (page: Page, skill: string, target: string): Promise<void> {
  await page.getByLabel('Skill', { exact: true }).selectOption(skill)
  await page.getByLabel('Target').fill(target)
  await page.getByRole('button', { name: 'Запустить' }).click()
}

async function said (page: Page, text: string): Promise<void> {
  await page.getByRole('log').getByText(text).first().waitFor()
}

async function answer (page: Page, question: string, text: string): Promise<void> {
  await said(page, question)
  await page.getByLabel('Ответ').fill(text)
  await page.getByRole('button', { name: 'Отправить', exact: true }).click()
}
