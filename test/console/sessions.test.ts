import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const AGENT = {
  mode: 'steps',
  onError: 'end',
  repairs: 0,
  help: 'Ask me.',
  classify: { prompt: 'classifier', answers: 'exact', unclear: 'error' },
  select: { prompt: 'selector' },
  tools: [{ name: 'find', tool: 'not.there', failed: 'It failed.' }]
}

const REPLIES = `
- { system: You are top., last: Walked., reply: It has walked. }
- { system: You are top., last: walk to the hill, calls: [{ name: walk }] }
- { system: classifier, user: silence, reply: perhaps }
- { system: classifier, user: weather, reply: "no" }
- { system: classifier, reply: "yes" }
- { user: owner, offers: find, calls: [{ name: find }] }
- { last: Step 1 of, reply: '[CMD] echo one' }
- { last: Step 2 of, reply: '[DONE] Walked.' }
`

describe('The screens of sessions', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** `talk` begins a session of an agent, and says something to it. */
  async function serve (t: TestContext): Promise<{ readonly origin: string, talk (agent: string, ...texts: readonly string[]): Promise<string> }> {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('shop/a.md', 'a')
    await folder.write('replies.yaml', REPLIES)
    await folder.write('operator.json', JSON.stringify({
      workspaces: { shop: { path: 'shop' } },
      targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off' } },
      policy: [{ effect: 'allow', on: 'exec', command: 'echo *' }]
    }))
    const at = (name: string): string => join(folder.path, name)
    const registered = {
      'agents:desk': AGENT,
      'agents:top': { system: 'You are top.', tools: [{ name: 'walk', skill: 'walk', target: 'here' }] },
      'skills:walk': '---\nname: walk\ndescription: Walks.\n---\nWalk.'
    }
    const service = await startService(t, registered, {
      LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: at('replies.yaml'), OPERATOR_FILE: at('operator.json'), SESSION_STORE: 'memory', ALLOW_ROOT: 'true', LOG_LEVEL: 'silent'
    })
    const talk = async (agent: string, ...texts: readonly string[]): Promise<string> => {
      const id = String((await service.post(`/api/agents/${agent}/sessions`, {})).json['id'])
      for (const text of texts) await service.post(`/api/agents/sessions/${id}/message`, { text })
      return id
    }
    return { origin: await service.listen(), talk }
  }

  const titlesOn = (page: Page): Promise<string[]> => page.locator('tbody a[data-row]').allInnerTexts()

  it('find a failed session by words and state, say why it failed, and try it again', async t => {
    const { origin, talk } = await serve(t)
    await talk('desk', 'weather in Rome')
    await talk('desk', 'weather in Oslo', 'exit')
    const failed = await talk('desk', 'who is the owner?', 'silence, please')
    const page = await openConsole(t, browser, origin, '/sessions')
    await page.getByRole('link', { name: 'who is the owner?' }).waitFor()
    assert.deepEqual(await page.getByRole('heading', { level: 2 }).allInnerTexts(), ['Can go on', 'Ended'])
    await page.getByLabel('Search titles, ids, definitions').fill('weather')
    await page.getByRole('link', { name: 'who is the owner?' }).waitFor({ state: 'detached' })
    assert.deepEqual(await titlesOn(page), ['weather in Rome', 'weather in Oslo'])
    await page.getByLabel('Search titles, ids, definitions').fill('')
    await page.getByLabel('State', { exact: true }).selectOption('failed')
    await page.getByLabel('Began', { exact: true }).selectOption('today')
    await page.waitForURL(/status=failed&since=[\d-]+&until=[\d-]+$/)
    await page.reload()
    const row = page.locator('tr', { has: page.getByRole('link', { name: 'who is the owner?' }) })
    assert.match(await row.innerText(), /failed/)
    assert.deepEqual(await titlesOn(page), ['who is the owner?'])
    assert.deepEqual(await violationsOf(page), [])
    await page.goBack()
    await page.waitForURL(/status=failed$/)
    await page.getByRole('link', { name: 'who is the owner?' }).click()
    await page.getByText('It failed:').waitFor()
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'who is the owner?')
    await page.getByRole('button', { name: 'Retry' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('silence, please').waitFor()
    await dialog.getByText('Since then nothing was done that changes anything.').waitFor()
    assert.deepEqual(await violationsOf(page), [])
    await dialog.getByRole('button', { name: 'Yes, try it again' }).click()
    await page.getByRole('link', { name: 'goes on from another session' }).waitFor()
    assert.notEqual(new URL(page.url()).pathname, `/console/sessions/${failed}`)
    await page.getByRole('list', { name: 'Dialogue' }).getByText('silence, please').waitFor()
  })

  it('tell what happened in sentences, with what came, the child session in its place, and JSON', async t => {
    const { origin, talk } = await serve(t)
    const id = await talk('top', 'walk to the hill')
    const page = await openConsole(t, browser, origin, `/sessions/${id}?tab=timeline`)
    const rows = page.locator('tbody tr')
    await page.getByText('skills/walk was started, as a session of its own.').waitFor()
    const told = await rows.allInnerTexts()
    for (const words of ['somebody said: “walk to the hill”', 'The model was asked for an answer.', '→ walk', 'It has walked.']) assert.ok(told.some(text => text.includes(words)), words)
    assert.ok(await page.locator('.bar-of').count() >= 3)
    await page.getByRole('button', { name: 'Details of: skills/walk was started' }).click()
    await page.getByText('“echo one” was run on here.').waitFor()
    await page.getByText('The model was asked for the next step.').first().waitFor()
    await page.getByRole('button', { name: 'Details of: “echo one” was run' }).click()
    await page.getByText('As JSON').last().click()
    await page.locator('pre', { hasText: '"exitCode": 0' }).waitFor()
    assert.deepEqual(await violationsOf(page), [])
    await page.getByLabel('Filter what happened').fill('hill')
    await page.getByText('The model was asked for an answer.').first().waitFor({ state: 'detached' })
    assert.equal(await page.getByText('somebody said: “walk to the hill”').count(), 1)
  })
})
