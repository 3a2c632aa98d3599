import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { autoContext, type ContextBlock, LEAST_OF_A_FILE, MARK, SECTIONS, writeContext } from '../../../src/engine/plan/messages.ts'
import { parsePlan } from '../../../src/engine/plan/parse-plan.ts'
import { DEFAULT_LIMITS } from '../../../src/engine/plan/plan-setting.ts'
import { validateActions } from '../../../src/files/change/change-rules.ts'
import { DEFAULT_WHITELIST, isProtected, normalisePath } from '../../../src/files/path-rules.ts'
import { ENDED, type Fact } from '../../../src/session/model.ts'
import { cpuTimeOf } from '../../helpers/cpu-time.ts'
import { approved } from '../../session/approve.ts'
import { answerWith } from '../dialogue.ts'
import { PlanSession } from './plan-session.ts'
import { property } from '../../helpers/property.ts'

const names = fc.constantFrom('actions', 'proposed_changes', 'summary', 'context_requests', 'memory_patch', 'kind', 'path', 'content', 'type', 'query', '__proto__', 'toString')
const words = fc.oneof(fc.constantFrom('CREATE_FILE', 'UPDATE_FILE', 'DELETE_FILE', 'DELETE_DIR', 'CREATE_DIR', 'src/app.ts', 'a.ts', 'src', '../x', '.env', 'NO_CHANGES: x', 'read_file', 'env', 'search', 'logs'), fc.string({ maxLength: 5 }))
const { json } = fc.letrec(tie => ({
  json: fc.oneof({ maxDepth: 4 }, words, fc.integer(), fc.constant(null), fc.array(tie('json'), { maxLength: 3 }), fc.dictionary(names, tie('json'), { maxKeys: 5 }))
}))

const action = fc.record({ kind: fc.constantFrom('CREATE_FILE', 'CREATE_DIR', 'UPDATE_FILE', 'DELETE_FILE', 'DELETE_DIR'), path: fc.constantFrom('src/app.ts', 'a.ts', 'src', 'b/c.md', '../x', '.env'), content: fc.constant('x') })
const request = fc.oneof(
  fc.record({ type: fc.constant('read_file'), path: fc.constantFrom('src/app.ts', 'a.ts', '.env', '/x') }),
  fc.constantFrom<Json>({ type: 'env' }, { type: 'search', query: 'x' }, { type: 'logs', source: 'a' })
)
const reply = fc.record({ actions: fc.array(action, { maxLength: 3 }), summary: fc.constantFrom('', 'x', 'NO_CHANGES: x'), context_requests: fc.array(request, { maxLength: 3 }), memory_patch: fc.constantFrom<Json>({}, { 'user.ask_budget': 1 }) }, { requiredKeys: [] })

describe('parsePlan', () => {
  property('throws at nothing', 3000, given => {
    const fenced = fc.tuple(fc.constantFrom('', '```json\n', '```\n', 'x '), json, fc.constantFrom('', '\n```', ' y')).map(([before, value, after]) => before + JSON.stringify(value) + after)
    const cut = fc.tuple(fenced, fc.nat(100)).map(([text, length]) => text.slice(0, length))
    given.holds(fc.property(fc.oneof(fenced, cut, fc.string()), text => { parsePlan(text, 2) }))
  })
})

describe('validateActions', () => {
  property('lets through only paths in their one form that nobody protects', 2000, given => {
    const paths = fc.array(fc.constantFrom('a', '..', '.', '/', '\\', '.env', 'secrets', 'x.ts', '~', 'C:'), { maxLength: 5 }).map(parts => parts.join(''))
    const actions = fc.array(fc.record({ kind: fc.constantFrom('CREATE_FILE' as const, 'CREATE_DIR' as const, 'DELETE_FILE' as const, 'DELETE_DIR' as const), path: paths, content: fc.constant('x') }), { maxLength: 3 })
    given.holds(fc.property(actions, given => {
      const taken = validateActions(given, DEFAULT_LIMITS, DEFAULT_WHITELIST)
      if ('code' in taken) return
      for (const { path } of taken) {
        assert.deepEqual(normalisePath(path), { path })
        assert.ok(!isProtected(path))
      }
    }))
  })
})

describe('autoContext', () => {
  property('names only paths in their one form, a bounded number of them', 100, given => {
    const frame = fc.tuple(fc.constantFrom('File "', 'at (', '--> ', ' '), fc.constantFrom('/home/x/a.py', 'C:\\x\\a.ts', '../../etc/passwd.x', 'src/a.rs', '~/x.go', '/a/node_modules/b.js'), fc.constantFrom('", line ', ':'), fc.nat(1000)).map(parts => parts.join(''))
    given.holds(fc.property(fc.array(fc.oneof(frame, fc.string()), { maxLength: 40 }), parts => {
      const requests = autoContext('Traceback', parts.join('\n')).flatMap(each => each.requests)
      assert.ok(requests.length <= 60)
      for (const { path } of requests) if (typeof path === 'string') assert.deepEqual(normalisePath(path), { path })
    }))
  })

  it('is quick with what looks like a path without end', () => {
    const texts = ['a.'.repeat(100_000), 'a:'.repeat(100_000), 'File "'.repeat(40_000), '/'.repeat(200_000)]
    assert.ok(cpuTimeOf(() => { for (const text of texts) autoContext('Exception', text) }) < 2000)
  })
})

describe('the diet', () => {
  const blocks = fc.array(fc.record<ContextBlock>({
    kind: fc.constantFrom('file', 'found', 'env', 'logs', 'search'),
    section: fc.constantFrom(...SECTIONS),
    head: fc.constantFrom('FILE[a]:\n', 'ENV:\n'),
    body: fc.tuple(fc.constantFrom('x', '😀', 'line\n'), fc.nat(30_000)).map(([text, count]) => text.repeat(count))
  }, { noNullPrototype: true }), { maxLength: 12 })
  const limits = fc.record({ context_max_files: fc.nat(10), context_max_file_chars: fc.nat(30_000), context_max_total_chars: fc.nat(150_000), context_max_log_chars: fc.nat(20_000) }).map(some => ({ ...DEFAULT_LIMITS, ...some }))

  property('never exceeds the total but for the least of files that were asked for', 100, given => {
    given.holds(fc.property(blocks, limits, (given, own) => {
      const { text, diet } = writeContext(given, own)
      // What the least of files costs: their bodies and heads, and the names of the sections they stand in.
      const least = diet.blocks.filter(({ kind, body }) => kind === 'file' && body.length <= LEAST_OF_A_FILE + MARK)
      const owed = least.reduce((sum, { head, body }) => sum + head.length + body.length + 1, 0) + (least.length > 0 ? SECTIONS.join('').length + 3 * SECTIONS.length : 0)
      assert.ok(text.length <= own.context_max_total_chars + owed, `${text.length} of ${own.context_max_total_chars}, ${owed} owed`)
      assert.ok(diet.blocks.length <= own.context_max_files)
      assert.equal(diet.dropped, given.length - diet.blocks.length)
    }))
  })

  property('keeps the least of every file that is left, and drops what is cut first', 100, given => {
    given.holds(fc.property(blocks, limits, (given, own) => {
      const { diet } = writeContext(given, own)
      const files = given.filter(({ kind }) => kind === 'file')
      const kept = diet.blocks.filter(({ kind }) => kind === 'file')
      assert.equal(kept.length, Math.min(files.length, own.context_max_files))
      for (const [index, { body }] of kept.entries()) {
        const whole = files[index]?.body.length ?? 0
        // Half of a character goes with the other half.
        assert.ok(body.length >= Math.min(whole, LEAST_OF_A_FILE, own.context_max_file_chars) - 2)
      }
    }))
  })

  property('leaves what fits as it is', 100, given => {
    given.holds(fc.property(blocks, given => {
      const { diet } = writeContext(given, { ...DEFAULT_LIMITS, context_max_files: 12, context_max_file_chars: 1e6, context_max_log_chars: 1e6, context_max_total_chars: 1e7 })
      assert.deepEqual([diet.blocks, diet.dropped, diet.truncated], [given, 0, 0])
    }))
  })
})

describe('a plan', () => {
  const result = fc.oneof(
    { weight: 6, arbitrary: reply.map(value => answerWith({ content: JSON.stringify(value) })) },
    { weight: 1, arbitrary: json.map(value => answerWith({ content: JSON.stringify(value) })) },
    { weight: 3, arbitrary: fc.constantFrom<Json>('scripted', { outcome: 'exited', exitCode: 0 }, { outcome: 'exited', exitCode: 1 }, { applied: [{ kind: 'x', path: 'a.ts' }] }, { applied: 7 }, { blocks: [{ type: 'preview', files: [] }] }) },
    { weight: 1, arbitrary: json as fc.Arbitrary<Json> }
  )
  const event = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('result' as const), result }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('say' as const), text: fc.constantFrom('ok', 'undo', 'redo', 'apply: x', 'plan: y', 'other', '', '__proto__') }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('act' as const), name: fc.constantFrom('apply', 'reject', 'undo', 'redo', 'x'), data: fc.constantFrom<JsonObject[]>({}, { paths: ['a.ts'] }, { paths: 7 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('failure' as const, 'unknown' as const, 'refused' as const, 'person' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('approve' as const, 'reject' as const) }) }
  )

  property('throws at no sequence of facts, writes only in APPLY, and never stands still', 1000, given => {
    const goals = fc.constantFrom('plan: x', 'apply: x', 'x', 'Traceback\n File "a.ts", line 3')
    given.holds(fc.property(goals, fc.boolean(), fc.array(event, { maxLength: 30 }), (goal, remembers, events) => {
      const plan = new PlanSession(goal, { files: { 'src/app.ts': 'x' }, setting: { remembers, isStrict: remembers, checks: ['test'] } })
      const { dialogue } = plan
      for (const each of events) {
        const { status } = dialogue.session
        if (ENDED.has(status)) break
        if (each.kind === 'say' || each.kind === 'act') {
          if (status !== 'waiting_input') continue
          if (each.kind === 'say') plan.say(each.text)
          else plan.act(each.name, each.data)
        } else if (dialogue.effect().kind !== 'wait') {
          const { id, kind } = dialogue.effect()
          if (each.kind === 'result' && each.result === 'scripted' && kind === 'read') plan.read()
          else dialogue.take(each.kind === 'approve' ? approved(dialogue.session, id) : factOf(each, id))
        }
        assert.ok(plan.view.mayWrite !== true || plan.state.mode === 'apply')
        const { status: now } = dialogue.session
        assert.ok(ENDED.has(now) || dialogue.open.length > 0, `it is ${now}, and nothing would wake it`)
        assert.ok(!dialogue.log.at(-1)?.denied.some(({ by }) => by === 'policy'), 'it asks for what it may not')
      }
      assert.deepEqual(dialogue.fold().engine.state, dialogue.session.engine.state)
    }))
  })

  property('ends a cycle within its limits, whatever the model says', 100, given => {
    given.holds(fc.property(fc.constantFrom('plan: x', 'apply: x'), fc.array(reply, { minLength: 1, maxLength: 8 }), (goal, replies) => {
      const plan = new PlanSession(goal, { files: { 'src/app.ts': 'x' } })
      let asked = 0
      while (plan.dialogue.session.status === 'running' && asked < 20) {
        const { kind } = plan.dialogue.effect()
        if (kind === 'read') plan.read()
        else if (kind === 'apply') plan.apply()
        else plan.answer(replies[asked++ % replies.length] as Json)
      }
      // The first, two rounds of context and one repair.
      assert.ok(asked <= 4, `${asked} answers`)
      assert.notEqual(plan.dialogue.session.status, 'running')
    }))
  })
})

function factOf (event: { readonly kind: string, readonly result?: Json }, effect: string): Fact {
  switch (event.kind) {
    case 'result': return { kind: 'result', effect, result: event.result ?? null }
    case 'unknown': return { kind: 'unknown', effect }
    case 'refused': return { kind: 'refused', effect, by: 'policy', reason: 'no' }
    case 'person': return { kind: 'refused', effect, by: 'person', reason: 'no' }
    case 'reject': return { kind: 'decided', effect, by: 'me', decision: event.kind }
    default: return { kind: 'failure', effect, code: 'TIMEOUT', message: 'response_format is not supported' }
  }
}
