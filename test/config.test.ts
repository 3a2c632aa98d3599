import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError, loadConfig } from '../src/config/config.ts'

describe('loadConfig', () => {
  it('fills in every default', () => {
    const config = loadConfig({ STORE_DIR: 'x' })
    assert.deepEqual([config.HOST, config.PORT, config.KEY_PREFIX, config.RENDER_TIMEOUT_MS], ['127.0.0.1', 8080, 'shenma:', 500])
  })

  it('takes an empty variable for one that is not given', () => {
    assert.equal(loadConfig({ STORE_DIR: 'x', PORT: '' }).PORT, 8080)
  })

  it('keeps variables of others out', () => {
    assert.equal(Object.hasOwn(loadConfig({ STORE_DIR: 'x', HOME: '/root' }), 'HOME'), false)
  })

  it('does not show the value of a secret', () => {
    assert.throws(() => loadConfig({ REDIS_URL: 'hunter2' }), (error: Error) => error instanceof ConfigError && !error.message.includes('hunter2'))
  })

  const bad = [
    [{ STORE_DIR: 'x', PORT: '-1' }, 'PORT: expected an integer from 0 to 65535, got "-1"'],
    [{ STORE_DIR: 'x', PORT: '80.5' }, 'PORT: expected an integer from 0 to 65535, got "80.5"'],
    [{ STORE_DIR: 'x', POLL_INTERVAL_MS: '1' }, 'POLL_INTERVAL_MS: expected an integer from 100 to 2147483647, got "1"'],
    [{ STORE_DIR: 'x', EGRESS: 'open' }, 'EGRESS: expected one of internal, strict, got "open"'],
    [{ STORE_DIR: 'x', LOG_VALUES: '1' }, 'LOG_VALUES: expected true or false, got "1"'],
    [{ STORE_DIR: 'x', LLM_API_KEY: 'sk-secret\n' }, 'LLM_API_KEY: holds characters that no header may hold, such as a line end'],
    [{ STORE_DIR: 'x', LLM_API_KEY: '\u201csk-secret\u201d' }, 'LLM_API_KEY: holds characters that no header may hold, such as a line end'],
    [{ STORE_DIR: 'x', LLM_BASE_URL: 'ftp://user:SECRET@h/v1?key=SECRET' }, 'LLM_BASE_URL: expected an http(s) address such as https://api.example.com/v1, builtin:echo or builtin:script, got "ftp://h/v1"'],
    [{ STORE_DIR: 'x', LLM_BASE_URL: 'user:SEC@RET@h' }, 'LLM_BASE_URL: expected an http(s) address such as https://api.example.com/v1, builtin:echo or builtin:script, got "h"'],
    [{ STORE_DIR: 'x', WORKERS: 'x' }, 'WORKERS: expected one of auto, an integer from 1 to 1024, got "x"']
  ] as const
  for (const [environment, message] of bad) {
    it(`says "${message}" to ${JSON.stringify(environment)}`, () => {
      assert.throws(() => loadConfig(environment), { name: 'ConfigError', message })
    })
  }
})
