import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createScratch, isGreen, type Scratch } from '../plans/scratch.ts'
import { type Reply, type Service, startService } from '../helpers/service.ts'

const GOAL = { goal: 'plan: fix the test', workspace: 'shop' }

/** A model whose edit is not found, and that edits rightly once it has been told. */
const MISSES = `
- system: mode apply
  last: ERR_EDIT_NOT_FOUND
  reply: '{ "actions": [{ "kind": "EDIT_FILE", "path": "src/price.js", "edits": [{ "search": "pieces > 10", "replace": "pieces >= 10" }] }], "summary": "Found." }'
- system: mode apply
  last: 'FILE[src/price.js]'
  reply: '{ "actions": [{ "kind": "EDIT_FILE", "path": "src/price.js", "edits": [{ "search": "pieces >  10", "replace": "pieces >= 10" }] }], "summary": "Missed." }'
`

/** A model that changes its diff when it is told to. */
const OTHER = `
- system: mode apply
  last: [was NOT written, a constant]
  reply: '{ "actions": [{ "kind": "EDIT_FILE", "path": "src/price.js", "edits": [{ "search": "pieces > 10", "replace": "pieces > 9" }] }], "summary": "Another." }'
`

async function start (t: TestContext, { environment }: Scratch, kinds: Record<string, unknown> = {}): Promise<Service> {
  const { STORE_DIR: _store, ...own } = environment
  return await startService(t, kinds, own)
}

const planOf = ({ json }: Reply): string => String(json['id'])

const told = ({ status, json }: Reply): unknown[] => [status, json['state'] ?? json['code'], ...json['error_code'] === undefined ? [] : [json['error_code']]]

const act = ({ post }: Service, id: string, name: string, body?: unknown): Promise<Reply> => post(`/api/plans/${id}/${name}`, body)

describe('A diff of a plan over HTTP', () => {
  it('waits with its digest and is written when that is agreed to', async t => {
    const scratch = await createScratch(t)
    const service = await start(t, scratch)
    const before = await scratch.tree()
    const id = planOf(await service.post('/api/plans', GOAL))
    const held = await act(service, id, 'apply')
    const confirm = held.json['confirm'] as unknown as { kind: string, digest: string, paths: string[], deletes: string[] }
    assert.deepEqual([...told(held), held.json['status'], confirm.kind, confirm.paths, confirm.deletes], [200, 'awaiting_confirmation', 'waiting_input', 'diff', ['src/price.js'], []])
    assert.deepEqual(await scratch.tree(), before)
    const preview = await service.get(`/api/plans/${id}/preview`)
    assert.match(String(preview.json['files']?.['0']?.['diff']), /^-.*pieces > 10[^]*^\+.*pieces >= 10/m)
    assert.equal(preview.json['confirm']?.['digest'], confirm.digest)
    assert.match(String((await service.get(`/api/plans/${id}/preview?path=src/price.js`)).json['text']), /pieces >= 10/)

    assert.deepEqual(told(await act(service, id, 'apply', { digest: 'other' })), [409, 'APPROVAL_OUTDATED'])
    assert.deepEqual(told(await act(service, id, 'confirm', { digest: confirm.digest })), [409, 'SESSION_BUSY'], 'nothing waits for an approval')
    assert.deepEqual(told(await act(service, id, 'apply', { digest: confirm.digest })), [200, 'applied'])
    assert.ok(await isGreen(scratch))
    assert.deepEqual(told(await act(service, id, 'undo')), [200, 'undone'])
    assert.deepEqual(await scratch.tree(), before)
  })

  it('is not written after it was rejected', async t => {
    const scratch = await createScratch(t)
    const service = await start(t, scratch)
    const before = await scratch.tree()
    const id = planOf(await service.post('/api/plans', { ...GOAL, mode: 'apply', goal: 'see src/price.js:3' }))
    assert.deepEqual(told(await act(service, id, 'reject')), [200, 'rejected'])
    assert.deepEqual(await scratch.tree(), before)
  })

  it('is another one after other words, and the first digest is outdated', async t => {
    const scratch = await createScratch(t, OTHER)
    const service = await start(t, scratch)
    const id = planOf(await service.post('/api/plans', GOAL))
    const digest = (await act(service, id, 'apply')).json['confirm']?.['digest']
    const other = await act(service, id, 'message', { text: 'a constant please' })
    assert.notEqual(other.json['confirm']?.['digest'], digest)
    assert.deepEqual(told(await act(service, id, 'apply', { digest })), [409, 'APPROVAL_OUTDATED'])
    assert.deepEqual(told(await act(service, id, 'apply', { digest: other.json['confirm']?.['digest'] })), [200, 'applied'])
    assert.match(await scratch.read('src/price.js'), /pieces > 9/)
  })

  it('is written at once where the profile and the operator want no consent, unless the request does', async t => {
    const scratch = await createScratch(t)
    const service = await start(t, scratch, { 'plans:quick': { confirm: 'deletions' } })
    const quick = { ...GOAL, profile: 'quick' }
    const strict = planOf(await service.post('/api/plans', { ...quick, confirm: 'diff' }))
    assert.deepEqual(told(await act(service, strict, 'apply')), [200, 'awaiting_confirmation'])
    const lax = planOf(await service.post('/api/plans', { ...quick, confirm: 'none' }))
    assert.deepEqual(told(await act(service, lax, 'apply')), [200, 'applied'])
  })

  it('comes again when an edit is not found and the model has mended it', async t => {
    const scratch = await createScratch(t, MISSES)
    const service = await start(t, scratch)
    const id = planOf(await service.post('/api/plans', GOAL))
    assert.deepEqual([...told(await act(service, id, 'apply'))], [200, 'awaiting_confirmation'])
    assert.deepEqual([...told(await act(service, id, 'apply'))], [200, 'applied'])
  })
})

describe('A failing check over HTTP', () => {
  it('is the goal of a plan, which is done when it passes', async t => {
    const scratch = await createScratch(t)
    const service = await start(t, scratch)
    const asked = await service.post('/api/plans', { workspace: 'shop', fix: 'test' })
    assert.deepEqual(told(asked), [201, 'awaiting_confirmation'])
    assert.deepEqual(told(await act(service, planOf(asked), 'apply', { digest: asked.json['confirm']?.['digest'] })), [200, 'applied'])
    assert.deepEqual(told(await service.post('/api/plans', { workspace: 'shop', fix: 'test' })), [201, 'no_changes'])
  })

  it('has to be a check of the workspace', async t => {
    const service = await start(t, await createScratch(t))
    const { status, json } = await service.post('/api/plans', { workspace: 'shop', fix: 'lint' })
    assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
    assert.match(JSON.stringify(json), /which has test/)
  })
})

describe('A plan whose model fails', () => {
  it('goes on over HTTP when it is told to', async t => {
    const scratch = await createScratch(t, '- last: out of luck\n  fail: { status: 400, message: no luck }\n')
    const service = await start(t, scratch)
    const failed = await service.post('/api/plans', { goal: 'plan: out of luck', workspace: 'shop' })
    assert.deepEqual(told(failed), [201, 'draft', 'LLM_ERROR'])
    assert.deepEqual(told(await act(service, planOf(failed), 'retry')), [200, 'draft', 'LLM_ERROR'])
    assert.deepEqual(told(await act(service, planOf(failed), 'message', { text: 'plan: fix the test' })), [200, 'planned'])
    assert.deepEqual(told(await act(service, planOf(failed), 'retry')), [409, 'SESSION_BUSY'])
  })
})
