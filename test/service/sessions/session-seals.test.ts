import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadConfig, ConfigError } from '../../../src/config/config.ts'
import { sessionSealsOf } from '../../../src/service/sessions/session-storage.ts'
import { openService } from '../../../src/service.ts'
import { UNSEALED } from '../../../src/session/session-log.ts'
import { quietLog } from '../../helpers/quiet-log.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

const [ONE, TWO] = ['one-'.repeat(8), 'two-'.repeat(8)]
const REDIS = { REDIS_URL: 'redis://localhost' }
const FOLDER = { STORE_DIR: '.' }
const NOTHING = { targets: new Map(), workspaces: new Map() }
const TARGET = { ...NOTHING, targets: new Map([['here', {} as never]]) }
const WORKSPACE = { ...NOTHING, workspaces: new Map([['shop', {} as never]]) }

function sealsOf (environment: Record<string, string>, offered: typeof NOTHING = NOTHING) {
  return sessionSealsOf(loadConfig(environment), offered)
}

describe('A secret for the logs of sessions', () => {
  for (const [what, environment, offered] of [
    ['targets', REDIS, TARGET], ['workspaces', REDIS, WORKSPACE], ['targets, with registrations in a folder', { ...FOLDER, SESSION_STORE: 'rediss://localhost' }, TARGET]
  ] as const) {
    it(`is required for ${what} when sessions are kept in Redis`, () => {
      assert.throws(() => sealsOf(environment, offered), (error: Error) => error instanceof ConfigError && /SESSION_SECRET.*OPERATOR_FILE.*Redis/.test(error.message))
      assert.notEqual(sealsOf({ ...environment, SESSION_SECRET: ONE }, offered), UNSEALED)
    })
  }

  for (const [what, environment, offered] of [
    ['nothing is offered', REDIS, NOTHING], ['sessions are kept in a folder', FOLDER, TARGET], ['sessions are kept in memory', { ...REDIS, SESSION_STORE: 'memory' }, WORKSPACE]
  ] as const) {
    it(`is not required when ${what}`, () => { assert.equal(sealsOf(environment, offered), UNSEALED) })
  }

  it('is read from a file as well, and may be two', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('secret', `${ONE}\n${TWO}\n`)
    const entry = { seq: 1, text: '{}' }
    const [both, old] = [sealsOf({ ...FOLDER, SESSION_SECRET_FILE: join(folder.path, 'secret') }), sealsOf({ ...FOLDER, SESSION_SECRET: TWO })]
    assert.equal(both.isGenuine('a', '', { ...entry, seal: old.sealOf('a', '', entry) }), true)
    assert.equal(both.sealOf('a', '', entry), sealsOf({ ...FOLDER, SESSION_SECRET: `${ONE},${TWO}` }).sealOf('a', '', entry))
  })

  for (const [what, environment, message] of [
    ['too short', { SESSION_SECRET: 'short-canary' }, /^SESSION_SECRET: expected secrets of at least 32 characters/],
    ['given twice', { SESSION_SECRET: ONE, SESSION_SECRET_FILE: 'x' }, /expected one of them, got both/],
    ['one of three', { SESSION_SECRET: `${ONE},${TWO},${ONE}` }, /expected one secret, or the new one and the old one, got 3/],
    ['in no file', { SESSION_SECRET_FILE: '/nowhere' }, /^SESSION_SECRET_FILE: ENOENT/]
  ] as const) {
    it(`that is ${what} is refused, and not shown`, () => {
      assert.throws(() => sealsOf({ ...FOLDER, ...environment }), (error: Error) => error instanceof ConfigError && message.test(error.message) && !/canary|one-one/.test(error.message))
    })
  }

  it('that is missing keeps the service from starting', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('operator.yaml', 'workspaces: { shop: { path: . } }')
    await assert.rejects(openService(loadConfig({ ...REDIS, OPERATOR_FILE: join(folder.path, 'operator.yaml') }), quietLog()), ConfigError)
  })
})
