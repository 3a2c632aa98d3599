import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser } from 'playwright-core'
import { askingPlace, type AskingService } from '../helpers/asking-skill.ts'
import { noChromium, openPage, startChromium } from '../helpers/chromium.ts'

/** A name of somebody else's, which leads to this machine by now. */
const REBOUND = 'rebound.example'
const EVIL = '/evil'

describe('A page that is not the console\'s', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => { browser = await startChromium([`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`]) })
  after(async () => { await browser.close() })

  async function serve (t: TestContext): Promise<{ readonly service: AskingService, readonly port: string }> {
    const service = await (await askingPlace(t)).start({ here: { terminal: true } })
    return { service, port: new URL(await service.listen()).port }
  }

  /** What a page comes to that would open a terminal: how its socket ends, and what the service answers to it. */
  const attack = (host: string): string => `(async () => {
    const socket = new WebSocket('ws://${host}/ws', ['ai-prompt-shell.v1'])
    const end = await new Promise(resolve => { socket.onopen = () => resolve('open'); socket.onclose = () => resolve('closed') })
    const answer = await fetch('http://${host}/api/terminals', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"target":"here"}' }).then(({ status }) => status, () => 'hidden')
    return [end, answer]
  })()`

  it('opens nothing from another origin', async t => {
    const { service, port } = await serve(t)
    const other = createServer((_request, response) => { response.writeHead(200, { 'content-type': 'text/html' }).end('<title>other</title>') })
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    t.after(() => other.close())
    const page = await openPage(t, browser, `http://127.0.0.1:${(other.address() as AddressInfo).port}/`)
    assert.deepEqual(await page.evaluate(attack(`127.0.0.1:${port}`)), ['closed', 'hidden'])
    assert.deepEqual((await service.get('/api/terminals')).json['terminals'], [])
  })

  it('opens nothing under a name that was bound to this machine after it had come', async t => {
    const { service, port } = await serve(t)
    const rebound = await startRebound(t, Number(port))
    const page = await openPage(t, browser, `http://${REBOUND}:${rebound}${EVIL}`)
    assert.deepEqual(await page.evaluate(attack(`${REBOUND}:${rebound}`)), ['closed', 403])
    assert.deepEqual((await service.get('/api/terminals')).json['terminals'], [])
    assert.equal((await page.goto(`http://${REBOUND}:${rebound}/console/`))?.status(), 403)
  })
})

/** Serves one page of its own, and is the service in all else: what a name becomes that is bound anew. @returns its port */
async function startRebound (t: TestContext, service: number): Promise<number> {
  const server = createTcpServer(socket => {
    socket.on('error', () => {})
    socket.once('data', first => {
      if (first.toString().startsWith(`GET ${EVIL} `)) {
        socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<title>evil</title>')
        return
      }
      const behind = connect(service, '127.0.0.1').on('error', () => {})
      behind.write(first)
      socket.pipe(behind).pipe(socket)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}
