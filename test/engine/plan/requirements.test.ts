import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { isJsonObject, type Json, type JsonObject } from '../../../src/base/json.ts'
import { judgeReply } from '../../../src/engine/plan/judge-reply.ts'
import { memoryBlock } from '../../../src/engine/plan/messages.ts'
import { DEFAULT_LIMITS, type PlanLimits, routeMode } from '../../../src/engine/plan/plan-setting.ts'
import { type PlanState } from '../../../src/engine/plan/plan-state.ts'
import { memoryIn, readPatch } from '../../../src/files/memory-rules.ts'
import { PLAN_LIMITS } from '../../../src/registry/kinds/plan-kind.ts'
import { PlanSession } from './plan-session.ts'

interface AnswerRow {
  readonly id: string
  readonly mode: 'plan' | 'apply'
  readonly limits?: Partial<PlanLimits>
  readonly answer?: Json
  readonly text?: string
  readonly verdict?: string
  readonly code?: string
  readonly message?: string
  readonly actions?: Json
  readonly asks?: Json
}

interface Requirements {
  readonly answers: readonly AnswerRow[]
  readonly routes: ReadonlyArray<{ readonly id: string, readonly words: string, readonly planned?: boolean, readonly mode: string | null, readonly goal?: string, readonly consent?: boolean }>
  readonly patches: ReadonlyArray<{ readonly id: string, readonly patch: JsonObject, readonly kept: JsonObject }>
}

const { answers, routes, patches } = parse(readFileSync('test/engine/plan/requirements.yaml', 'utf8')) as Requirements

describe('an answer of the model', () => {
  for (const row of answers) {
    it(`fulfils ${row.id}`, () => {
      const judged = judgeReply(row.text ?? JSON.stringify(expand(row.answer ?? null)), stateIn(row))
      if (judged.verdict === 'repair') {
        assert.equal(judged.problem.code, row.code, judged.problem.message)
        assert.ok(judged.problem.message.includes(row.message ?? ''), judged.problem.message)
        return
      }
      assert.equal(judged.verdict, row.verdict)
      if (row.actions !== undefined) assert.deepEqual('reply' in judged ? judged.reply.actions : undefined, row.actions)
      if (row.asks !== undefined) assert.deepEqual('reply' in judged ? judged.reply.requests : undefined, row.asks)
    })
  }
})

describe('words', () => {
  for (const { id, words, planned = false, mode, goal, consent = false } of routes) {
    it(`fulfil ${id}`, () => {
      const routed = routeMode(words, planned)
      assert.deepEqual([routed.mode ?? null, routed.isConsent], [mode, consent])
      if (goal !== undefined) assert.equal(routed.goal, goal)
    })
  }
})

describe('a memory patch', () => {
  for (const { id, patch, kept } of patches) {
    it(`fulfils ${id}`, () => {
      const cleaned = readPatch(patch)
      assert.deepEqual(cleaned.patch, kept)
      assert.deepEqual(cleaned.refused.map(({ name }) => name).toSorted(), Object.keys(patch).filter(name => !Object.hasOwn(kept, name)).toSorted())
    })
  }
})

describe('memory', () => {
  it('P-36 has only fields that are there', () => {
    assert.equal(memoryBlock(memoryIn({}, { src_roots: [] })), '')
    assert.match(memoryBlock(memoryIn({ ask_budget: 0 }, {})), /^ENGINEERING_MEMORY .*\n\{"user":\{"ask_budget":0\}\}\n\nUse /)
  })

  it('X6 knows the names of the older form, and prefers its own', () => {
    const old = { preferred_style: 'коротко, по делу', default_language: 'python', test_command: 'pytest -q', lint_command: 'ruff check .', format_command: 'ruff format .', project_root_hint: 'src/' }
    assert.deepEqual(memoryIn(old, { default_lint_command: 'own' }), { user: { default_language: 'python' }, project: { default_test_command: 'pytest -q', default_lint_command: 'own', default_format_command: 'ruff format .' } })
  })

  it('X8 is at most 12 KiB long', () => {
    const block = memoryBlock(memoryIn({ ask_budget: 1 }, { src_roots: Array.from({ length: 20 }, () => 'x'.repeat(1000)), build_command: 'make' }))
    assert.match(block, /\{"user":\{"ask_budget":1\},"project":\{"build_command":"make"\}\}/)
  })
})

describe('the requirements', () => {
  it('have a row each', () => {
    const ids = new Set([...answers, ...routes, ...patches].map(({ id }) => id.split(' ')[0]))
    for (const id of ['P-02', 'P-03', 'P-05', 'P-10', 'P-11', 'P-12', 'P-14', 'P-16', 'P-17', 'P-18', 'P-20', 'P-21', 'P-23', 'P-24', 'P-26', 'P-33', 'P-34', 'P-37', 'X1', 'X2', 'X3', 'X4', 'X5', 'X10', 'X13', 'X17', 'X18']) assert.ok(ids.has(id), id)
  })

  it('have an answer for every code', () => {
    const codes = ['ERR_JSON_EXTRACT', 'ERR_JSON_PARSE', 'ERR_SCHEMA_VALIDATION', 'ERR_PLAN_NONEMPTY_ACTIONS', 'ERR_PLAN_EMPTY_SUMMARY', 'ERR_APPLY_EMPTY_ACTIONS', 'ERR_UPDATE_WITHOUT_BASE', 'ERR_INVALID_PATH', 'ERR_PATH_TOO_LONG', 'ERR_TOO_MANY_ACTIONS', 'ERR_CONTENT_REQUIRED', 'ERR_CONTENT_TOO_LARGE', 'ERR_ACTION_CONFLICT', 'ERR_PSEUDO_BINARY', 'PROTECTED_PATH', 'FORBIDDEN_PATH']
    assert.deepEqual(new Set(answers.flatMap(({ code }) => code ?? [])), new Set(codes))
  })

  it('have unique names', () => {
    const ids = [...answers, ...routes, ...patches].map(({ id }) => id)
    assert.deepEqual(ids.filter((id, index) => ids.indexOf(id) !== index), [])
  })

  it('name the limits that profiles may tighten', () => {
    const { properties } = JSON.parse(readFileSync('jsonschema/plan.json', 'utf8')) as { properties: { limits: { properties: object } } }
    assert.deepEqual(Object.keys(properties.limits.properties), [...PLAN_LIMITS])
    assert.deepEqual(Object.keys(DEFAULT_LIMITS), [...PLAN_LIMITS])
  })
})

function stateIn ({ mode, limits = {} }: AnswerRow): PlanState {
  const setting = { limits: { ...DEFAULT_LIMITS, ...limits } }
  if (mode === 'plan') return new PlanSession('plan: x', { setting }).state
  return new PlanSession('plan: x', { setting, files: { 'src/app.ts': 'x' } }).answer({ context_requests: [{ type: 'read_file', path: 'src/app.ts' }] }).answer({ summary: 'x' }).say('ok').state
}

/** A value with what its short forms stand for. */
function expand (value: Json): Json {
  if (Array.isArray(value)) return value.map((each: Json) => expand(each))
  if (!isJsonObject(value)) return value
  const { repeat, each } = value
  if (Array.isArray(repeat)) return String(repeat[0]).repeat(Number(repeat[1]))
  if (Array.isArray(each)) return Array.from({ length: Number(each[0]) }, (_, index) => JSON.parse(JSON.stringify(expand(each[1] as Json)).replaceAll('#', String(index))) as Json)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, expand(member)]))
}
