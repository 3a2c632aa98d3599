import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { SCENARIOS } from '../../scripts/golden-scenarios.ts'
import { SCENARIOS_2 } from '../../scripts/golden-scenarios-2.ts'
import { runScenario } from '../../scripts/run-scenario.ts'
import { type Json } from '../../src/base/json.ts'
import { checkGolden, protocolOfNow } from '../../scripts/check-golden.ts'
import { type Golden } from '../../src/service/sessions/traces.ts'

const FOLDER = 'docs/golden_traces'

const read = (path: string): Json => JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8')) as Json

describe('the golden traces', () => {
  for (const version of readdirSync(FOLDER)) {
    for (const file of readdirSync(`${FOLDER}/${version}`)) {
      it(`of ${version}/${file} are valid, and are judged as they were`, () => { assert.deepEqual(checkGolden(read(`${version}/${file}`)), []) })
    }
  }

  for (const [version, scenarios] of [[1, SCENARIOS], [2, SCENARIOS_2]] as const) {
    const folder = `v${protocolOfNow(version).schema_version}`
    for (const [name, scenario] of Object.entries(scenarios)) {
      it(`of ${folder}/${name} come out again when its scenario is run`, async () => { assert.deepEqual(await runScenario(scenario), read(`${folder}/${name}.json`)) })
    }
  }

  it('of schema 2 are of their scenarios', () => {
    const outcomes = Object.keys(SCENARIOS_2).map(name => {
      const { result: { state, error_code: code, mended, check_rounds: rounds } } = read(`v2/${name}.json`) as unknown as Golden
      return [state, code, mended, rounds]
    })
    assert.deepEqual(outcomes, [
      ['applied', null, [], 0],
      ['applied', null, ['ERR_EDIT_NOT_FOUND'], 0],
      ['applied', null, ['ERR_EDIT_AMBIGUOUS'], 0],
      ['applied', null, ['ERR_UPDATE_PARTIAL'], 0],
      ['applied', null, [], 1],
      ['undone', 'AUTO_CHECK_FAILED_ROLLED_BACK', ['AUTO_CHECK_FAILED_ROLLED_BACK'], 1],
      ['applied', null, ['ERR_BASE_CHANGED'], 0],
      ['applied', null, [], 0],
      ['applied', null, [], 1],
      ['applied', null, [], 0]
    ])
  })

  it('are of their scenarios', () => {
    const outcomes = Object.keys(SCENARIOS).map(name => {
      const { request: { mode }, result: { error_code: code }, context: { context_stats: stats } } = read(`v1/${name}.json`) as unknown as Golden
      return [mode, code, (stats as Record<string, number>)['context_truncated_files_count']]
    })
    assert.deepEqual(outcomes, [['plan', null, 0], ['apply', null, 0], ['apply', null, 0], ['apply', 'PROTECTED_PATH', 0], ['apply', 'ERR_UPDATE_WITHOUT_BASE', 0], ['plan', null, 3], ['apply', null, 0]])
  })
})

describe('a golden trace is refused', () => {
  const good = read('v1/002_fix_bug_apply.json') as unknown as Golden
  const now = protocolOfNow()
  const refused: ReadonlyArray<readonly [string, unknown, RegExp]> = [
    ['without its form', { ...good, more: 1 }, /golden\.more is not expected/],
    ['with a mode that there is not', { ...good, request: { ...good.request, mode: 'chat' } }, /golden\.request\.mode must be/],
    ['whose answer is good no more', { ...good, result: { ...good.result, validated_json: { actions: [{ kind: 'DELETE_FILE', path: '.env' }], summary: 'x' } } }, /it was good, and is PROTECTED_PATH now/],
    ['whose answer has another fault', { ...good, result: { validated_json: { actions: [], summary: 'x' }, validation_outcome: 'error', error_code: 'PROTECTED_PATH' } }, /it was PROTECTED_PATH, and is ERR_APPLY_EMPTY_ACTIONS now/]
  ]
  for (const [what, golden, expected] of refused) it(what, () => { assert.match(checkGolden(golden as Json).join(), expected) })

  it('when the schema has changed without a new version', () => {
    const changed = { ...now, schema_hash: '0'.repeat(64) }
    assert.match(checkGolden(good as unknown as Json, changed).join(), /has changed, and is still version 1: raise its x_schema_version/)
    assert.deepEqual(checkGolden(good as unknown as Json, { ...changed, schema_version: 2 }), [])
  })
})
