import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { scratchRepository, type ScratchRepository } from '../helpers/scratch-repository.ts'
import { startService } from '../helpers/service.ts'
import { waitFor } from '../helpers/wait-for.ts'

const SKILLS = { 'skills:git-quick-commit': readFileSync('examples/skills/git-quick-commit/SKILL.md', 'utf8') }

describe('The seed\'s skill in a terminal at the console, in Russian', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** Opens a terminal in a repository with a new file, and starts the skill in it. */
  async function begin (t: TestContext): Promise<{ readonly page: Page, readonly repository: ScratchRepository }> {
    const repository = await scratchRepository(t)
    await repository.write('../terminal.yaml', 'workspaces: { repo: { path: repo } }\ntargets: { here: { type: local, workspace: repo, sandbox: "off", terminal: true } }\npolicy: [{ effect: allow, on: exec, command: "git status *" }]\n')
    const service = await startService(t, SKILLS, { ...repository.environment, OPERATOR_FILE: join(repository.environment['OPERATOR_FILE'] ?? '', '../terminal.yaml'), LOG_LEVEL: 'silent' })
    const page = await openConsole(t, browser, await service.listen(), '/targets', { locale: 'ru-RU' })
    await page.getByRole('button', { name: 'Открыть терминал на here' }).click()
    await page.getByText('ждёт команды').waitFor()
    await page.getByRole('button', { name: 'Skills' }).click()
    await page.getByRole('button', { name: 'Запустить git-quick-commit' }).click()
    await page.getByText('Введи сообщение коммита:').waitFor()
    return { page, repository }
  }

  it('shows what its commands print, takes the answer by «Отправить», and runs what was allowed', async t => {
    const { page, repository } = await begin(t)
    await waitFor('what git has printed', async () => (await page.locator('.xterm-rows').innerText()).replaceAll('\u00a0', ' ').includes('?? new.txt'))
    await page.getByLabel('Ответ', { exact: true }).fill('words')
    await page.getByRole('button', { name: 'Отправить', exact: true }).click()
    await page.locator('.card').getByText('git add . && git commit').waitFor()
    assert.deepEqual(repository.log(), [])
    await page.locator('.card footer').scrollIntoViewIfNeeded()
    await page.locator('.card footer .primary:enabled').click()
    await page.getByRole('button', { name: 'Да, выполнить' }).click()
    await page.getByText('Коммит успешно создан.').waitFor()
    assert.deepEqual(repository.log(), ['fix: update skills API'])
  })

  it('is cancelled by «Отменить skill», while its shell goes on', async t => {
    const { page, repository } = await begin(t)
    await page.getByRole('button', { name: 'Отменить skill' }).click()
    await page.getByRole('button', { name: 'Закончить', exact: true }).click()
    await page.getByText('Сессия закончена.').waitFor()
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('echo $((6 * 7))\n')
    await waitFor('its answer', async () => (await page.locator('.xterm-rows').innerText()).split('\n').some(line => line.trim() === '42'))
    assert.deepEqual(repository.log(), [])
  })
})
