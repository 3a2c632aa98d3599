import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'

const TOKENS = [tokenEntry('ann', 'read+write+approve:labels=production'), tokenEntry('ben', 'read+approve'), tokenEntry('root', 'admin')].join('\n')

const TESTS = [{ description: 'is polite', assert: [{ type: 'icontains', value: 'please' }] }]

describe('A release by two persons at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** A prompt of which `production` means the first of three versions; the third fails its test. */
  async function open (t: TestContext) {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('operator.yaml', 'labels: { production: { tests: pass, approvals: 1 } }')
    const service = await startService(t, { 'templates:team:includes': '{{> policy}}' }, { VERSIONS: 'http', API_TOKENS: TOKENS, OPERATOR_FILE: join(folder.path, 'operator.yaml') })
    const put = async (url: string, payload: object) => { assert.ok((await service.app.inject({ method: 'PUT', url, payload, headers: bearer('root') })).statusCode < 300, url) }
    for (const text of ['Please promise no date.', 'Please promise no date, ever.', 'Promise a date.']) await put('/api/prompts/team.policy', { userPrompt: text })
    await put('/api/prompts/team.policy/tests', TESTS)
    await put('/api/prompts/team.policy/labels/production', { version: 1, override: 'the first' })
    const origin = await service.listen()
    const page = async (name: string, path: string) => await openConsole(t, browser, origin, path, { token: `${name}-token` })
    const label = async (): Promise<unknown> => (await service.get('/api/prompts/team.policy/versions', bearer('root'))).json['labels']?.['production']
    return { page, label, ask: (version: unknown) => service.app.inject({ method: 'PUT', url: '/api/prompts/team.policy/labels/production', payload: { version }, headers: bearer('ann') }) }
  }

  const RELEASES = '/prompts/team.policy?tab=releases'

  it('is asked for by one, who cannot agree, is looked at by the other, and moves the label only then', async t => {
    const { page, label } = await open(t)
    const ann = await page('ann', RELEASES)
    await ann.getByRole('button', { name: 'Move production', exact: true }).click()
    await ann.getByLabel('To', { exact: true }).selectOption('2')
    await ann.getByText('production is moved by change request: the tests have to pass, and 1 other has to agree.').waitFor()
    assert.equal(await ann.getByLabel('Move it at once').count(), 0, 'that is for admins')
    await ann.getByLabel('Note').fill('never say when')
    await ann.getByLabel('Type production').fill('production')
    await ann.getByRole('button', { name: 'Ask for a look' }).click()
    await ann.getByText('Others are asked to look before production is moved. Nothing has changed yet.').waitFor()
    await ann.getByText(/ann asks for version 2, .+ It waits for others to agree: 0 of 1\./).waitFor()
    assert.equal(await ann.getByText('production of team.policy means version 2 now').count(), 0, 'nothing says that it was moved')
    assert.equal(await label(), 1)
    assert.deepEqual(await violationsOf(ann), [])

    await ann.getByRole('link', { name: 'Approvals' }).first().click()
    await ann.getByText('Somebody else has to agree: your own word does not count here.').waitFor()
    assert.equal(await ann.getByRole('button', { name: 'Agree…' }).count(), 0)

    const ben = await page('ben', '/approvals')
    const card = ben.locator('section.card')
    await card.getByText('Move production of team.policy').waitFor()
    await card.getByText('1 → 2', { exact: true }).waitFor()
    await card.getByText('1 test passed').waitFor()
    await card.getByText('never say when').waitFor()
    assert.match(await card.innerText(), /Label\s*production team\.policy\s*Version\s*1 → 2\s*Tests\s*1 test passed\s*Note\s*never say when/)
    assert.match(await card.locator('pre.command').innerText(), /-userPrompt: Please promise no date\.[^]*\+userPrompt: Please promise no date, ever\./)
    await card.getByText('Used by').click()
    await card.getByRole('link', { name: 'team.includes' }).waitFor()
    assert.deepEqual(await violationsOf(ben), [])
    await waitFor('a card that was read', () => card.getByRole('button', { name: 'Agree…' }).isEnabled())
    await card.getByRole('button', { name: 'Agree…' }).click()
    await card.getByRole('button', { name: 'Yes, move it' }).click()
    await ben.getByText('production of team.policy means version 2 now.').waitFor()
    assert.equal(await label(), 2)

    await ann.goto(`${new URL(ann.url()).origin}/console${RELEASES}`)
    await ann.getByRole('cell', { name: '1 → 2' }).waitFor()
    await ann.getByText('ann, agreed by ben').waitFor()
    assert.equal(await ann.getByText('asks for version 2').count(), 0)
  })

  it('says to the one why a red test refuses it, and to the other that what he agrees to is outdated', async t => {
    const { page, label, ask } = await open(t)
    await ask(3)
    const ann = await page('ann', RELEASES)
    await ann.getByText(/It was not moved: 1 of 1 tests failed: is polite: icontains: expected/).waitFor()
    await ask(2)
    const ben = await page('ben', '/approvals')
    const card = ben.locator('section.card')
    await card.getByText('Move production of team.policy').waitFor()
    await ann.goto(`${new URL(ann.url()).origin}/console/prompts/team.policy?tab=tests`)
    await waitFor('a card that was read', () => card.getByRole('button', { name: 'Agree…' }).isEnabled())
    await ann.evaluate('fetch(\'/api/prompts/team.policy/tests\', { method: \'PUT\', headers: { \'content-type\': \'application/json\', authorization: \'Bearer ann-token\' }, body: \'[{ "assert": [{ "type": "contains", "value": "P" }] }]\' }).then(reply => reply.status)')
    await card.getByRole('button', { name: 'Agree…' }).click()
    await card.getByRole('button', { name: 'Yes, move it' }).click()
    await ben.getByText('It was not moved: the tests of team.policy are others than those that were run.').waitFor()
    assert.equal(await label(), 1)
  })

  it('can be taken back by Undo, and left out by an admin with a reason', async t => {
    const { page, label } = await open(t)
    const root = await page('root', RELEASES)
    const plan = async () => {
      await root.getByRole('button', { name: 'Move production', exact: true }).click()
      await root.getByLabel('To', { exact: true }).selectOption('2')
      await root.getByLabel('Type production').fill('production')
    }
    await plan()
    await root.getByRole('button', { name: 'Ask for a look' }).click()
    await root.getByText(/root asks for version 2/).waitFor()
    await root.getByRole('button', { name: 'Undo' }).click()
    await root.getByText('Taken back: Others are asked to look').waitFor()
    await waitFor('no request', async () => await root.getByText(/root asks for version 2/).count() === 0)
    await plan()
    await root.getByLabel('Move it at once, because').fill('customers wait')
    await root.getByRole('button', { name: 'Move to version 2' }).click()
    await root.getByText('production of team.policy means version 2 now.').waitFor()
    assert.equal(await label(), 2)
  })
})
