import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../../helpers/service.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'

describe('GET /api/caller', () => {
  it('says of a token what it is called, what it may do and what exists for it', async t => {
    const { get } = await startService(t, {}, { API_TOKENS: tokenEntry('ide', 'render+chat:prompts=team.*|greet:environs=*') })
    assert.deepEqual((await get('/api/caller', bearer('ide'))).json, { name: 'ide', roles: ['render', 'chat'], prompts: ['greet', 'team.*'], environs: ['*'], mode: 'tokens' })
  })

  it('names the labels that the token may move, and the one that it is served', async t => {
    const { get } = await startService(t, {}, { API_TOKENS: tokenEntry('ci', 'write:labels=production|staging:serve=production') })
    const { labels, serve } = (await get('/api/caller', bearer('ci'))).json
    assert.deepEqual([labels, serve], [['production', 'staging'], 'production'])
  })

  it('names the label that the service serves where nobody says one', async t => {
    const { get } = await startService(t, {}, { DEFAULT_LABEL: 'production' })
    assert.equal((await get('/api/caller')).json['defaultLabel'], 'production')
  })

  it('is answered to every role, and to nobody without a token that is known', async t => {
    const { get } = await startService(t, {}, { API_TOKENS: [tokenEntry('a', 'approve'), tokenEntry('b', 'admin')].join(',') })
    assert.deepEqual((await get('/api/caller', bearer('a'))).json['roles'], ['approve'])
    assert.deepEqual((await get('/api/caller', bearer('b'))).json['roles'], ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin'])
    assert.equal((await get('/api/caller')).json['code'], 'TOKEN_REQUIRED')
    const unknown = await get('/api/caller', bearer('c'))
    assert.deepEqual([unknown.status, unknown.json['code']], [401, 'TOKEN_UNKNOWN'])
  })

  it('names without tokens the roles that a request from there has', async t => {
    const { get } = await startService(t, {})
    assert.deepEqual((await get('/api/caller')).json, { name: '', roles: ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin', 'terminal'], mode: 'open' })
    assert.deepEqual((await get('/api/caller', { 'x-forwarded-for': '10.0.0.1' })).json['roles'], ['read', 'render', 'chat'])
  })
})
