import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { createScratch, isGreen, type Scratch } from '../plans/scratch.ts'

const GOAL = ['plan', 'plan: fix the test', '--workspace', 'shop', '--profile', 'careful']

/** A scratch whose profile `careful` has the defaults of schema 2, in a language. */
async function create (t: Parameters<typeof createScratch>[0], replies = ''): Promise<Scratch> {
  return await createScratch(t, replies, { careful: {}, anxious: { confirm: 'deletions' } })
}

/** A model that creates more files than one event shows. */
const MANY = `
- system: mode apply
  last: many files
  reply: '${JSON.stringify({ actions: [{ kind: 'CREATE_FILE', path: 'long.md', content: Array.from({ length: 3000 }, (_, n) => `line ${n}\n`).join('') }, ...Array.from({ length: 190 }, (_, n) => ({ kind: 'CREATE_FILE', path: `many/${n}.md`, content: `text of ${n} ${'x'.repeat(1500)}\n` }))], summary: 'Many.' }).replaceAll("'", "''")}'
`

/** A model whose edits never pass the check. */
const FAILS = `
- system: mode apply
  last: ['FILE[src/price.js]', 'pieces > 10']
  reply: '{ "actions": [{ "kind": "EDIT_FILE", "path": "src/price.js", "edits": [{ "search": "pieces > 10", "replace": "pieces > 11" }] }], "summary": "One." }'
- system: mode apply
  last: 'FILE[src/price.js]'
  reply: '{ "actions": [{ "kind": "EDIT_FILE", "path": "src/price.js", "edits": [{ "search": "pieces > 11", "replace": "pieces > 12" }] }], "summary": "Two." }'
`

describe('aps plan of schema 2', () => {
  it('writes a diff when its user agrees, in either language, and undoes it', async t => {
    for (const consent of ['ok', 'да']) {
      const scratch = await create(t)
      const before = await scratch.tree()
      const { code, stdout, stderr } = await runApsHere(GOAL, scratch.environment, `ok\n${consent}\nundo\n`)
      assert.equal(code, 0, stderr)
      assert.match(stdout, /^Diagnosis: [^]*^\+ {2}const discount = pieces >= 10[^]*^This is the change\. ok writes it/m)
      assert.match(stderr, /^check test: passed$[^]*^undone: UPDATE_FILE src\/price\.js$/m)
      assert.deepEqual(await scratch.tree(), before)
    }
  })

  it('ends with 1 where its input ends while a diff waits, and shows it again when it is gone on with', async t => {
    const scratch = await create(t)
    const { STORE_DIR: _store, ...environment } = scratch.environment
    const url = await (await startService(t, { 'plans:careful': {} }, { ...environment, STATE_DIR: `${scratch.path}/../served` })).listen()
    const before = await scratch.tree()
    for (const place of [scratch.environment, { APS_URL: url }]) {
      const left = await runApsHere(GOAL, place, 'ok\n')
      assert.equal(left.code, 1)
      assert.match(left.stderr, /\naps: the session waits for an answer; to go on: aps plan --resume [0-9a-f]{32}(?: --local)?\n$/)
      assert.deepEqual(await scratch.tree(), before)
      const resumed = await runApsHere(['plan', '--resume', '--profile', 'careful'], place, 'ok\nundo\n')
      assert.equal(resumed.code, 0, resumed.stderr)
      assert.match(resumed.stdout, /^\+ {2}const discount = pieces >= 10/m)
      assert.match(resumed.stderr, /^ok writes it, reject drops it, other words change it$[^]*^applied: UPDATE_FILE src\/price\.js$/m)
    }
  })

  it('shows all of a long diff before it asks', async t => {
    const scratch = await create(t, MANY)
    const { code, stdout } = await runApsHere(['plan', 'apply: many files', '--workspace', 'shop', '--profile', 'careful'], scratch.environment, '')
    assert.equal(code, 1)
    assert.match(stdout, /^\+line 2999$/m)
    for (let n = 0; n < 190; n++) assert.ok(stdout.includes(`\n+text of ${n} x`), String(n))
  })

  it('mends a failing check unasked with --yes', async t => {
    const scratch = await create(t)
    const { code, stdout, stderr } = await runApsHere(['plan', '--fix', 'test', '--workspace', 'shop', '--profile', 'careful', '--yes'], scratch.environment, '')
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^check test: failed$[^]*^check test: passed$/m)
    assert.match(stdout, /^\+ {2}const discount = pieces >= 10/m)
    assert.ok(await isGreen(scratch))
  })

  it('asks before it deletes, also with --yes', async t => {
    const scratch = await create(t, '- system: mode apply\n  last: delete\n  reply: \'{ "actions": [{ "kind": "DELETE_FILE", "path": "src/price.js" }], "summary": "Gone." }\'\n')
    const before = await scratch.tree()
    const { code, stderr } = await runApsHere(['plan', 'apply: delete it', '--workspace', 'shop', '--profile', 'careful', '--yes'], scratch.environment, '')
    assert.equal(code, 1)
    assert.match(stderr, /deletions are approved one by one: DELETE_FILE src\/price\.js; allow it\? y or n/)
    assert.deepEqual(await scratch.tree(), before)
  })

  it('stops at each diff with --confirm diff, whatever the profile says', async t => {
    const scratch = await create(t)
    const goal = ['plan', 'plan: fix the test', '--workspace', 'shop', '--profile', 'anxious']
    assert.equal((await runApsHere([...goal, '--confirm', 'diff'], scratch.environment, 'ok\n')).code, 1)
    assert.equal((await runApsHere(goal, scratch.environment, 'ok\n')).code, 0)
  })

  it('takes back all rounds of a check that still fails, and ends with 1', async t => {
    const scratch = await create(t, FAILS)
    const before = await scratch.tree()
    const { code, stdout, stderr } = await runApsHere(['plan', '--fix', 'test', '--workspace', 'shop', '--profile', 'careful', '--yes'], scratch.environment, '')
    assert.equal(code, 1)
    assert.match(stdout, /^test failed; attempt 1 of 3\.$[^]*^test still fails\. The change was taken back\.$/m)
    assert.match(stderr, /\naps: the last turn has failed: \w+; to go on: /)
    assert.deepEqual(await scratch.tree(), before)
  })

  it('asks before it commits, also with --yes', async t => {
    const scratch = await create(t)
    const git = (...words: string[]): string => execFileSync('git', ['-C', scratch.path, '-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...words], { encoding: 'utf8' })
    git('config', 'user.name', 'Ann')
    git('config', 'user.email', 'ann@example.com')
    git('add', '.')
    git('commit', '--quiet', '-m', 'First')
    await writeFile(scratch.environment['OPERATOR_FILE'] as string, 'workspaces:\n  shop: { path: shop, checks: { test: node test/price.test.js }, commit: true }\n')
    const fix = ['plan', '--fix', 'test', '--workspace', 'shop', '--profile', 'careful', '--yes']
    const left = await runApsHere(fix, scratch.environment, 'commit Mend the price\n')
    assert.equal(left.code, 1)
    assert.match(left.stderr, /commits are approved one by one: commit src\/price\.js\nMend the price\n; allow it\? y or n/)
    const { code, stdout, stderr } = await runApsHere(['plan', '--resume', '--profile', 'careful', '--yes'], scratch.environment, 'y\nundo\n')
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^Committed [0-9a-f]{10}\.\nThe commit [0-9a-f]{10} stays; git revert takes it back\.$/m)
    assert.equal(git('log', '-1', '--format=%s').trim(), 'Mend the price')
  })

  it('needs a goal, or a check', async t => {
    const { environment } = await create(t)
    assert.equal((await runApsHere(['plan', '--workspace', 'shop'], environment, '')).code, 2)
    assert.equal((await runApsHere(['plan', '--fix', 'lint', '--workspace', 'shop'], environment, '')).code, 2)
  })
})
