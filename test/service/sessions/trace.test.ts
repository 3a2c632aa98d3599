import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { traceIdOf } from '../../../src/service/sessions/kind-table.ts'
import { maskSecrets } from '../../../src/base/redact.ts'
import { goldenOf, maskJson, sessionOfTrace, traceOf } from '../../../src/service/sessions/traces.ts'
import { PlanSession } from '../../engine/plan/plan-session.ts'

const masks: ReadonlyArray<readonly [string, string]> = [
  ['key sk-proj-a_1-B2 here', 'key __REDACTED_API_KEY__ here'],
  ['SK-ABC', '__REDACTED_API_KEY__'],
  ['Authorization: Bearer eyJ.a-b_c/d+e==', 'Authorization: __REDACTED_BEARER__'],
  ['{"a":"bearer  x"}', '{"a":"__REDACTED_BEARER__"}'],
  ['Bearer\nsk-1', '__REDACTED_BEARER__'],
  ['a task-list, risk-free', 'a task-list, risk-free']
]

describe('a masked text', () => {
  for (const [text, expected] of masks) it(`is ${JSON.stringify(expected)} of ${JSON.stringify(text)}`, () => { assert.equal(maskSecrets(text), expected) })

  it('is masked wherever it is in a value', () => {
    assert.deepEqual(maskJson({ 'sk-1': ['Bearer x', { a: 'sk-2', b: 3, c: null }] }), { __REDACTED_API_KEY__: ['__REDACTED_BEARER__', { a: '__REDACTED_API_KEY__', b: 3, c: null }] })
  })
})

const SECRET = 'sk-canary-1234'
const CONTENT = 'the content of a file'

/** A plan that was carried out, with a secret wherever one may be. */
function applied (): PlanSession {
  const plan = new PlanSession(`plan: исправь ${SECRET}`, { files: { 'a.ts': CONTENT }, input: { report: `Bearer ${SECRET}` } })
  plan.answer({ context_requests: [{ type: 'read_file', path: 'a.ts' }, { type: 'search', query: SECRET }] }).answer({ actions: [], summary: `use ${SECRET}` })
  return plan.say('ok').answer({ actions: [{ kind: 'UPDATE_FILE', path: 'a.ts', content: `${CONTENT} Bearer abc` }], summary: 'done' }).apply()
}

describe('the trace of a plan', () => {
  it('has its configuration, statistics, events and result', () => {
    const { dialogue } = applied()
    const trace = traceOf(dialogue.session, dialogue.log, false)
    assert.deepEqual([trace.config_snapshot['schema_version'], trace.config_snapshot['schema_hash'], trace.config_snapshot['strict_json']], [1, 'abc', false])
    assert.deepEqual(trace.context_stats, { context_files_count: 2, context_files_dropped_count: 0, context_total_chars: 89, context_logs_chars: 0, context_truncated_files_count: 0 })
    assert.deepEqual(trace.cache_stats, { env_hits: 0, env_misses: 0, logs_hits: 0, logs_misses: 0, read_hits: 0, read_misses: 1, search_hits: 0, search_misses: 1, hit_rate: 0 })
    assert.deepEqual(trace.events.map(({ event }) => event), ['LLM_REQUEST_SENT', 'LLM_RESPONSE_OK', 'CONTEXT_CACHE_MISS', 'CONTEXT_CACHE_MISS', 'LLM_REQUEST_SENT', 'LLM_RESPONSE_OK', 'LLM_PLAN_OK', 'LLM_REQUEST_SENT', 'LLM_RESPONSE_OK', 'LLM_PLAN_OK', 'PREVIEW_READY', 'APPLY_SUCCESS'])
    assert.deepEqual(trace.result, { ok: true, state: 'applied', mode: 'apply', error_code: null, actions: [{ kind: 'UPDATE_FILE', path: 'a.ts' }], applied: [{ kind: 'UPDATE_FILE', path: 'a.ts' }], undone: [] })
  })

  it('has neither contents nor secrets', () => {
    const { dialogue } = applied()
    const text = JSON.stringify(traceOf(dialogue.session, dialogue.log, false))
    for (const hidden of [SECRET, CONTENT, 'исправь', 'use ']) assert.ok(!text.includes(hidden), hidden)
  })

  it('has what the model answered when the operator wants it, masked', () => {
    const { dialogue } = applied()
    const { raw_content: raw = [] } = traceOf(dialogue.session, dialogue.log, true)
    assert.equal(raw.length, 3)
    assert.match(raw[1] ?? '', /use __REDACTED_API_KEY__/)
    assert.match(raw[2] ?? '', /the content of a file __REDACTED_BEARER__/)
  })

  it('has the id of its session as a UUID', () => {
    const session = '0123456789abcdef0123456789abcdef'
    assert.equal(traceIdOf(session), '01234567-89ab-cdef-0123-456789abcdef')
    assert.equal(sessionOfTrace(traceIdOf(session).toUpperCase()), session)
  })
})

describe('a golden trace', () => {
  it('is what went in and what came out, in the form of the protocol', () => {
    const { dialogue } = applied()
    const golden = goldenOf(dialogue.session, dialogue.log, 'builtin')
    const { input_chars: chars, ...request } = golden.request
    assert.ok(Number(chars) > 1000)
    assert.deepEqual({ ...golden, request }, {
      protocol: { schema_version: 1, schema_hash: 'abc' },
      request: { mode: 'apply', token_budget: 16384, strict_json: false, provider: 'builtin', model: null },
      context: golden.context,
      result: { validated_json: { actions: [{ kind: 'UPDATE_FILE', path: 'a.ts', content: 'the content of a file __REDACTED_BEARER__' }], summary: 'done' }, validation_outcome: 'ok', error_code: null }
    })
  })

  it('has the code of what was refused', () => {
    const bad = { actions: [{ kind: 'CREATE_FILE', path: '.env', content: 'x' }], summary: 'x' }
    const { dialogue } = new PlanSession('apply: создай .env').answer(bad).answer(bad)
    assert.deepEqual(goldenOf(dialogue.session, dialogue.log, 'builtin').result, { validated_json: bad, validation_outcome: 'error', error_code: 'PROTECTED_PATH' })
  })
})
