import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const run = promisify(execFile)

const REGISTRATIONS = {
  'templates:greet': { userPrompt: 'Say hello to {{variables.name}}', parameters: [{ name: 'name', type: 'string' }] },
  'templates:plain': { messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi' }] },
  'templates:score': { userPrompt: 'score', structured: true, returns: { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'], additionalProperties: false } },
  'templates:cut': 'cut'
}

const REPLIES = '- last: hello\n  reply: Hello, Ada!\n- last: score\n  reply: \'{"score": 7}\'\n- last: cut\n  fail: { status: 422, message: not this }\n'

/** An application in a folder of its own, with the package as it was built, beside a live service. */
const open = shared(async t => {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('replies.yaml', REPLIES)
  await folder.write('package.json', '{ "type": "module" }')
  await folder.write('node_modules/.keep', '')
  await symlink(resolve('.'), join(folder.path, 'node_modules/ai-prompt-shell'))
  const service = await startService(t, REGISTRATIONS, { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml'), API_TOKENS: tokenEntry('one', 'admin') })
  const url = await service.listen()
  const environment = { PATH: process.env['PATH'], APS_URL: url, APS_TOKEN: 'one-token' }
  assert.equal((await runApsHere(['types', '-o', join(folder.path, 'prompts.ts')], environment as Record<string, string>)).code, 0)
  const head = 'import { createClient, PromptShellError } from \'ai-prompt-shell/client\'\n'
  return {
    service,
    /** Runs a program of the application; gives what it has printed as JSON. */
    async js (body: string): Promise<unknown> {
      await folder.write('main.js', `${head}const client = createClient({ url: process.env.APS_URL, token: process.env.APS_TOKEN })\nconst print = value => console.log(JSON.stringify(value))\n${body}`)
      const { stdout } = await run(process.execPath, ['main.js'], { cwd: folder.path, env: environment })
      return JSON.parse(stdout) as unknown
    },
    /** What the compiler says of a program. */
    async mistakes (body: string): Promise<readonly string[]> {
      await folder.write('main.ts', `${head}import { type Prompts } from './prompts.ts'\nconst client = createClient<Prompts>({ url: '' })\nexport { PromptShellError }\n${body}`)
      const args = [resolve('node_modules/typescript7/bin/tsc'), '--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom', '--types', '', '--allowImportingTsExtensions', 'main.ts']
      const { stdout } = await run(process.execPath, args, { cwd: folder.path }).catch((error: { readonly stdout: string }) => error)
      return Array.from(stdout.matchAll(/^main\.ts\((\d+),.*error (TS\d+)/gm), ([, line, code]) => `${Number(line) - 4} ${code}`).concat(/^(?!main\.ts|\s).*error TS.*/m.exec(stdout)?.[0] ?? [])
    }
  }
})

describe('ai-prompt-shell/client', () => {
  it('renders, and says which release it was', async () => {
    const { js, service } = await open()
    await service.post('/api/prompts/greet/versions', {}, bearer('one'))
    await service.app.inject({ method: 'PUT', url: '/api/prompts/greet/labels/staging', headers: bearer('one'), payload: { version: 1 } })
    const found = await js('print([await client.render("greet", { name: "Ada" }, { label: "staging" }), await client.render("plain")])')
    const [greet, plain] = found as Array<{ readonly prompt: unknown, readonly release: { readonly revision: string } }>
    assert.deepEqual([greet?.prompt, { ...greet?.release, revision: '' }], ['Say hello to Ada', { revision: '', version: 1, label: 'staging' }])
    assert.deepEqual(plain?.prompt, [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi' }])
    assert.match(plain?.release.revision ?? '', /^.{12}$/)
  })

  it('sends what was said, as texts and as parts', async () => {
    const { js, mistakes } = await open()
    const said = '[{ role: "user", content: [{ type: "text", text: "{{x}}" }] }, { role: "assistant", content: "y" }]'
    const found = await js(`print((await client.render("plain", {}, { messages: ${said} })).prompt.slice(2))`)
    assert.deepEqual(found, [{ role: 'user', content: [{ type: 'text', text: '{{x}}' }] }, { role: 'assistant', content: 'y' }])
    assert.deepEqual(await mistakes(`await client.render('plain', {}, { messages: ${said} })\nawait client.render('plain', {}, { messages: [{ role: 'user', content: [{ type: 'film' }] }] })`), ['2 TS2322'])
  })

  it('gives an answer piece by piece, as a whole, and as its type', async () => {
    const { js } = await open()
    const found = await js(`
      const answer = await client.chat('greet', { name: 'Ada' })
      const pieces = []
      for await (const piece of answer) pieces.push(piece)
      print([pieces.join(''), answer.release.revision.length, await (await client.chat('greet', { name: 'Ada' })).text(), await (await client.chat('score', {}, { fields: { temperature: 0 } })).value()])`)
    assert.deepEqual(found, ['Hello, Ada!', 12, 'Hello, Ada!', { score: 7 }])
  })

  it('throws what the service, and what a model\'s API says', async () => {
    const { js } = await open()
    const found = await js(`
      const told = async call => await call().then(() => 'nothing', error => [error instanceof PromptShellError, error.status, error.code, error.message, typeof error.requestId])
      print([await told(() => client.render('gret', {})), await told(() => client.chat('cut')), await told(() => createClient({ url: process.env.APS_URL }).render('plain'))])`)
    assert.deepEqual((found as unknown[][]).map(([isOurs, status, code, , id]) => [isOurs, status, code, id]), [[true, 404, 'PROMPT_NOT_FOUND', 'string'], [true, 422, null, 'string'], [true, 401, 'TOKEN_REQUIRED', 'string']])
    assert.match(String((found as unknown[][])[1]?.[3]), /not this/)
  })

  it('holds a program to the types of the prompts', async () => {
    const { mistakes } = await open()
    assert.deepEqual(await mistakes([
      'await client.render("greet", { name: "Ada" }, { label: "production" })',
      'const { score } = await (await client.chat("score")).value(); score.toFixed()',
      'for await (const piece of await client.chat("plain")) piece.trim()',
      'await client.render("greet", { name: 7 })',
      'await client.render("greet")',
      'await client.render("gret", { name: "Ada" })',
      'await client.chat("greet", { name: "Ada" }, { lable: "x" })'
    ].join('\n')), ['4 TS2322', '5 TS2554', '6 TS2345', '7 TS2561'])
  })
})
