import assert from 'node:assert/strict'
import { stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { creating, createScratch, DELETING, deleting, isGreen, PAPAYU, REMEMBERING, type Scratch } from '../plans/scratch.ts'
import { type JsonView, type Reply, type RequestHeaders, type Service, startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const GOAL = { goal: 'plan: исправь тест', workspace: 'shop' }

async function start (t: AtEnd, { environment }: Scratch, more: Readonly<Record<string, string>> = {}): Promise<Service> {
  const { STORE_DIR: _store, ...own } = environment
  return await startService(t, { 'plans:default': PAPAYU, 'plans:careful': { ...PAPAYU, description: 'x', prompt: 'x', checks: ['test'] }, 'plans:unchecked': { ...PAPAYU, description: 'x', prompt: 'x', checks: [] } }, { ...own, ...more })
}

const planOf = ({ json }: Reply): string => String(json['id'])

const told = ({ status, json }: Reply): unknown[] => [status, json['state'] ?? json['code'], ...json['error_code'] === undefined ? [] : [json['error_code']]]

/** Says something to a plan. */
const act = ({ post }: Service, id: string, name: string, body?: unknown, headers: RequestHeaders = {}): Promise<Reply> => post(`/api/plans/${id}/${name}`, body, headers)

/** For plans that are not carried out. */
const planning = shared(async suite => await start(suite, await createScratch(suite)))

describe('A plan over HTTP', () => {
  it('is made, shown, carried out, undone byte for byte, and made again', async t => {
    const scratch = await createScratch(t)
    const service = await start(t, scratch)
    const before = await scratch.tree()
    const planned = await service.post('/api/plans', { ...GOAL, profile: 'careful' })
    assert.deepEqual(told(planned), [201, 'planned'])
    assert.match(String(planned.json['summary']), /^Диагноз: скидка/)
    assert.match(String(planned.json['plan_context']), /FILE\[src\/price\.js\]:\n\(line ends are CRLF; executable\)\n1\|/)
    assert.deepEqual([planned.json['ok'], planned.json['actions'], await scratch.tree()], [true, [], before])

    const id = planOf(planned)
    const applied = await act(service, id, 'message', { text: 'ok' })
    assert.deepEqual([...told(applied), applied.json['applied']], [200, 'applied', [{ kind: 'UPDATE_FILE', path: 'src/price.js' }]])
    assert.ok(await isGreen(scratch))
    const { json: { files } } = await service.get(`/api/plans/${id}/preview`)
    assert.match(String(files?.['0']?.['diff']), /^\+ {2}const discount = pieces >= 10/m)

    assert.deepEqual(told(await act(service, id, 'undo')), [200, 'undone'])
    assert.deepEqual(await scratch.tree(), before)
    assert.deepEqual(told(await act(service, id, 'redo', { paths: ['src/price.js'] })), [200, 'applied'])
    assert.equal((await stat(join(scratch.path, 'src/price.js'))).mode & 0o777, 0o750)
    assert.deepEqual(told(await act(service, id, 'redo')), [409, 'SESSION_BUSY'])
  })

  it('is refused, with nothing written, where a file has changed since it was read', async t => {
    const scratch = await createScratch(t)
    const service = await start(t, scratch)
    const id = planOf(await service.post('/api/plans', GOAL))
    await scratch.write('src/price.js', 'mine\n')
    const before = await scratch.tree()
    const refused = await act(service, id, 'apply')
    assert.deepEqual(told(refused), [200, 'failed', 'ERR_BASE_CHANGED'])
    assert.equal(refused.json['ok'], false)
    assert.deepEqual(await scratch.tree(), before)
  })

  it('is not undone over a later edit', async t => {
    const scratch = await createScratch(t)
    const service = await start(t, scratch)
    const id = planOf(await service.post('/api/plans', GOAL))
    await act(service, id, 'apply')
    await scratch.write('src/price.js', 'mine\n')
    const undone = await act(service, id, 'undo')
    assert.deepEqual([...told(undone), undone.json['ok'], undone.json['conflicts']], [200, 'applied', 'ERR_BASE_CHANGED', false, [{ path: 'src/price.js', reason: 'changed' }]])
    assert.equal(await scratch.read('src/price.js'), 'mine\n')
    const redone = await act(service, id, 'redo')
    assert.deepEqual(told(redone), [409, 'SESSION_BUSY'])
  })

  it('tells what an undo and a redo would come to, and writes nothing', async t => {
    const scratch = await createScratch(t)
    const service = await start(t, scratch)
    const id = planOf(await service.post('/api/plans', GOAL))
    assert.deepEqual(told(await act(service, id, 'undo', { dryRun: true })), [409, 'SESSION_BUSY'])
    await act(service, id, 'apply')
    const before = await scratch.tree()
    const undo = await act(service, id, 'undo', { dryRun: true })
    assert.deepEqual([undo.status, undo.json], [200, { dryRun: true, files: [{ kind: 'UPDATE_FILE', path: 'src/price.js' }], conflicts: [] }])
    assert.deepEqual(await scratch.tree(), before)
    assert.deepEqual(told(await act(service, id, 'undo', { dryRun: true, paths: ['src/other.js'] })), [400, 'REQUEST_INVALID'])
    await act(service, id, 'undo')
    const redo = await act(service, id, 'redo', { dryRun: true })
    assert.deepEqual([redo.json['files'], redo.json['conflicts']], [[{ kind: 'UPDATE_FILE', path: 'src/price.js' }], []])
    await scratch.write('src/price.js', 'mine\n')
    const stays = await act(service, id, 'redo', { dryRun: true })
    assert.deepEqual([stays.json['files'], stays.json['conflicts']], [[], [{ path: 'src/price.js', reason: 'changed' }]])
    assert.equal(await scratch.read('src/price.js'), 'mine\n')
  })

  it('that deletes is shown anew where a file was edited after the question, and nothing is deleted', async t => {
    const scratch = await createScratch(t, DELETING)
    const service = await start(t, scratch)
    const held = await service.post('/api/plans', { goal: 'apply: удали цену', workspace: 'other' })
    assert.deepEqual(told(held), [201, 'failed', 'PATH_NOT_FOUND'])
    const asked = await service.post('/api/plans', { goal: 'apply: удали цену', workspace: 'shop' })
    const [id, digest] = [planOf(asked), String(asked.json['confirm']?.['digest'])]
    await scratch.write('src/price.js', 'mine\n')
    const refused = await act(service, id, 'confirm', { digest })
    assert.deepEqual([...told(refused), refused.json['ok'], refused.json['confirm']?.['deletes']], [200, 'awaiting_confirmation', 'ERR_BASE_CHANGED', false, ['src/price.js']])
    assert.match(String(refused.json['error']), /"src\/price\.js"/)
    assert.equal(await scratch.read('src/price.js'), 'mine\n')
    assert.match(String((await service.get(`/api/plans/${id}/preview`)).json['files']?.['0']?.['diff']), /^-mine$/m)
    assert.deepEqual(told(await act(service, id, 'confirm', { digest })), [409, 'APPROVAL_OUTDATED'])
  })

  it('that deletes a folder names what is in it, and deletes nothing that was put there after the question', async t => {
    const scratch = await createScratch(t, deleting('DELETE_DIR', 'old'))
    const service = await start(t, scratch)
    await scratch.write('old/a.md', 'a\n')
    const asked = await service.post('/api/plans', { goal: 'apply: удали цену', workspace: 'shop' })
    const id = planOf(asked)
    assert.deepEqual(asked.json['confirm']?.['deletes'], ['old/a.md', 'old'])
    await scratch.write('old/mine.md', 'mine\n')
    const refused = await act(service, id, 'confirm', { digest: asked.json['confirm']?.['digest'] })
    assert.deepEqual([...told(refused), refused.json['confirm']?.['deletes']], [200, 'awaiting_confirmation', 'ERR_BASE_CHANGED', ['old/a.md', 'old/mine.md', 'old']])
    assert.equal(await scratch.read('old/mine.md'), 'mine\n')
    assert.deepEqual(told(await act(service, id, 'reject')), [200, 'rejected'])
  })

  it('is looked at page by page, and text by text, also by whoever may approve it while it waits', async t => {
    const scratch = await createScratch(t, deleting('DELETE_DIR', 'old'))
    const service = await start(t, scratch, { API_TOKENS: [tokenEntry('ann', 'run'), tokenEntry('judge', 'approve')].join(',') })
    const long = `${'x'.repeat(1_500_000)}\n`
    for (let n = 0; n < 600; n++) await scratch.write(`old/${String(n).padStart(3, '0')}.md`, n === 7 ? long : `${n}\n`)
    const asked = await service.post('/api/plans', { goal: 'apply: удали цену', workspace: 'shop' }, bearer('ann'))
    const id = planOf(asked)
    assert.deepEqual([asked.json['confirm']?.['deletes']?.['length'], asked.json['confirm']?.['more']], [500, 101])
    const seen: string[] = []
    for (let more = 1; more > 0;) {
      const page = await service.get(`/api/plans/${id}/preview?after=${seen.length}&limit=250`, bearer('judge'))
      assert.equal(page.status, 200)
      const { files, more: left } = page.json as unknown as { files: Array<{ path: string, diff: string, isCut?: boolean, bytes: number }>, more: number }
      for (const { path, diff, isCut, bytes } of files) assert.deepEqual([isCut, bytes > 0], path === 'old' ? [undefined, false] : path === 'old/007.md' ? [true, true] : [undefined, true], `${path} ${diff.slice(0, 40)}`)
      seen.push(...files.map(({ path }) => path))
      more = left
    }
    assert.equal(new Set(seen).size, 601)
    const text = async (query: string) => (await service.get(`/api/plans/${id}/preview?${query}`, bearer('judge'))).json
    const before = await text('path=old/007.md&side=before')
    assert.deepEqual([before['bytes'], String(before['text']).length, before['isCut'], String(before['sha256']).length], [1_500_001, 1024 * 1024, true, 64])
    assert.deepEqual(await text('path=old/007.md') as unknown, { path: 'old/007.md', side: 'after', sha256: null, bytes: 0, text: '' })
    const whole = await text('path=old/007.md&side=diff')
    assert.deepEqual([whole['bytes'], String(whole['text']).includes(`\n-${long}`), whole['isCut']], [1_500_001, true, undefined])
    assert.equal((await text('path=src/price.js&side=before'))['code'], 'REQUEST_INVALID')
    await scratch.write('old/001.md', 'other\n')
    assert.equal((await text('path=old/001.md&side=before'))['isOutdated'], true)

    assert.equal((await service.get(`/api/plans/${id}`, bearer('judge'))).status, 403)
    await act(service, id, 'reject', undefined, bearer('ann'))
    assert.deepEqual(told(await service.get(`/api/plans/${id}/preview`, bearer('judge'))), [404, 'SESSION_NOT_FOUND'])
  })

  it('does not show whoever confirms it what the model has read', async t => {
    const scratch = await createScratch(t, DELETING)
    const service = await start(t, scratch, { API_TOKENS: [tokenEntry('ann', 'run'), tokenEntry('judge', 'approve')].join(',') })
    const id = planOf(await service.post('/api/plans', GOAL, bearer('ann')))
    const held = await act(service, id, 'message', { text: 'apply: удали цену' }, bearer('ann'))
    assert.notEqual(held.json['plan_context'], undefined)
    const confirmed = await act(service, id, 'confirm', { digest: held.json['confirm']?.['digest'] }, bearer('judge'))
    assert.deepEqual([confirmed.status, confirmed.json['plan_context'], confirmed.json['summary']], [200, undefined, 'Удалено.'])
  })

  it('is asked for again as it will be, where a deletion is made again', async t => {
    const scratch = await createScratch(t, DELETING)
    const service = await start(t, scratch)
    const asked = await service.post('/api/plans', { goal: 'apply: удали цену', workspace: 'shop', profile: 'unchecked' })
    const id = planOf(asked)
    await act(service, id, 'confirm', { digest: asked.json['confirm']?.['digest'] })
    await act(service, id, 'undo')
    const again = await act(service, id, 'redo')
    assert.deepEqual([...told(again), again.json['confirm']?.['deletes']], [200, 'awaiting_confirmation', ['src/price.js']])
    const { json: { files } } = await service.get(`/api/plans/${id}/preview`)
    assert.match(String(files?.['0']?.['diff']), /^-export function priceOf/m)
    assert.deepEqual(told(await act(service, id, 'confirm', { digest: again.json['confirm']?.['digest'] })), [200, 'applied'])
  })

  it('that deletes is confirmed as it was shown, by whoever may approve', async t => {
    const scratch = await createScratch(t, DELETING)
    const service = await start(t, scratch, { API_TOKENS: [tokenEntry('ann', 'run'), tokenEntry('judge', 'approve'), tokenEntry('bob', 'run')].join(',') })
    const before = await scratch.tree()
    const held = await service.post('/api/plans', { goal: 'apply: удали цену', workspace: 'shop', profile: 'careful' }, bearer('ann'))
    assert.deepEqual([...told(held), held.json['status'], held.json['confirm']?.['deletes'], await scratch.tree()], [201, 'awaiting_confirmation', 'waiting_approval', ['src/price.js'], before])
    const [id, digest] = [planOf(held), String(held.json['confirm']?.['digest'])]
    assert.match(String((await service.get(`/api/plans/${id}/preview`, bearer('ann'))).json['files']?.['0']?.['diff']), /^-export function priceOf/m)

    assert.deepEqual(told(await act(service, id, 'confirm', { digest }, bearer('ann'))), [403, 'ROLE_MISSING'])
    assert.deepEqual(told(await act(service, id, 'confirm', { digest: 'other' }, bearer('judge'))), [409, 'APPROVAL_OUTDATED'])
    assert.deepEqual(told(await act(service, id, 'message', { text: 'ok' }, bearer('ann'))), [409, 'SESSION_BUSY'])
    assert.deepEqual(told(await act(service, id, 'reject', undefined, bearer('bob'))), [404, 'SESSION_NOT_FOUND'])
    assert.deepEqual(await scratch.tree(), before)
    // The test misses the file, so the change is taken back.
    assert.deepEqual(told(await act(service, id, 'confirm', { digest }, bearer('judge'))), [200, 'failed', 'AUTO_CHECK_FAILED_ROLLED_BACK'])
    assert.deepEqual(await scratch.tree(), before)
    assert.deepEqual(told(await act(service, id, 'confirm', { digest }, bearer('judge'))), [200, 'failed', 'AUTO_CHECK_FAILED_ROLLED_BACK'], 'it counts once')
    assert.deepEqual(told(await act(service, id, 'confirm', { digest: 'other' }, bearer('judge'))), [409, 'SESSION_ENDED'])
  })

  it('that deletes is rejected by its owner', async t => {
    const scratch = await createScratch(t, DELETING)
    const service = await start(t, scratch)
    const before = await scratch.tree()
    const id = planOf(await service.post('/api/plans', { goal: 'apply: удали цену', workspace: 'shop' }))
    assert.deepEqual(told(await act(service, id, 'reject')), [200, 'rejected'])
    assert.deepEqual(await scratch.tree(), before)
  })

  it('is rejected before it is carried out', async () => {
    const service = await planning()
    const id = planOf(await service.post('/api/plans', GOAL))
    assert.deepEqual(told(await act(service, id, 'reject')), [200, 'rejected'])
    assert.deepEqual(told(await act(service, id, 'apply')), [409, 'SESSION_ENDED'])
  })

  const refused: ReadonlyArray<readonly [string, object, number, string]> = [
    ['a workspace that is not offered', { goal: 'x', workspace: 'shpo' }, 404, 'WORKSPACE_NOT_FOUND'],
    ['a workspace that the token does not name', { goal: 'x', workspace: 'other' }, 404, 'WORKSPACE_NOT_FOUND'],
    ['a path as workspace', { goal: 'x', workspace: '/etc' }, 400, 'REQUEST_INVALID'],
    ['a path above', { goal: 'x', workspace: '../shop' }, 400, 'REQUEST_INVALID'],
    ['a path beside the workspace', { goal: 'x', workspace: 'shop', path: '/etc' }, 400, 'REQUEST_INVALID'],
    ['a profile that is not there', { goal: 'x', workspace: 'shop', profile: 'carefull' }, 404, 'DEFINITION_NOT_FOUND'],
    ['a profile that the token does not name', { goal: 'x', workspace: 'shop', profile: 'careful' }, 404, 'DEFINITION_NOT_FOUND'],
    ['a goal without words', { goal: ' ', workspace: 'shop' }, 400, 'REQUEST_INVALID']
  ]
  const narrow = shared(async suite => await start(suite, await createScratch(suite), { API_TOKENS: tokenEntry('ann', 'run:targets=shop:runs=plans.default') }))
  for (const [what, body, status, code] of refused) {
    it(`is not begun with ${what}`, async () => {
      const service = await narrow()
      assert.deepEqual(told(await service.post('/api/plans', body, bearer('ann'))), [status, code])
    })
  }

  it('of another token does not exist, nor does its trace', async t => {
    const service = await start(t, await createScratch(t), { API_TOKENS: [tokenEntry('ann', 'run'), tokenEntry('bob', 'run')].join(',') })
    const id = planOf(await service.post('/api/plans', GOAL, bearer('ann')))
    for (const path of [`plans/${id}`, `plans/${id}/preview`, `traces/${id}`]) assert.deepEqual(told(await service.get(`/api/${path}`, bearer('bob'))), [404, 'SESSION_NOT_FOUND'])
    for (const name of ['apply', 'undo', 'redo', 'reject']) assert.deepEqual(told(await act(service, id, name, undefined, bearer('bob'))), [404, 'SESSION_NOT_FOUND'])
    assert.deepEqual(told(await service.post(`/api/traces/${id}/golden`, undefined, bearer('bob'))), [404, 'SESSION_NOT_FOUND'])
    assert.deepEqual((await service.get('/api/traces', bearer('bob'))).json, { traces: [] })
  })

  it('has what it wants remembered agreed to, and is over when that was all', async t => {
    const scratch = await createScratch(t, REMEMBERING)
    const service = await start(t, scratch)
    const asked = await service.post('/api/plans', { goal: 'apply: запомни тесты', workspace: 'shop' })
    const id = planOf(asked)
    assert.deepEqual([...told(asked), asked.json['memory_patch']], [201, 'planned', { 'project.default_test_command': 'npm test' }])
    assert.deepEqual((await service.get('/api/memory/project?workspace=shop')).json, {})
    assert.deepEqual(told(await act(service, id, 'remember')), [200, 'no_changes'])
    assert.deepEqual((await service.get('/api/memory/project?workspace=shop')).json, { default_test_command: 'npm test' })
    assert.deepEqual(told(await act(service, planOf(await service.post('/api/plans', GOAL)), 'remember')), [409, 'SESSION_BUSY'])
  })

  it('tells what its session remembers', async () => {
    const planned = await (await planning()).post('/api/plans', GOAL)
    const { current_branch: branch, ...rest } = planned.json['session_memory'] as unknown as Record<string, unknown>
    assert.match(String(branch), /^ma/)
    assert.deepEqual(rest, { current_task_goal: 'исправь тест', recent_files: ['src/price.js', 'test/price.test.js'], recent_errors: [] })
  })

  it('changes names that the operator allows in a workspace, and is told the list otherwise', async t => {
    const scratch = await createScratch(t, creating('cmd/main.go'))
    const wide = join(dirname(scratch.path), 'wide.yaml')
    await writeFile(wide, 'workspaces:\n  shop: { path: shop, mayChange: ["*.go", Procfile] }\n')
    for (const [operator, expected] of [[scratch.environment['OPERATOR_FILE'] ?? '', [201, 'failed', 'FORBIDDEN_PATH']], [wide, [201, 'applied']]] as const) {
      const made = await (await start(t, scratch, { OPERATOR_FILE: operator, STATE_DIR: `${operator}.state` })).post('/api/plans', { goal: 'apply: добавь', workspace: 'shop' })
      assert.deepEqual(told(made), expected)
      if (made.json['error'] !== undefined) assert.match(String(made.json['error']), /"cmd\/main\.go" is none of the names that may be changed: \*\.py, .*, README, .*; never \.env, /)
    }
    assert.equal(await scratch.read('cmd/main.go'), 'x\n')
  })

  it('is one thing, its profile another', async () => {
    const service = await planning()
    assert.deepEqual((await service.get('/api/plans')).json, ['careful', 'default', 'unchecked'] as unknown as JsonView)
    assert.equal((await service.get('/api/plans/profiles/careful')).json['id'], 'careful')
  })

  it('writes its trace into its workspace when the operator wants it', async t => {
    const scratch = await createScratch(t)
    const service = await start(t, scratch, { PAPAYU_TRACE: '1', PAPAYU_TRACE_RAW: '1' })
    const planned = await service.post('/api/plans', GOAL)
    await service.app.close()
    const trace = JSON.parse(await scratch.read(`.papa-yu/traces/${String(planned.json['trace_id'])}.json`)) as JsonView
    assert.deepEqual([trace['session'], trace['result']?.['state'], (trace['raw_content'] as unknown as string[]).length], [planOf(planned), 'planned', 2])
  })

  it('has a trace and a golden trace', async t => {
    const service = await start(t, await createScratch(t))
    const planned = await service.post('/api/plans', GOAL)
    const { json: { traces } } = await service.get('/api/traces')
    assert.equal(traces?.['0']?.['trace_id'], planned.json['trace_id'])
    const trace = await service.get(`/api/traces/${String(planned.json['trace_id'])}`)
    assert.deepEqual([trace.json['session'], trace.json['result']?.['state'], trace.json['raw_content']], [planOf(planned), 'planned', undefined])
    assert.equal((trace.json['events'] as unknown as Array<{ event: string }>).at(-1)?.event, 'LLM_PLAN_OK')
    const golden = await service.post(`/api/traces/${planOf(planned)}/golden`)
    assert.deepEqual([golden.status, golden.json['request']?.['provider'], golden.json['result']?.['validation_outcome']], [200, 'builtin', 'ok'])
  })
})
