import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser, type Page, type WebSocketRoute } from 'playwright-core'
import { askingPlace } from '../helpers/asking-skill.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { waitFor } from '../helpers/wait-for.ts'

const ID = '0123456789abcdef0123456789abcdef'

interface Frame { readonly type: string, readonly [member: string]: unknown }

/** A service whose terminals are played: sessions are its own, frames of terminals are answered here. */
interface Played {
  readonly page: Page
  readonly origin: string
  /** What the page has sent of terminals. */
  readonly frames: readonly Frame[]
  /** Sends a frame over the socket that is attached. */
  tell (frame: Frame): void
  /** Cuts that socket. */
  cut (): Promise<void>
}

// What no real shell does on demand: another window, another replica, a cut. test/console/shell.test.ts has real ones.
describe('A terminal at the console', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  /** @param refusals how many attachments are answered as by a replica that does not hold the terminal */
  async function play (t: TestContext, { refusals = 0, path = `/terminals/${ID}` } = {}): Promise<Played> {
    const service = await (await askingPlace(t)).start()
    const origin = await service.listen()
    const page = await openConsole(t, browser, origin, '/sessions')
    const frames: Frame[] = []
    let attached: WebSocketRoute | undefined
    let left = refusals
    const terminal = { terminalId: ID, target: 'here', state: 'prompt', createdAt: new Date().toISOString() }
    await page.route('**/api/terminals', route => route.request().method() === 'POST' ? route.fulfill({ status: 201, json: terminal }) : route.fulfill({ json: { terminals: [terminal] } }))
    await page.route('**/api/terminals/*', route => route.fulfill({ json: { ...terminal, state: 'closed' } }))
    await page.route('**/api/targets', async route => {
      const reply = await route.fetch()
      await route.fulfill({ response: reply, json: (await reply.json() as object[]).map(target => ({ ...target, terminal: true })) })
    })
    await page.route('**/api/caller', async route => {
      const reply = await route.fetch()
      const caller = await reply.json() as { readonly roles: readonly string[] }
      await route.fulfill({ response: reply, json: { ...caller, roles: [...caller.roles, 'terminal'] } })
    })
    await page.routeWebSocket('**/ws', socket => {
      const server = socket.connectToServer()
      socket.onMessage(message => {
        const frame = JSON.parse(String(message)) as Frame
        if (frame.type === 'subscribe' || frame.type === 'unsubscribe') { server.send(message); return }
        frames.push(frame)
        if (frame.type !== 'terminal_attach') return
        if (left-- > 0) {
          socket.send(JSON.stringify({ type: 'error', code: 'TERMINAL_ELSEWHERE', message: 'Another replica holds this terminal', details: { at: 'http://other' } }))
          return
        }
        attached = socket
        socket.send(JSON.stringify({ type: 'terminal', terminalId: ID, target: 'here', state: 'prompt' }))
        socket.send(JSON.stringify({ type: 'data', data: '\u001b[31mold output\u001b[0m\r\n$ ' }))
      })
    })
    await page.goto(`${origin}/console${path}`)
    return { page, origin, frames, tell: frame => { attached?.send(JSON.stringify(frame)) }, cut: async () => { await attached?.close() } }
  }

  const typed = (frames: readonly Frame[]): string => frames.filter(({ type }) => type === 'data').map(({ data }) => String(data)).join('')

  it('shows what was printed before, and what is printed; keys go to its shell, and its size', async t => {
    const { page, frames, tell } = await play(t)
    await shown(page, 'old output')
    await page.getByText('at its prompt').waitFor()
    await page.keyboard.type('ls -la')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+c')
    await waitFor('the keys', () => typed(frames) === 'ls -la\r\u0003')
    tell({ type: 'data', data: 'a.txt\r\n$ ' })
    await shown(page, 'a.txt')
    const sizes = frames.filter(({ type }) => type === 'resize' || type === 'terminal_attach')
    assert.ok(sizes.every(({ cols, rows }) => Number(cols) > 20 && Number(rows) > 10), JSON.stringify(sizes))
    const before = Number(sizes.at(-1)?.['cols'])
    await page.setViewportSize({ width: 1600, height: 900 })
    await waitFor('another size', () => Number(frames.findLast(({ type }) => type === 'resize')?.['cols']) > before)
  })

  it('sends a large paste in parts, none of which is above the bound', async t => {
    const { page, frames } = await play(t)
    await shown(page, 'old output')
    const text = 'x'.repeat(100_000)
    await page.evaluate(`document.querySelector('.xterm-helper-textarea').dispatchEvent(new ClipboardEvent('paste', { clipboardData: (() => { const data = new DataTransfer(); data.setData('text/plain', ${JSON.stringify(text)}); return data })() }))`)
    await waitFor('all of it', () => typed(frames).length >= text.length)
    assert.ok(frames.every(frame => JSON.stringify(frame).length < 64 * 1024))
  })

  it('is left by Ctrl ] for the page around it', async t => {
    const { page, frames } = await play(t)
    await shown(page, 'old output')
    await page.keyboard.press('Control+]')
    await page.locator('button:focus', { hasText: 'Skills' }).waitFor()
    assert.equal(typed(frames), '')
  })

  it('is attached again after a cut, and shows nothing twice', async t => {
    const { page, cut } = await play(t)
    await shown(page, 'old output')
    await cut()
    await page.getByText('The connection is lost; the shell goes on').waitFor()
    await page.getByText('The connection is lost; the shell goes on').waitFor({ state: 'detached' })
    await shown(page, 'old output')
    assert.equal((await screenOf(page)).match(/old output/g)?.length, 1)
  })

  it('is looked for until the replica answers that holds it', async t => {
    const { page, frames } = await play(t, { refusals: 2 })
    await shown(page, 'old output')
    assert.equal(frames.filter(({ type }) => type === 'terminal_attach').length, 3)
  })

  it('says that another window has taken it, and takes it back', async t => {
    const { page, tell } = await play(t)
    await shown(page, 'old output')
    tell({ type: 'close', reason: 'attached elsewhere' })
    await page.getByText('attached elsewhere').waitFor()
    await page.getByRole('button', { name: 'Attach again' }).click()
    await page.getByText('at its prompt').waitFor()
    assert.equal(await page.getByText('attached elsewhere').count(), 0)
  })

  it('opens no address that a program prints as a link, and takes no title from it', async t => {
    const { page, tell } = await play(t)
    await shown(page, 'old output')
    tell({ type: 'data', data: '\u001b]0;mine\u0007\u001b]8;;http://evil.example\u0007a link\u001b]8;;\u0007\u001b]52;c;c3RvbGVu\u0007' })
    await shown(page, 'a link')
    assert.match(await page.title(), /Terminal/)
    assert.equal(await page.locator('.xterm a').count(), 0)
  })

  it('answers nothing that a program asks, in the place of keys', async t => {
    const { page, frames, tell } = await play(t)
    await shown(page, 'old output')
    const questions = [
      '\u001b]11;?\u0007', '\u001b]10;?\u001b\\', '\u001b]12;?\u0007', '\u001b]4;1;?\u0007', '\u001b]4;1;#ff0000;2;?\u0007', '\u001bP$qm\u001b\\', '\u001bP$q"p\u001b\\',
      '\u001b[c', '\u001b[0c', '\u001b[>c', '\u001b[=c', '\u001b[5n', '\u001b[6n', '\u001b[?6n', '\u001b[?2004$p', '\u001b[4$p', '\u001b[14t', '\u001b[18t', '\u001b[21t', '\u001b[>q', '\u001b[?u', '\u001bZ', '\u009bc', '\u009d11;?\u0007', '\u0005'
    ]
    tell({ type: 'data', data: `${questions.join('')}all asked\r\n` })
    await shown(page, 'all asked')
    await page.keyboard.type('ls')
    await waitFor('the keys', () => typed(frames).endsWith('ls'))
    assert.equal(typed(frames), 'ls')
  })

  it('starts a skill in it from the list, with the panel beside it: message, card, and both buttons', async t => {
    const { page, tell } = await play(t)
    await shown(page, 'old output')
    await page.getByRole('button', { name: 'Skills' }).click()
    let sent = ''
    // The service here has no such terminal: the skill takes the target in its place.
    await page.route('**/api/skills/start', route => {
      sent = route.request().postData() ?? ''
      return route.continue({ postData: sent.replace(ID, 'here') })
    })
    await page.getByRole('button', { name: 'Start walk' }).click()
    await page.locator('.card').getByText('echo one').waitFor()
    assert.equal((JSON.parse(sent) as { readonly terminalSessionId: string }).terminalSessionId, ID)
    await page.getByRole('button', { name: 'Cancel skill' }).waitFor()
    tell({ type: 'terminal', terminalId: ID, target: 'here', state: 'command' })
    await page.getByText('runs a command of a skill').waitFor()
    await page.reload()
    await page.locator('.card').getByText('echo one').waitFor()
  })

  it('can be used by everybody, in light and dark', async t => {
    const { page, tell } = await play(t)
    await shown(page, 'old output')
    tell({ type: 'data', data: '\u001b[38;2;255;0;255mtrue colours\u001b[0m' })
    await shown(page, 'true colours')
    assert.equal(await page.evaluate('getComputedStyle([...document.querySelectorAll(".xterm-rows span")].find(({ textContent }) => textContent.includes("true colours"))).color'), 'rgb(255, 0, 255)')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      assert.deepEqual(await violationsOf(page), [])
    }
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
  })

  it('is opened on a target, and listed there with those that are open', async t => {
    const { page } = await play(t, { path: '/targets' })
    await page.getByRole('heading', { name: 'Open terminals' }).waitFor()
    await page.getByRole('button', { name: 'Open a terminal on here' }).click()
    await shown(page, 'old output')
    await page.getByRole('heading', { name: 'Terminal on here' }).waitFor()
  })
})

async function screenOf (page: Page): Promise<string> {
  return (await page.locator('.xterm-rows').innerText()).replaceAll('\u00a0', ' ')
}

async function shown (page: Page, text: string): Promise<void> {
  await page.locator('.xterm-rows').waitFor()
  await waitFor(`${text} on the screen`, async () => (await screenOf(page)).includes(text))
}
