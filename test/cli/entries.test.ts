import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const TOOL = { url: 'http://127.0.0.1:9/find', method: 'GET', breaker: { failures: 2 }, default: {} }

async function openOwn (t: AtEnd) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const service = await startService(t, { 'templates:greet': 'Hello {{variables.name}}', 'environs:team:tone': 'dry', 'tools:code:find': TOOL }, { LOG_LEVEL: 'silent' })
  const url = await service.listen()
  const path = (name: string) => join(folder.path, name)
  return { folder, path, aps: (args: readonly string[], more: Readonly<Record<string, string>> = {}, input?: string) => runApsHere(args, { APS_URL: url, ...more }, input) }
}

/** For tests that change nothing. */
const open = shared(openOwn)

describe('aps prompt, tool, environ and extension', () => {
  it('print an entry as YAML, JSON or the text that it is', async () => {
    const { aps } = await open()
    const forms = await Promise.all([['prompt', 'get', 'greet'], ['prompt', 'get', 'greet', '-o', 'raw'], ['environ', 'get', 'team.tone', '-o', 'json'], ['tool', 'get', '-o', 'json', 'code.find']].map(args => aps(args)))
    assert.deepEqual(forms.slice(0, 3).map(({ stdout }) => stdout), ['userPrompt: Hello {{variables.name}}\n', 'Hello {{variables.name}}\n', '"dry"\n'])
    assert.deepEqual(JSON.parse(forms[3]?.stdout ?? ''), TOOL)
  })

  const GO: ReadonlyArray<readonly [words: string, stdout: RegExp, input?: string]> = [
    ['extension add tools -d {extension.json}', /^$/],
    ['extension list', /^tools\t/],
    ['prompt add -i greet2 -d {greet.txt}', /^$/],
    ['prompt render -i greet2 --args {"name":"Ada"} -m any', /^Hi Ada\n$/],
    ['variable set team.tone kind', /^$/],
    ['variable list', /^team\.tone\n$/],
    ['environ get team.tone -o raw', /^kind\n$/],
    ['environ set team.limit 5', /^$/],
    ['environ get team.limit', /^5\n$/],
    ['tool add code.other -d -', /^$/, 'url: http://127.0.0.1:9/other\nmethod: GET\n'],
    ['tool list --prefix code.o', /^code\.other\tcode_other\trestful\t\n$/],
    ['prompt add greet3 -d -', /^$/, 'userPrompt: Hello {{variables.name}}\n'],
    ['prompt get greet3 -o raw', /^Hello \{\{variables\.name\}\}\n$/],
    ['prompt remove greet3', /^$/],
    ['prompt list --prefix greet3', /^$/]
  ]
  it('take the commands of the Go program, and publish what a file or stdin has', async t => {
    const { aps, folder, path } = await openOwn(t)
    await folder.write('extension.json', JSON.stringify({ name: 'tools', contributes: { prompts: [{ name: 'hi', userPrompt: 'Hi' }] } }))
    await folder.write('greet.txt', 'Hi {{variables.name}}')
    for (const [words, stdout, input] of GO) {
      const run = await aps(words.split(' ').map(word => word.replace(/^\{(\w+\.\w+)\}$/, (_, name: string) => path(name))), {}, input)
      assert.equal(run.code, 0, `${words}: ${run.stderr}`)
      assert.match(run.stdout, stdout, words)
    }
  })

  it('end with 1 for an entry with an error, and say where', async () => {
    const { aps } = await open()
    const { code, stderr } = await aps(['prompt', 'add', 'broken', '-d', '-'], {}, 'Say {{#if')
    assert.equal(code, 1)
    assert.match(stderr, /^aps: "broken" was not stored: .* at line 1, column 5 .*ENTRY_INVALID/)
  })
})

describe('aps edit', () => {
  it('stores what the editor has written', async t => {
    const { aps } = await openOwn(t)
    assert.deepEqual(await aps(['prompt', 'edit', 'greet'], { EDITOR: 'sed -i s/Hello/Bye/' }), { code: 0, stdout: '', stderr: 'replaced prompt greet\n' })
    assert.equal((await aps(['prompt', 'get', 'greet', '-o', 'raw'])).stdout, 'Bye {{variables.name}}\n')
  })

  it('stores nothing where nothing has changed', async () => {
    const { aps } = await open()
    assert.deepEqual(await aps(['environ', 'edit', 'team.tone'], { EDITOR: 'true' }), { code: 0, stdout: '', stderr: 'nothing has changed\n' })
  })

  it('keeps the draft, and what somebody else has written meanwhile', async t => {
    const { aps, path, folder } = await openOwn(t)
    await folder.write('editor.sh', `#!/bin/sh\nprintf Theirs | '${process.execPath}' dist/cli/aps.js prompt add greet -d - && sed -i s/Hello/Mine/ "$1"\n`)
    const { code, stderr } = await aps(['prompt', 'edit', 'greet'], { EDITOR: `sh ${path('editor.sh')}` })
    assert.equal(code, 1)
    const [, draft = ''] = /ENTRY_CHANGED.*; what you wrote is in (\S+)\n$/.exec(stderr) ?? []
    assert.match(draft, /greet\.yaml$/, stderr)
    assert.equal((await aps(['prompt', 'get', 'greet', '-o', 'raw'])).stdout, 'Theirs\n')
  })
})

describe('aps apply', () => {
  it('publishes a folder of skills, a file of an agent and of a plan', async t => {
    const { aps } = await openOwn(t)
    const runs = [await aps(['skills', 'apply', '-f', 'examples/skills']), await aps(['agents', 'apply', '-f', 'examples/agents/helper.yaml']), await aps(['plans', 'apply', '-f', 'examples/plans/careful.yaml', '-i', 'slow'])]
    assert.deepEqual(runs.map(({ code }) => code), [0, 0, 0], runs.map(({ stderr }) => stderr).join(''))
    assert.equal((await aps(['skills', 'list'])).stdout.split('\n').length, 4)
    assert.match((await aps(['plans', 'get', 'slow'])).stdout, /^description: /m)
    assert.equal((await aps(['agents', 'remove', 'helper'])).stderr, 'removed agent helper\n')
  })
})

describe('aps prompt needs, used-by and render', () => {
  it('print what a prompt needs, and who uses it', async t => {
    const { aps } = await openOwn(t)
    await aps(['prompt', 'add', 'team.page', '-d', '-'], {}, 'In a {{team.tone}} tone: {{> greet}}')
    const [needs, users, readers] = await Promise.all([aps(['prompt', 'needs', 'team.page']), aps(['prompt', 'used-by', 'greet']), aps(['environ', 'used-by', 'team.tone'])])
    assert.equal(needs.stdout, 'variable\tvariables.name\trequired\tgreet:1:9\nenviron\tteam.tone\tregistered\t1:8\npartial\tgreet\tregistered\t1:26\n', needs.stderr)
    assert.deepEqual([users.stdout, readers.stdout], ['team.page\tdirect\t\n', 'team.page\tdirect\t\n'])
  })

  it('list the origins of what was rendered', async () => {
    const { aps } = await open()
    assert.equal((await aps(['prompt', 'render', 'greet', '-p', 'name=Ada', '--explain'])).stdout, 'user\t1:1\tliteral\tHello\nuser\t1:7\tvariable variables.name\tAda\n')
  })

  it('render again what was recorded', async t => {
    const { aps, path } = await openOwn(t)
    await aps(['prompt', 'render', 'greet', '-p', 'name=Ada', '--record', path('ada.json')])
    await aps(['prompt', 'add', 'greet', '-d', '-'], {}, 'Bye {{variables.name}}')
    assert.match((await aps(['prompt', 'render', 'greet', '--replay', path('ada.json')])).stderr, /BUNDLE_STALE/)
    await aps(['prompt', 'add', 'greet', '-d', '-'], {}, 'Hello {{variables.name}}')
    assert.equal((await aps(['prompt', 'render', 'greet', '--replay', path('ada.json')])).stdout, 'Hello Ada\n')
  })

  it('call a tool, and end with 1 where something stands in for it', async () => {
    const { aps } = await open()
    const { code, stdout, stderr } = await aps(['tool', 'call', 'code.find', 'symbol=main', 'line=3'])
    assert.deepEqual([code, stdout], [1, '{}\n'])
    assert.match(stderr, /^failed, \S+ ms\naps: .*\(\w+\); what is printed stands in for it\n$/s)
  })
})
