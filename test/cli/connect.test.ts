import assert from 'node:assert/strict'
import { chmod, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { addressOf } from '../../src/cli/connect.ts'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { tokenEntry } from '../helpers/tokens.ts'

const FILE = 'ai-prompt-shell/config.yaml'

async function home (t: TestContext, config?: string) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const file = join(folder.path, FILE)
  if (config !== undefined) {
    await folder.write(FILE, config)
    await chmod(file, 0o600)
  }
  return { file, environment: { XDG_CONFIG_HOME: folder.path } }
}

const PROFILES = `
profile: local
profiles:
  local: { url: http://127.0.0.1:1, token: local-token }
  staging: { url: http://127.0.0.1:2, tokenCommand: printf staging-token }
`

describe('the address of a service', () => {
  const cases: ReadonlyArray<readonly [what: string, options: object, environment: Readonly<Record<string, string>>, url: string, token: string]> = [
    ['is that of the current profile', {}, {}, 'http://127.0.0.1:1', 'local-token'],
    ['is that of a variable before it, which gets no token of a profile', {}, { APS_URL: 'http://127.0.0.1:3' }, 'http://127.0.0.1:3', ''],
    ['is that of an option before both', { url: 'http://127.0.0.1:4' }, { APS_URL: 'http://127.0.0.1:3', APS_PROFILE: 'staging', APS_TOKEN: 'x' }, 'http://127.0.0.1:4', 'x'],
    ['is that of the profile of an option, whose token goes before a variable', { at: 'staging' }, { APS_URL: 'http://127.0.0.1:3', APS_TOKEN: 'x' }, 'http://127.0.0.1:2', 'staging-token'],
    ['is that of the profile of a variable, which APS_TOKEN goes before', {}, { APS_PROFILE: 'staging', APS_TOKEN: 'x' }, 'http://127.0.0.1:2', 'x']
  ]
  for (const [what, options, variables, url, token] of cases) {
    it(what, async t => {
      const { environment } = await home(t, PROFILES)
      const address = addressOf(options, { ...environment, ...variables })
      assert.deepEqual([address.url, address.token()], [url, token])
    })
  }

  it('is this machine when nobody says', async t => {
    const { environment } = await home(t)
    assert.equal(addressOf({}, environment).url, 'http://127.0.0.1:8080')
  })

  for (const [what, file, url, token] of [
    ['this machine at the PORT of the folder\'s .env', 'PORT=9001\nAPS_TOKEN=theirs\n', 'http://127.0.0.1:9001', 'mine'],
    ['the APS_URL of the folder\'s .env, which gets no token but that of the file', 'PORT=9001\nAPS_URL=http://far.example\nAPS_TOKEN=theirs\n', 'http://far.example', 'theirs'],
    ['this machine where .env names a PORT of no use', 'PORT=0\n', 'http://127.0.0.1:8080', 'mine']
  ] as const) {
    it(`is ${what}`, async t => {
      const { environment } = await home(t)
      const folder = await createTemporaryFolder()
      const before = process.cwd()
      t.after(async () => {
        process.chdir(before)
        await folder.remove()
      })
      await folder.write('.env', file)
      process.chdir(folder.path)
      const address = addressOf({}, { ...environment, APS_TOKEN: 'mine' })
      assert.deepEqual([address.url, address.token()], [url, token])
    })
  }

  it('is not read of a file that others may read, and not of a profile that is not there', async t => {
    const { environment, file } = await home(t, PROFILES)
    assert.throws(() => addressOf({ at: 'nix' }, environment), /expected one of local, staging/)
    await chmod(file, 0o644)
    assert.throws(() => addressOf({}, environment), /may be read by others/)
  })
})

const serviceWithTokens = shared(async t => {
  const service = await startService(t, {}, { API_TOKENS: tokenEntry('reader', 'read'), LOG_LEVEL: 'silent' })
  return await service.listen()
})

describe('aps login', () => {
  it('keeps a token that the service takes, for this user alone', async t => {
    const { environment, file } = await home(t)
    const url = await serviceWithTokens()
    const { code, stderr } = await runApsHere(['login', '--url', url, '--token-stdin'], environment, 'reader-token\n')
    assert.equal(code, 0, stderr)
    assert.match(stderr, /is asked from now on, as reader \(/)
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.equal((await runApsHere(['prompt', 'list'], environment)).code, 0)
  })

  it('keeps nothing of one that it refuses', async t => {
    const { environment, file } = await home(t)
    const { code } = await runApsHere(['login', '--url', await serviceWithTokens(), '--token-stdin'], environment, 'wrong')
    assert.equal(code, 4)
    await assert.rejects(readFile(file), { code: 'ENOENT' })
  })
})

describe('aps status and approvals', () => {
  it('tell what is served, what is wrong, and what waits', async t => {
    const service = await startService(t, { 'templates:broken': 'Say {{#if' }, { LOG_LEVEL: 'silent' })
    const environment = { APS_URL: await service.listen() }
    const { stdout, stderr } = await runApsHere(['status'], environment)
    assert.match(stdout, /^prompts\t1\t\S+\t$/m)
    assert.match(stderr, /^ready: memory, changes are pushed\n.*prompts\/broken:1:5: error: /s)
    assert.deepEqual(await runApsHere(['approvals'], environment), { code: 0, stdout: '', stderr: '' })
  })
})
