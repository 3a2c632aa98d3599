import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readPlanLine } from '../../src/cli/dialogue-commands.ts'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { createScratch, DELETING, deleting, isGreen, PAPAYU, REMEMBERING } from '../plans/scratch.ts'

const GOAL = ['plan', 'plan: исправь тест', '--workspace', 'shop']

const lines: ReadonlyArray<readonly [string, ReturnType<typeof readPlanLine>]> = [
  ['ok', { text: 'ok' }],
  ['undo', { action: { name: 'undo', data: {} } }],
  [' Redo: a.ts b/c.ts ', { action: { name: 'redo', data: { paths: 'a.ts b/c.ts' } } }],
  ['reject', { action: { name: 'reject', data: {} } }],
  [' Запомни ', { action: { name: 'remember', data: {} } }],
  ['commit', { action: { name: 'commit', data: {} } }],
  ['Commit: mend a', { action: { name: 'commit', data: { message: 'mend a' } } }],
  ['committee', { text: 'committee' }],
  ['remember the tests', { text: 'remember the tests' }],
  ['undo the last thing', { text: 'undo the last thing' }]
]

describe('a line of aps plan', () => {
  for (const [line, said] of lines) it(`${JSON.stringify(line)} is ${JSON.stringify(said)}`, () => { assert.deepEqual(readPlanLine(line), said) })
})

describe('aps plan', () => {
  it('shows the diagnosis and the diff, applies, checks, and undoes byte for byte', async t => {
    const scratch = await createScratch(t)
    const before = await scratch.tree()
    const applied = await runApsHere([...GOAL, '--verbose'], scratch.environment, 'ok\n')
    assert.equal(applied.code, 0)
    assert.match(applied.stdout, /^Диагноз: скидка[^]*\n--- a\/src\/price\.js\n\+\+\+ b\/src\/price\.js\n@@ [^]*\n\+ {2}const discount = pieces >= 10/)
    assert.ok(!applied.stdout.includes('\x1b'))
    assert.match(applied.stderr, /^applied: UPDATE_FILE src\/price\.js$[^]*^check test: passed$/m)
    assert.match(applied.stderr, /^debug \[[0-9a-f-]{36}\] APPLY_SUCCESS files=1 checks=1$/m)
    assert.ok(await isGreen(scratch))
    const after = await scratch.tree()

    const undone = await runApsHere(['plan', '--resume'], scratch.environment, 'undo\n')
    assert.deepEqual([undone.code, await scratch.tree()], [0, before])
    await runApsHere(['plan', '--resume'], scratch.environment, 'redo: src/price.js\n')
    assert.deepEqual(await scratch.tree(), after)
  })

  it('ends with 1 when its input ends before it is applied or confirmed, and says how to go on', async t => {
    for (const [scratch, goal] of [[await createScratch(t), GOAL], [await createScratch(t, DELETING), ['plan', 'apply: удали цену', '--workspace', 'shop']]] as const) {
      const { code, stderr } = await runApsHere(goal, scratch.environment, '')
      assert.equal(code, 1)
      assert.match(stderr, /\naps: the session waits for an answer; to go on: aps plan --resume [0-9a-f]{32} --local\n$/)
    }
  })

  it('ends with 1 where a file has changed meanwhile, with nothing written', async t => {
    const scratch = await createScratch(t)
    await runApsHere(GOAL, scratch.environment, '')
    await scratch.write('src/price.js', 'mine\n')
    const before = await scratch.tree()
    const { code, stderr } = await runApsHere(['plan', '--resume'], scratch.environment, 'ok\n')
    assert.equal(code, 1)
    assert.match(stderr, /^ERR_BASE_CHANGED: /m)
    assert.deepEqual(await scratch.tree(), before)
  })

  it('asks before it deletes, of a service too', async t => {
    const scratch = await createScratch(t, DELETING)
    const { STORE_DIR: _store, ...environment } = scratch.environment
    const service = await startService(t, { 'plans:default': PAPAYU }, environment)
    const url = await service.listen()
    const before = await scratch.tree()
    for (const place of [scratch.environment, { APS_URL: url }]) {
      const { code, stdout, stderr } = await runApsHere(['plan', 'apply: удали цену', '--workspace', 'shop'], place, 'n\n')
      assert.equal(code, 0)
      assert.match(stdout, /^-export function priceOf/m)
      assert.match(stderr, /deletions are approved one by one: DELETE_FILE src\/price\.js; allow it\? y or n/)
      assert.deepEqual(await scratch.tree(), before)
    }
  })

  it('shows all that goes before it asks, also when it is gone on with, of a service too', async t => {
    const scratch = await createScratch(t, deleting('DELETE_DIR', 'old'))
    const long = Array.from({ length: 3000 }, (_, n) => `line ${n}`).join('\n')
    for (let n = 0; n < 600; n++) await scratch.write(`old/${n}.md`, n === 7 ? long : `text of ${n}\n`)
    const { STORE_DIR: _store, ...environment } = scratch.environment
    const url = await (await startService(t, { 'plans:default': PAPAYU }, { ...environment, STATE_DIR: `${scratch.path}/../served` })).listen()
    for (const place of [scratch.environment, { APS_URL: url }]) {
      const begun = await runApsHere(['plan', 'apply: удали цену', '--workspace', 'shop'], place, '')
      const resumed = await runApsHere(['plan', '--resume'], place, 'n\n')
      for (const { stdout, stderr } of [begun, resumed]) {
        for (let n = 0; n < 600; n++) assert.ok(stdout.includes(n === 7 ? '\n-line 2999\n' : `\n-text of ${n}\n`), String(n))
        assert.match(stderr, /deletions are approved one by one: DELETE_FILE old\/0\.md, .* and 551 more, 601 in all; allow it\? y or n/)
      }
      assert.match(begun.stderr, /^101 more files are not shown here$/m)
      assert.equal(await scratch.read('old/599.md'), 'text of 599\n')
    }
  })

  it('says what an undo has left alone, and ends with 1', async t => {
    const scratch = await createScratch(t)
    await runApsHere(GOAL, scratch.environment, 'ok\n')
    await scratch.write('src/price.js', 'mine\n')
    const { code, stderr } = await runApsHere(['plan', '--resume'], scratch.environment, 'undo\n')
    assert.equal(code, 1)
    assert.match(stderr, /^not undone: src\/price\.js \(changed\)$/m)
    assert.equal(await scratch.read('src/price.js'), 'mine\n')
  })

  it('remembers what was shown when its user agrees', async t => {
    const scratch = await createScratch(t, REMEMBERING)
    const { code, stderr } = await runApsHere(['plan', 'apply: запомни тесты', '--workspace', 'shop'], scratch.environment, 'запомни\n')
    assert.equal(code, 0)
    assert.match(stderr, /^to be remembered: \{"project\.default_test_command":"npm test"\}; "remember" agrees to it$[^]*^remembered: /m)
    assert.match(await scratch.read('.papa-yu/project.json'), /npm test/)
  })

  it('asks in words before it deletes again', async t => {
    const scratch = await createScratch(t, deleting('DELETE_FILE', 'src/mine.js'))
    await scratch.write('src/mine.js', 'mine\n')
    await runApsHere(['plan', 'apply: удали цену', '--workspace', 'shop', '--profile', 'careless'], scratch.environment, 'y\nundo\n')
    assert.equal(await scratch.read('src/mine.js'), 'mine\n')
    const { stdout, stderr } = await runApsHere(['plan', '--resume', '--profile', 'careless'], scratch.environment, 'redo\nn\n')
    assert.match(stdout, /^-mine$/m)
    assert.match(stderr, /: DELETE_FILE src\/mine\.js; allow it\? y or n/)
    assert.equal(await scratch.read('src/mine.js'), 'mine\n')
  })

  it('ends with 1 when a check fails, and the change is taken back', async t => {
    const scratch = await createScratch(t, DELETING)
    const before = await scratch.tree()
    const { code, stderr } = await runApsHere(['plan', 'apply: удали цену', '--workspace', 'shop'], scratch.environment, 'y\n')
    assert.equal(code, 1)
    assert.match(stderr, /^check test: failed$/m)
    assert.match(stderr, /^AUTO_CHECK_FAILED_ROLLED_BACK: /m)
    assert.deepEqual(await scratch.tree(), before)
  })

  const refused: ReadonlyArray<readonly [string, readonly string[], number]> = [
    ['without a goal', ['plan', '--workspace', 'shop'], 2],
    ['without a workspace', ['plan', 'x'], 2],
    ['with another mode', ['plan', 'x', '--workspace', 'shop', '--mode', 'write'], 2],
    ['with a report that is not there', ['plan', 'x', '--workspace', 'shop', '--report', '/nowhere'], 2],
    ['for a workspace that is not offered', ['plan', 'x', '--workspace', 'nowhere'], 1]
  ]
  for (const [what, args, code] of refused) {
    it(`ends with ${code} ${what}`, async t => {
      const { environment } = await createScratch(t)
      assert.equal((await runApsHere(args, environment, '')).code, code)
    })
  }
})
