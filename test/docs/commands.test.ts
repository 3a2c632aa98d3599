import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { examplesFor, freeExamplePorts } from '../helpers/example-tool-server.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { startProcess } from '../helpers/service-process.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { comparable, commandsIn, type PageCommand } from './page-commands.ts'

// The commands of the pages, pasted into a shell one after the other over the examples; what stands below each is what it prints.
// Those that need the example tools are run in test/end-to-end/example-tools.test.ts and test/docs/templates.test.ts.

const skip = spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not installed'

describe('the commands of the pages', { skip }, () => {
  it('of README.md, from its start', async t => {
    const commands = commandsIn(section('README.md', 'Start')).filter(({ output }) => output !== undefined)
    assert.equal(commands.length, 2)
    await tryCommands(commands, await startExamples(t))
  })

  it('of README.md, with redis-cli', async t => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    const { url } = await startProcess(t, { REDIS_URL: redis.url })
    const [command, ...others] = commandsIn(section('README.md', 'Publish')).filter(({ output }) => output !== undefined)
    assert.ok(command?.script.includes('redis-cli SET') === true && others.length === 0)
    await waitFor('the commands to print what the page shows', () => same(run(command, url, redis.port), command.output ?? ''))
  })

  it('of README.md, as its example of an error', async t => {
    const [publish] = commandsIn(section('README.md', 'Publish')).map(({ script }) => /shenma:templates:review:short '(.*)'/.exec(script)?.[1])
    const [, shown = ''] = /```json\n(.*?)```/s.exec(section('README.md', 'Call')) ?? []
    const { url } = await startProcess(t, { STORE_DIR: await examplesFor(t, await freeExamplePorts()) })
    assert.equal((await fetch(`${url}/api/prompts/review.short`, { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: publish ?? '' })).status, 201)
    const reply = await fetch(`${url}/api/render/prompts/review.short`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"variables":{"language":"Go"}}' })
    assert.deepEqual(comparable(await reply.text(), shown), comparable(shown, shown))
  })

  it('of docs/publishing.md', async t => {
    const commands = commandsIn(readFileSync('docs/publishing.md', 'utf8')).filter(({ script }) => script.startsWith('curl'))
    assert.equal(commands.length, 4)
    await tryCommands(commands, await startExamples(t))
  })

  it('of docs/errors.md', async t => {
    const commands = commandsIn(readFileSync('docs/errors.md', 'utf8'))
    assert.equal(commands.length, 1)
    await tryCommands(commands, await startExamples(t))
  })
})

async function startExamples (t: TestContext): Promise<string> {
  return (await startProcess(t, { STORE_DIR: await examplesFor(t, await freeExamplePorts()) })).url
}

/** One after the other, since one builds on what those before it have published. */
async function tryCommands (commands: readonly PageCommand[], url: string): Promise<void> {
  for (const command of commands) {
    const printed = run(command, url)
    if (command.output === undefined) assert.doesNotMatch(printed, /"statusCode"/, command.script)
    else assert.deepEqual(comparable(printed, command.output), comparable(command.output, command.output), command.script)
  }
}

function same (printed: string, shown: string): boolean {
  return JSON.stringify(comparable(printed, shown)) === JSON.stringify(comparable(shown, shown))
}

/** What a pasted script prints, its service and its Redis being those of the test. */
function run ({ script }: PageCommand, url: string, redisPort = 0): string {
  const { stdout, status } = spawnSync('bash', ['-c', `redis-cli () { command redis-cli -p ${redisPort} "$@" > /dev/null; }\n${script.replaceAll('http://127.0.0.1:8080', url)}`], { encoding: 'utf8' })
  assert.equal(status, 0, script)
  return stdout
}

function section (page: string, title: string): string {
  return new RegExp(`\\n## ${title}\\n(.*?)\\n## `, 's').exec(readFileSync(page, 'utf8'))?.[1] ?? ''
}
