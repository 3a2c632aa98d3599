import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { noChromium, openPage, startChromium } from '../helpers/chromium.ts'
import { packInto } from '../helpers/package-registry.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

// The client as users have it: out of the package, which is unpacked and nothing else, since it needs no other.

const run = promisify(execFile)

const REGISTRATIONS = { 'templates:greet': { userPrompt: 'Say hello to {{variables.name}}', parameters: [{ name: 'name', type: 'string' }] } }

const PROGRAM = `
const client = createClient({ url, token: 'one-token' })
const rendered = await client.render('greet', { name: 'Ada' })
const answer = await client.chat('greet', { name: 'Ada' })
let text = ''
for await (const piece of answer) text += piece
const refused = await client.render('greet').catch(error => error.code)
`

describe('ai-prompt-shell/client, out of the package,', () => {
  let folder: TemporaryFolder
  before(async () => {
    folder = await createTemporaryFolder()
    const tarball = await packInto(folder.path)
    await folder.write('node_modules/ai-prompt-shell/.keep', '')
    await run('tar', ['-xzf', tarball, '-C', join(folder.path, 'node_modules/ai-prompt-shell'), '--strip-components=1'])
    await folder.write('package.json', '{ "type": "module" }')
  })
  after(() => folder.remove())

  async function open (t: TestContext) {
    const service = await startService(t, REGISTRATIONS, { LLM_BASE_URL: 'builtin:echo', API_TOKENS: tokenEntry('one', 'admin'), LOG_LEVEL: 'silent' })
    const { revision } = (await service.get('/api/prompts/greet', bearer('one'))).json
    return { url: await service.listen(), expected: { prompt: 'Say hello to Ada', revision, text: 'Say hello to Ada', refused: 'VARIABLE_MISSING' } }
  }

  it('renders and chats in Node', async t => {
    const { url, expected } = await open(t)
    await folder.write('main.js', `import { createClient } from 'ai-prompt-shell/client'\nconst url = ${JSON.stringify(url)}\n${PROGRAM}\nconsole.log(JSON.stringify({ prompt: rendered.prompt, revision: rendered.release.revision, text, refused }))`)
    const { stdout } = await run(process.execPath, ['main.js'], { cwd: folder.path })
    assert.deepEqual(JSON.parse(stdout), expected)
  })

  it('renders and chats in a browser, as a module without a bundler', { skip: noChromium }, async t => {
    const { url, expected } = await open(t)
    const browser = await startChromium()
    t.after(() => browser.close())
    const page = await openPage(t, browser, 'about:blank')
    // A page of the service's own origin: what of it comes from elsewhere is for CORS.
    await page.route(`${url}/app/**`, async (route, request) => {
      const path = new URL(request.url()).pathname.slice('/app/'.length)
      if (path === '') return await route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>An application</title>' })
      await route.fulfill({ contentType: 'text/javascript', body: await readFile(join(folder.path, 'node_modules/ai-prompt-shell/dist/client', path), 'utf8') })
    })
    await page.goto(`${url}/app/`)
    const found = await page.evaluate(`(async () => { const { createClient } = await import('/app/client.js'); const url = location.origin; ${PROGRAM} return { prompt: rendered.prompt, revision: rendered.release.revision, text, refused } })()`)
    assert.deepEqual(found, expected)
  })

  it('is checked by the types in it', async () => {
    const types = JSON.parse(await readFile(join(folder.path, 'node_modules/ai-prompt-shell/package.json'), 'utf8')) as { exports: Record<string, { types: string }> }
    assert.match(await readFile(join(folder.path, 'node_modules/ai-prompt-shell', types.exports['./client']?.types ?? ''), 'utf8'), /export declare function createClient/)
  })
})
