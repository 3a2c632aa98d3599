import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const REGISTRATIONS = {
  'agents:top': { system: 'You are top.', tools: [{ name: 'walk', skill: 'walk', target: 'here' }] },
  'skills:walk': '---\nname: walk\ndescription: Walks.\n---\nWalk.'
}

const REPLIES = `
- { system: You are top., last: Walked., reply: It has walked. }
- { system: You are top., last: go on, calls: [{ name: walk }] }
- { last: Step 1 of, reply: '[CMD] echo one' }
- { last: Step 2 of, reply: '[ASK] How far?' }
- { last: Step, reply: '[DONE] Walked.' }
`

describe('A chat whose agent has a skill work for it', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** Says something to the agent that makes it start the skill. */
  async function ask (t: TestContext): Promise<{ readonly page: Page, readonly origin: string, readonly id: string }> {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('shop/a.md', 'a')
    await folder.write('replies.yaml', REPLIES)
    await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop' } }, targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off' } } }))
    const at = (name: string): string => join(folder.path, name)
    const service = await startService(t, REGISTRATIONS, {
      LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: at('replies.yaml'), OPERATOR_FILE: at('operator.json'), LOG_LEVEL: 'silent'
    })
    const origin = await service.listen()
    const id = String((await service.post('/api/agents/top/sessions', {})).json['id'])
    const page = await openConsole(t, browser, origin, `/sessions/${id}`)
    await page.getByLabel('Write to top').fill('go on')
    await page.keyboard.press('Enter')
    await page.locator('.card').getByText('echo one').waitFor()
    return { page, origin, id }
  }

  it('shows the child\'s card with the way to it, then its question, and goes on with what it gives', async t => {
    const { page } = await ask(t)
    assert.match(await page.locator('.card').innerText(), /agents\/top › skills\/walk/)
    await decide(page)
    await page.getByRole('heading', { name: 'walk asks' }).waitFor()
    await page.locator('.panel.child').getByText('How far?').waitFor()
    await page.getByLabel('Answer to walk').fill('far')
    await page.keyboard.press('Enter')
    await page.getByRole('list', { name: 'Dialogue' }).getByText('It has walked.').waitFor()
    await page.getByRole('heading', { name: 'walk asks' }).waitFor({ state: 'detached' })
  })

  it('has what the child did inside its own dialogue, each thing where it happened, and can fold it', async t => {
    const { page } = await ask(t)
    const steps = page.getByRole('region', { name: 'Steps of walk' })
    const items = page.getByRole('list', { name: 'Dialogue' }).locator('> li')
    await steps.getByText('waits for a decision').waitFor()
    await decide(page)
    // It was decided about before the question came: it stays there, and no card is below.
    await steps.getByText('How far?').waitFor()
    assert.match(await steps.getByRole('list').innerText(), /echo one\s+allowed\s+exit 0[^]*How far\?/)
    await page.locator('.queue section').waitFor({ state: 'detached' })
    await page.getByLabel('Answer to walk').fill('far')
    await page.keyboard.press('Enter')
    await items.filter({ hasText: 'It has walked.' }).waitFor()
    await steps.getByText('done', { exact: true }).waitFor()
    assert.deepEqual((await items.allInnerTexts()).map(text => /you|Steps|What it did|It has walked/.exec(text)?.[0]), ['you', 'What it did', 'It has walked'])
    assert.deepEqual(await violationsOf(page), [])
    await page.reload()
    await steps.getByText('done', { exact: true }).waitFor()
    assert.equal(await steps.getByText('echo one').count(), 0)
    await steps.getByText('What it did').click()
    await steps.getByText('echo one').waitFor()
    await steps.getByRole('link', { name: 'To the session' }).first().click()
    await page.getByRole('link', { name: 'to the session that has started it' }).waitFor()
  })

  it('has the child in its tree, whose screen leads back; both can be used by everybody', async t => {
    const { page, origin, id } = await ask(t)
    await page.getByRole('link', { name: 'Tree' }).click()
    await page.getByRole('list', { name: 'Tree' }).getByRole('link', { name: 'walk' }).waitFor()
    assert.deepEqual(await violationsOf(page), [])
    await page.getByRole('list', { name: 'Tree' }).getByRole('link', { name: 'walk' }).click()
    await page.getByRole('link', { name: 'to the session that has started it' }).click()
    await page.waitForURL(`${origin}/console/sessions/${id}`)
  })

  it('stands in the list among what waits, with the child below it once it is unfolded', async t => {
    const { page, origin } = await ask(t)
    await page.goto(`${origin}/console/sessions`)
    const waiting = page.locator('section', { has: page.getByRole('heading', { name: 'Waits for somebody' }) })
    await waiting.getByText('1 below waits').waitFor()
    assert.equal(await waiting.getByRole('link', { name: 'walk' }).count(), 0)
    await waiting.getByRole('button', { name: 'Sessions that top has started' }).click()
    await waiting.getByRole('link', { name: 'walk' }).waitFor()
    assert.deepEqual(await violationsOf(page), [])
  })
})

/** Allows what the card asks for. */
async function decide (page: Page): Promise<void> {
  const run = page.getByRole('button', { name: 'Run on here…' })
  await page.locator('.card footer').scrollIntoViewIfNeeded()
  await waitFor('the button', async () => await run.isEnabled())
  await run.click()
  await page.getByRole('button', { name: 'Yes, run it' }).click()
}
