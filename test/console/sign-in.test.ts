import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { freePort } from '../helpers/free-port.ts'
import { type OpenIdProvider, startOpenIdProvider } from '../helpers/openid-provider.ts'
import { type Service, startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** The service takes a token for a minute after its end, since clocks differ: such a one is refused after 4 s. */
const NEARLY_OVER = -56

interface Place extends Service {
  readonly origin: string
  readonly provider: OpenIdProvider
}

async function start (t: TestContext): Promise<Place> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const provider = await startOpenIdProvider(t, `${origin}/console/`)
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('operator.yaml', 'identities: [{ claim: groups, value: dev, gives: "read+render+write+run" }]')
  const service = await startService(t, { 'templates:team:greet': 'Hello', 'skills:walk': '---\nname: walk\ndescription: Walks.\n---\nWalk.' }, {
    AUTH_ISSUER: provider.issuer, AUTH_AUDIENCE: `${origin}/mcp`, AUTH_CLIENT_ID: 'console', OPERATOR_FILE: join(folder.path, 'operator.yaml'), API_TOKENS: tokenEntry('reader', 'read')
  })
  await waitFor('the provider\'s keys', async () => (await service.get('/readyz')).json['identities']?.['available'])
  await service.app.listen({ host: '127.0.0.1', port })
  return { ...service, origin, provider }
}

/** On the pages of the provider. */
async function enter (page: Page, person: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(person)
  await page.getByPlaceholder('and password').fill('x')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

async function signIn (page: Page, person: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await enter(page, person)
}

const whoIs = (page: Page, name: string) => page.getByRole('banner').getByRole('button', { name })

/** All that the browser keeps for the page. */
async function kept (page: Page): Promise<string> {
  return String(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])'))
}

describe('A person whom the provider knows', { skip: noChromium, timeout: 300_000 }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(() => browser.close())

  it('signs in where they were, keeps nothing in the browser, comes back after a reload unasked, and signs out', async t => {
    const { origin, provider } = await start(t)
    const page = await openConsole(t, browser, origin, '/prompts/team.greet')
    await page.getByRole('heading', { name: 'Sign in, please' }).waitFor()
    assert.deepEqual(await violationsOf(page), [])
    await signIn(page, 'dev-ann')
    await whoIs(page, 'dev-ann').waitFor()
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/console/prompts/team.greet')
    await page.getByText('Hello').first().waitFor()
    assert.doesNotMatch(await kept(page), /eyJ|verifier|code=/)
    assert.deepEqual(provider.grants, ['authorization_code'])
    await page.reload()
    await whoIs(page, 'dev-ann').waitFor()
    assert.equal(new URL(page.url()).pathname, '/console/prompts/team.greet')
    await whoIs(page, 'dev-ann').click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/console/')
    assert.doesNotMatch(await kept(page), /eyJ|signed-in/)
    await signIn(page, 'dev-bob')
    await whoIs(page, 'dev-bob').waitFor()
  })

  it('works on past the end of a token, and loses nothing typed when the provider says no', async t => {
    const { origin, provider } = await start(t)
    provider.lifetime = NEARLY_OVER
    const page = await openConsole(t, browser, origin, '/sessions/new?of=skills/walk')
    await signIn(page, 'dev-ann')
    await whoIs(page, 'dev-ann').waitFor()
    const field = page.getByRole('textbox').last()
    await field.fill('What I have typed')
    await waitFor('two renewals', () => provider.grants.filter(grant => grant === 'refresh_token').length >= 2)
    assert.equal(await page.getByRole('heading', { name: 'Sign in, please' }).isVisible(), false)
    assert.equal(await field.inputValue(), 'What I have typed')
    provider.close()
    await page.getByRole('heading', { name: 'Sign in, please' }).waitFor()
    assert.equal(await field.inputValue(), 'What I have typed')
    provider.open()
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await whoIs(page, 'dev-ann').waitFor()
    assert.equal(await page.getByRole('textbox').last().inputValue(), 'What I have typed')
  })

  it('without a row is told so, and can come as somebody else; a token opens the console still', async t => {
    const { origin } = await start(t)
    const page = await openConsole(t, browser, origin, '/prompts')
    await signIn(page, 'guest-eve')
    await page.getByText(/#guest-eve" may do nothing here/).waitFor()
    await signIn(page, 'dev-ann')
    await whoIs(page, 'dev-ann').waitFor()
    const other = await openConsole(t, browser, origin, '/prompts')
    await other.getByText('Use a token instead').click()
    await other.getByLabel('Token', { exact: true }).fill('reader-token')
    await other.getByRole('button', { name: 'Use it' }).click()
    await whoIs(other, 'reader').waitFor()
  })

  for (const [what, query] of [['begun elsewhere', 'code=stolen&state=other'], ['answered by another provider', 'code=stolen&state=STATE&iss=https%3A%2F%2Fevil.example.com'], ['refused', 'error=access_denied&state=STATE']] as const) {
    it(`is not signed in by an answer that was ${what}`, async t => {
      const { origin, provider } = await start(t)
      const page = await openConsole(t, browser, origin, '/prompts')
      await page.getByRole('heading', { name: 'Sign in, please' }).waitFor()
      await page.evaluate('sessionStorage.setItem("prompt-shell.sign-in", JSON.stringify({ state: "STATE", verifier: "v", path: "/console/prompts" }))')
      await page.goto(`${origin}/console/?${query}`)
      await page.getByText('You are not signed in').waitFor()
      assert.doesNotMatch(await kept(page), /stolen|STATE/)
      assert.deepEqual(provider.grants, [])
    })
  }
})
