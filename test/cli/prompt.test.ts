import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { runApsHere, startAps } from '../helpers/aps.ts'
import { freePort } from '../helpers/free-port.ts'
import { startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { tokenEntry } from '../helpers/tokens.ts'
import { startUpstream } from '../helpers/upstream-server.ts'

const REGISTRATIONS = {
  'templates:greet': { description: 'The smallest prompt', userPrompt: 'Say hello to {{variables.name}}', parameters: [{ name: 'name', type: 'string' }] },
  'templates:review:diff': { messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: '{{#each variables.files}}{{path}} {{/each}}' }], parameters: [{ name: 'files', type: 'array' }] },
  'templates:broken': 'Say {{#if'
}

const REPLIES = `
- last: hello to Ada
  reply: "Hello,\\n\\e[31mAda!"
- last: hello to Bob
  calls: [{ name: greet_all, arguments: { name: Bob } }]
  reply: I will.
- last: hello to Eve
  fail: { status: 500 }
- last: hello to Max
  fail: { status: 422, message: not him }
`

async function openWith (t: AtEnd, environment: Readonly<Record<string, string>> = {}) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('replies.yaml', REPLIES)
  await folder.write('ada.yaml', 'name: Ada')
  const service = await startService(t, REGISTRATIONS, { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml'), LOG_LEVEL: 'silent', ...environment })
  const url = await service.listen()
  return { folder, url, aps: (args: readonly string[], more: Readonly<Record<string, string>> = {}, input?: string) => runApsHere(args, { APS_URL: url, ...more }, input) }
}

const open = shared(openWith)

describe('aps prompt', () => {
  it('lists prompts as rows', async () => {
    const { aps } = await open()
    assert.deepEqual(await aps(['prompt', 'list']), {
      code: 0,
      stdout: 'broken\tinvalid\thandlebars\ttext\t\ngreet\tvalid\thandlebars\ttext\tThe smallest prompt\nreview.diff\tvalid\thandlebars\tmessages\t\n',
      stderr: ''
    })
    assert.equal((await aps(['prompt', 'list', '--prefix', 'rev'])).stdout.split('\t', 1)[0], 'review.diff')
  })

  it('prints JSON of the fields that are named, wherever --json stands', async () => {
    const { aps } = await open()
    for (const args of [['--json=id,form', 'prompt', 'list', '--prefix=g'], ['prompt', 'list', '--prefix=g', '--json=id,form']]) {
      assert.deepEqual(JSON.parse((await aps(args)).stdout), [{ id: 'greet', form: 'text' }])
    }
    const { stdout } = await aps(['prompt', 'get', '--json', 'greet'])
    assert.equal((JSON.parse(stdout) as { id: string }).id, 'greet')
  })

  it('gets a prompt as it is registered', async () => {
    const { aps } = await open()
    const { stdout } = await aps(['prompt', 'get', 'greet'])
    assert.equal(stdout, 'description: The smallest prompt\nuserPrompt: Say hello to {{variables.name}}\nparameters:\n  - name: name\n    type: string\n')
  })

  const rendered: ReadonlyArray<readonly [args: readonly string[], stdout: string, input?: string]> = [
    [['greet', '-p', 'name=Ada'], 'Say hello to Ada\n'],
    [['-i', 'greet', '-p', 'name=@-'], 'Say hello to Bob\n', 'Bob'],
    [['greet', '-v', '{"name": "Eve"}'], 'Say hello to Eve\n'],
    [['greet', '--args', '@-'], 'Say hello to Max\n', 'name: Max'],
    [['review.diff', '--args', '{files: [{path: a.go}, {path: b.go}]}'], '[system]\nBe brief.\n[user]\na.go b.go \n']
  ]
  for (const [args, stdout, input] of rendered) {
    it(`renders with ${args.join(' ')}`, async () => {
      const { aps } = await open()
      assert.deepEqual(await aps(['prompt', 'render', ...args], {}, input), { code: 0, stdout, stderr: '' })
    })
  }

  it('chats in pieces, and tells the usage on stderr', async () => {
    const { aps, folder } = await open()
    const expected = { code: 0, stdout: 'Hello,\n\x1b[31mAda!\n', stderr: '4 tokens in, 4 out (small)\n' }
    for (const more of [[], ['--no-stream']]) {
      assert.deepEqual(await aps(['prompt', 'chat', 'greet', '--args', `@${join(folder.path, 'ada.yaml')}`, '-m', 'small', ...more]), expected)
    }
  })

  it('tells the tools that the model calls on stderr', async () => {
    const { aps } = await open()
    for (const more of [[], ['--no-stream']]) {
      const { stdout, stderr } = await aps(['prompt', 'chat', 'greet', '-p', 'name=Bob', ...more])
      assert.deepEqual([stdout, stderr.split('\n')[0]], ['I will.\n', 'calls greet_all {"name":"Bob"}'])
    }
  })

  it('prints a chat completion with --json', async () => {
    const { aps } = await open()
    const { stdout } = await aps(['prompt', 'chat', 'greet', '-p', 'name=Ada', '--json=model,object'])
    assert.deepEqual(JSON.parse(stdout), { model: 'script', object: 'chat.completion' })
  })
})

const ENDS: ReadonlyArray<readonly [what: string, args: readonly string[], code: number, stderr: RegExp]> = [
  ['help', ['--help'], 0, /^$/],
  ['the version', ['--version'], 0, /^$/],
  ['a prompt that is not there', ['prompt', 'get', 'greeet'], 1, /^aps: Prompt "greeet" not found; near matches: "greet" \(PROMPT_NOT_FOUND, request [\w-]+\)\n$/],
  ['an id that looks like a step up', ['prompt', 'get', '..'], 1, /^aps: .*\(PROMPT_NOT_FOUND/],
  ['a prompt that cannot run', ['prompt', 'render', 'broken'], 1, /TEMPLATE_SYNTAX/],
  ['a refusal of the model', ['prompt', 'chat', 'greet', '-p', 'name=Max'], 1, /^aps: not him \(request [\w-]+\)\n$/],
  ['no command', [], 2, /^Usage: aps/],
  ['no command of a group', ['prompt'], 2, /^Usage: aps prompt/],
  ['an unknown command', ['prompt', 'gte'], 2, /^aps: unknown command 'gte'\n\(Did you mean get\?\)/],
  ['an unknown option', ['prompt', 'list', '--nix'], 2, /^aps: unknown option '--nix'/],
  ['a token as an option', ['prompt', 'list', '--token', 'x'], 2, /^aps: unknown option '--token'/],
  ['no id', ['prompt', 'get'], 2, /^aps: expected the id of a prompt/],
  ['two ids', ['prompt', 'get', 'a', '-i', 'b'], 2, /^aps: expected one id, got "a" and "b"/],
  ['a third argument', ['prompt', 'get', 'a', 'b'], 2, /^aps: too many arguments/],
  ['an address that is none', ['prompt', 'list', '--url', 'localhost:8080'], 2, /^aps: --url or APS_URL: expected an address such as http:\/\/127\.0\.0\.1:8080\n$/],
  ['an address with credentials', ['prompt', 'list', '--url', 'http://me:secret@127.0.0.1'], 2, /^aps: --url or APS_URL: expected an address without credentials; a token goes into APS_TOKEN\n$/],
  ['a field that is not there', ['prompt', 'get', 'greet', '--json=nix'], 2, /^aps: --json: expected fields of id, /],
  ['a missing variable', ['prompt', 'render', 'greet'], 2, /^aps: Prompt "greet" needs values that are missing: variables\.name .*\(VARIABLE_MISSING, request [\w-]+\)\n$/],
  ['a failure of the model', ['prompt', 'chat', 'greet', '-p', 'name=Eve'], 5, /\(LLM_UPSTREAM, request [\w-]+\)\n$/]
]

describe('aps ends', () => {
  it('as its exit codes say', async t => {
    const { aps } = await open()
    for (const [what, args, code, stderr] of ENDS) {
      await t.test(`${code}: ${what}`, async () => {
        const run = await aps(args)
        assert.equal(run.code, code, run.stderr)
        assert.match(run.stderr, stderr)
        if (code !== 0) assert.equal(run.stdout, '')
      })
    }
  })

  it('4 without a token, with a wrong one, and with one that may not do this', async t => {
    const { aps } = await openWith(t, { API_TOKENS: tokenEntry('reader', 'read') })
    const runs = await Promise.all([
      aps(['prompt', 'list']), aps(['prompt', 'list'], { APS_TOKEN: 'wrong' }),
      aps(['prompt', 'chat', 'greet'], { APS_TOKEN: 'reader-token' }), aps(['prompt', 'list'], { APS_TOKEN: 'reader-token' })
    ])
    assert.deepEqual(runs.map(({ code, stderr }) => [code, /\((\w+),/.exec(stderr)?.[1]]), [[4, 'TOKEN_REQUIRED'], [4, 'TOKEN_UNKNOWN'], [4, 'ROLE_MISSING'], [0, undefined]])
  })

  it('2 with a token that no header may hold, without showing it', async () => {
    const { aps } = await open()
    const { code, stderr } = await aps(['prompt', 'list'], { APS_TOKEN: 'secret\n' })
    assert.deepEqual([code, stderr], [2, 'aps: APS_TOKEN holds characters that no header may hold, such as a line end\n'])
  })

  it('5 where nothing answers', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`
    const { code, stderr } = await runApsHere(['prompt', 'list', '--url', url])
    assert.deepEqual([code, stderr], [5, `aps: ${url} does not answer: the connection was refused; --url or APS_URL says where the service is\n`])
  })

  it('130 when it is interrupted in the middle of an answer', async t => {
    const upstream = await startUpstream((_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n')
    })
    t.after(() => upstream.close())
    const child = startAps(['prompt', 'chat', 'greet'], { APS_URL: upstream.baseUrl })
    child.stdout.once('data', () => child.kill('SIGINT'))
    const [[code], said] = await Promise.all([once(child, 'close') as Promise<[number]>, text(child.stderr)])
    assert.deepEqual([code, said], [130, ''])
    await upstream.allClosed()
  })
})
