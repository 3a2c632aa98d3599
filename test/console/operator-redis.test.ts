import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { type Browser, type Page } from 'playwright-core'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole } from '../helpers/console.ts'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'

/** Calls after which a tool that always fails is rested. */
const ENOUGH = 3

describe('The operator of a service over a real Redis', { skip: noChromium }, () => {
  let browser: Browser
  let redis: RedisServer
  before(async () => {
    buildConsole()
    browser = await startChromium()
    redis = await startRedisServer()
  })
  after(async () => {
    await browser.close()
    await redis.stop()
  })

  const publish = (): Promise<unknown> => redis.client.set('shenma:templates:team:greet', '{"userPrompt": "Hello {{variables.name}}."}')

  async function open (t: TestContext, path: string): Promise<Page> {
    await redis.client.flushall()
    await publish()
    const app = await createApp(loadConfig({ REDIS_URL: redis.url, POLL_INTERVAL_MS: '100', SESSION_STORE: 'memory' }), pino({ level: 'silent' }))
    t.after(() => app.close())
    const page = await openConsole(t, browser, await app.listen({ host: '127.0.0.1', port: 0 }), path)
    return page
  }

  it('sees on every screen that it is gone, works on with what was loaded, and sees that it is back', async t => {
    const page = await open(t, '/prompts')
    await page.getByText('live', { exact: true }).waitFor()
    await redis.kill()
    await page.getByText(/stale since/).waitFor()
    await page.getByText(/edits are not seen/).waitFor()
    await page.getByRole('link', { name: 'team.greet' }).click()
    await page.getByRole('heading', { name: 'team.greet' }).waitFor()
    await page.getByText(/edits are not seen/).waitFor()
    await redis.restart()
    await publish()
    await page.getByText('live', { exact: true }).waitFor()
    assert.equal(await page.getByText(/edits are not seen/).count(), 0)
  })

  it('sees a bad key in the rail and among the problems, and neither once it is mended', async t => {
    const page = await open(t, '/problems')
    await page.getByText('Nothing is wrong').waitFor()
    await redis.client.set('shenma:templates:team:greet', '{"userPrompt": "Hello\\n{{#each variables.names}}"}')
    await page.getByText('The last good version is served.').waitFor()
    await page.getByText(/line 2, column/).waitFor()
    await page.locator('.rail .count.bad', { hasText: '1' }).waitFor()
    await publish()
    await page.getByText('Nothing is wrong').waitFor()
    await page.locator('.rail .count.bad').waitFor({ state: 'detached' })
  })

  it('sees a tool whose server has gone down, at the tool and among the problems, and that it is up again', async t => {
    const server = await serve()
    const { port } = server.address() as AddressInfo
    const tool = { module: 'crm', name: 'ticket', description: 'A ticket', restful: { url: `http://127.0.0.1:${port}/`, method: 'GET' }, breaker: { minimumCalls: 2, coolDown: 500 } }
    const page = await open(t, '/tools')
    await redis.client.set('shenma:tools:crm:ticket', JSON.stringify(tool))
    await page.getByRole('link', { name: 'crm.ticket' }).click()
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByText('done', { exact: true }).waitFor()
    await stop(server)
    for (let call = 1; call <= ENOUGH; call++) {
      await page.getByRole('button', { name: 'Call', exact: true }).click()
      await page.getByText('failed', { exact: true }).waitFor()
    }
    await page.getByText(/rests after failures|the next call finds out/).waitFor()
    await page.getByRole('link', { name: 'Problems' }).first().click()
    await page.locator('section', { hasText: 'crm.ticket' }).getByText(/rests after failures|the next call finds out/).waitFor()
    const again = await serve(port)
    t.after(() => stop(again))
    await page.getByRole('link', { name: 'Tools' }).first().click()
    await page.getByRole('link', { name: 'crm.ticket' }).click()
    await page.getByText('the next call finds out').waitFor()
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByText('done', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Problems' }).first().click()
    await page.getByText('Nothing is wrong').waitFor()
  })
})

/** A tool's server. @param port the one it had before, or any */
async function serve (port = 0): Promise<Server> {
  const server = createServer((_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end('{"title":"CSV"}') })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return server
}

async function stop (server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
}
