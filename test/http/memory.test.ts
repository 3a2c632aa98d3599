import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createScratch } from '../plans/scratch.ts'
import { type JsonView, startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const USER = '/api/memory/user'
const PROJECT = '/api/memory/project?workspace=shop'

async function start (t: Parameters<typeof createScratch>[0]) {
  const scratch = await createScratch(t)
  const { STORE_DIR: _store, ...environment } = scratch.environment
  const { app } = await startService(t, {}, { ...environment, API_TOKENS: [tokenEntry('ann', 'run'), tokenEntry('bob', 'run:targets=other')].join(',') })
  return {
    scratch,
    async send (method: 'GET' | 'PATCH', url: string, payload?: object, name = 'ann'): Promise<readonly [number, JsonView]> {
      const reply = await app.inject({ method, url, headers: bearer(name), ...(payload === undefined ? {} : { payload }) })
      return [reply.statusCode, JSON.parse(reply.body) as JsonView]
    }
  }
}

const started = shared(start)

describe('The memory over HTTP', () => {
  it('of a user is changed, forgotten, and nobody else\'s', async t => {
    const { send } = await start(t)
    assert.deepEqual(await send('GET', USER), [200, {}])
    assert.deepEqual(await send('PATCH', USER, { preferred_style: 'brief', ask_budget: 1 }), [200, { preferred_style: 'brief', ask_budget: 1 }])
    assert.deepEqual(await send('PATCH', USER, { ask_budget: null, output_format: 'apply' }), [200, { preferred_style: 'brief', output_format: 'apply' }])
    assert.deepEqual(await send('GET', USER), [200, { preferred_style: 'brief', output_format: 'apply' }])
    assert.deepEqual(await send('GET', USER, undefined, 'bob'), [200, {}])
  })

  it('of a project is in the file of the protocol', async t => {
    const { scratch, send } = await start(t)
    assert.deepEqual(await send('PATCH', PROJECT, { default_test_command: 'node --test', src_roots: ['src'] }), [200, { default_test_command: 'node --test', src_roots: ['src'] }])
    assert.deepEqual(JSON.parse(await readFile(join(scratch.path, '.papa-yu/project.json'), 'utf8')), { schema_version: 1, project: { default_test_command: 'node --test', src_roots: ['src'] } })
  })

  it('leaves a file alone that is none of its own', async t => {
    const { scratch, send } = await start(t)
    await send('PATCH', PROJECT, { ci_notes: 'x' })
    await writeFile(join(scratch.path, '.papa-yu/project.json'), 'mine')
    for (const method of ['GET', 'PATCH'] as const) {
      const [status, { code }] = await send(method, PROJECT, method === 'GET' ? undefined : { ci_notes: 'y' })
      assert.deepEqual([status, code], [409, 'MEMORY_UNUSABLE'])
    }
    assert.equal(await readFile(join(scratch.path, '.papa-yu/project.json'), 'utf8'), 'mine')
  })

  const refused: ReadonlyArray<readonly [string, string, object, string, number, string]> = [
    ['another field', USER, { mood: 'good' }, 'ann', 400, 'REQUEST_INVALID'],
    ['a value of another type', USER, { ask_budget: '1' }, 'ann', 400, 'REQUEST_INVALID'],
    ['a field of the other layer', USER, { 'project.ci_notes': 'x' }, 'ann', 400, 'REQUEST_INVALID'],
    ['a path as workspace', '/api/memory/project?workspace=../shop', { ci_notes: 'x' }, 'ann', 400, 'REQUEST_INVALID'],
    ['a workspace that is not offered', '/api/memory/project?workspace=none', { ci_notes: 'x' }, 'ann', 404, 'WORKSPACE_NOT_FOUND'],
    ['a workspace that the token does not name', PROJECT, { ci_notes: 'x' }, 'bob', 404, 'WORKSPACE_NOT_FOUND']
  ]
  for (const [what, url, body, name, status, code] of refused) {
    it(`takes no change with ${what}`, async () => {
      const { send } = await started()
      const [got, json] = await send('PATCH', url, body, name)
      assert.deepEqual([got, json['code']], [status, code])
    })
  }

  it('takes no text beyond its bound, and says which one, and what was expected', async () => {
    const { send } = await started()
    const [status, { message }] = await send('PATCH', PROJECT, { ci_notes: 'x'.repeat(1001) })
    assert.equal(status, 400)
    assert.match(String(message), /"project\.ci_notes": expected a text of 1 to 1000 characters, got 1001 characters/)
    assert.deepEqual(await send('GET', PROJECT), [200, {}])
  })
})
