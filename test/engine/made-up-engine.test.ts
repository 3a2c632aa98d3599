import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Caller } from '../../src/access/caller.ts'
import { Sessions } from '../../src/service/sessions/sessions.ts'
import { effectId, type Engine, type EngineKey, resultOf, startedAs, startOf, startWith } from '../../src/session/engine.ts'
import { NO_CIRCUMSTANCES } from '../../src/session/gate.ts'
import { type Start } from '../../src/session/model.ts'
import { UNSEALED } from '../../src/session/seal.ts'
import { type Session } from '../../src/session/session.ts'
import { INSTANT } from '../session/manual-performer.ts'
import { memoryStore, SILENT } from '../session/runners.ts'

interface Strokes { readonly most: number }
interface Counted { readonly strokes: number }
interface CounterState { readonly most: number, readonly strokes: number }

/** A made-up engine: with each input it calls a tool, until it has done so often enough. */
const COUNTER: EngineKey<Strokes, Counted> = { name: 'counter/1' }

const OTHER: EngineKey<Strokes, Counted> = { name: 'counter/2' }

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

const ANN = { name: 'ann', roles: new Set(['run', 'approve']) } as unknown as Caller

function counting (t: TestContext): { readonly sessions: Sessions, readonly ended: Session[] } {
  const ended: Session[] = []
  const store = memoryStore(t)
  const engines = new Map([[COUNTER.name, startOf(counterEngine)]])
  const sessions = new Sessions({ open: async () => ({ store, engines, seals: UNSEALED }), isAnyOpen: async () => false, mend: async () => {}, performer: INSTANT, circumstances: NO_CIRCUMSTANCES, owners: () => ['ann'], close: async () => {}, log: SILENT, onEnded: session => { ended.push(session) } })
  t.after(() => sessions.close())
  return { sessions, ended }
}

function start (most: number): Omit<Start, 'owner'> {
  return { ...startWith(COUNTER, { most }), definition: 'bells/tower', revision: '1', input: {}, budget: { steps: 10, tokens: 10, idle: 60_000 }, ask: ['bell.strike'] }
}

describe('an engine that is added from outside', () => {
  it('is started, and read by its key', async t => {
    const { sessions } = counting(t)
    const session = await sessions.start({ caller: ANN, start: start(2) })
    assert.deepEqual([session.status, startedAs(session.start, COUNTER).setting.most, resultOf(session, COUNTER).strokes], ['waiting_input', 2, 0])
  })

  it('is approved, followed to its end, listed and counted', async t => {
    const { sessions, ended } = counting(t)
    const { id } = await sessions.start({ caller: ANN, start: start(1) })
    await sessions.input(ANN, id, { text: 'strike' })
    const { held: [waiting] } = await sessions.approvalsIn(ANN, id)
    await sessions.answer(ANN, id, { decision: 'approve', digest: waiting?.digest })

    const told: unknown[] = []
    for await (const followed of await sessions.follow(ANN, id, 0, AbortSignal.timeout(10_000))) {
      if (!('transition' in followed)) continue
      told.push(...followed.transition.notices.filter(({ type }) => type === 'stdout').map(({ data }) => data['text']))
      if (followed.transition.notices.some(({ type }) => type === 'done')) break
    }
    assert.deepEqual(told, ['bong'])

    const { heads: listed } = await sessions.list(ANN, { limit: 10 })
    assert.deepEqual(listed.map(({ engine, status }) => [engine, status]), [['counter/1', 'completed']])
    assert.deepEqual(ended.map(session => resultOf(session, COUNTER)), [{ strokes: 1 }])
  })

  it('is not read by the key of another', async t => {
    const { sessions } = counting(t)
    const session = await sessions.start({ caller: ANN, start: start(1) })
    assert.throws(() => resultOf(session, OTHER), /a session of counter\/1 has no result of counter\/2/)
    assert.throws(() => startedAs(session.start, OTHER), /a session of counter\/1 did not start as one of counter\/2/)
  })
})
