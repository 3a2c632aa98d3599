import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE, type Caller } from '../../src/access/caller.ts'
import { type Generation } from '../../src/registry/generation.ts'
import { type RequestContext } from '../../src/service/sessions/session-service.ts'
import { type SessionKind } from '../../src/service/sessions/session-kind.ts'
import { approvalsIn } from '../../src/session/approvals.ts'
import { effectId, type Engine, type EngineKey, resultOf, startedAs, startOf, startWith } from '../../src/session/engine.ts'
import { type Session } from '../../src/session/session.ts'
import { INSTANT } from '../session/manual-performer.ts'
import { sessionsOver } from '../service/sessions/sessions-over.ts'
import { memoryStore } from '../session/runners.ts'

interface Strokes { readonly most: number }
interface Counted { readonly strokes: number }
interface CounterState { readonly most: number, readonly strokes: number }

/** A made-up engine: with each input it calls a tool, until it has done so often enough. */
const COUNTER: EngineKey<Strokes, Counted> = { name: 'counter/1' }

const OTHER: EngineKey<Strokes, Counted> = { name: 'meter/1' }

const counterEngine: Engine<Strokes, CounterState, Counted> = {
  ...COUNTER,
  begin: ({ setting: { most } }, moment) => ({ state: { most, strokes: 0 }, effects: [{ id: effectId(moment, 0), kind: 'wait' }], notices: [] }),
  next (state, fact, moment) {
    const id = effectId(moment, 0)
    if (fact.kind === 'input') return { state, effects: [{ id, kind: 'tool', tool: 'bell.strike', arguments: {}, timeout: 1000 }], notices: [] }
    if (fact.kind !== 'result') return { state, effects: [], notices: [] }
    return { state: { ...state, strokes: state.strokes + 1 }, effects: [{ id, kind: 'wait' }], notices: [{ type: 'stdout', data: { text: 'bong' } }] }
  },
  view: ({ most, strokes }) => ({ stateName: 'counting', outcome: strokes < most ? 'open' : 'completed', result: { strokes } })
}

const ANN: Caller = { ...ANYONE, name: 'ann', roles: new Set(['run', 'approve']) }
const VISIT: RequestContext = { caller: ANN, requestId: 'r1', signal: new AbortController().signal }
const NOTHING = {} as Generation

const BELLS: SessionKind<{ readonly most: number }> = {
  name: 'bells',
  engines: [COUNTER],
  start: ({ most }) => ({ ...startWith(COUNTER, { most }), definition: 'bells/tower', revision: '1', input: {}, budget: { steps: 10, tokens: 10, idle: 60_000 }, ask: ['bell.strike'] })
}

function counting (t: TestContext) {
  const ended: Session[] = []
  const engines = new Map([[COUNTER.name, startOf(counterEngine)]])
  const sessions = sessionsOver(t, memoryStore(t), { engines, performer: INSTANT, owner: 'ann', onEnded: session => { ended.push(session) } })
  return { sessions, ended }
}

describe('an engine that is added from outside', () => {
  it('is started, and read by its key', async t => {
    const { sessions } = counting(t)
    const { session } = await sessions.start(BELLS, VISIT, NOTHING, { most: 2 })
    assert.deepEqual([session.status, startedAs(session.start, COUNTER).setting.most, resultOf(session, COUNTER).strokes], ['waiting_input', 2, 0])
  })

  it('is approved, followed to its end, listed and counted', async t => {
    const { sessions, ended } = counting(t)
    const { session: { id } } = await sessions.start(BELLS, VISIT, NOTHING, { most: 1 })
    const { session } = await sessions.say(BELLS, VISIT, id, { text: 'strike' })
    const { stdout } = await sessions.approve(BELLS, VISIT, id, { digest: approvalsIn(session)[0]?.digest })
    assert.deepEqual(stdout, ['bong'])
    const { heads: listed } = await sessions.list(ANN, { limit: 10 })
    assert.deepEqual(listed.map(({ engine, status }) => [engine, status]), [['counter/1', 'completed']])
    assert.deepEqual(ended.map(session => resultOf(session, COUNTER)), [{ strokes: 1 }])
  })

  it('is not read by the key of another', async t => {
    const { sessions } = counting(t)
    const { session } = await sessions.start(BELLS, VISIT, NOTHING, { most: 1 })
    assert.throws(() => resultOf(session, OTHER), /a session of counter\/1 has no result of meter\/1/)
    assert.throws(() => startedAs(session.start, OTHER), /a session of counter\/1 did not start as one of meter\/1/)
  })
})
