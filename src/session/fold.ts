import { advance, begin } from './advance.ts'
import { digestOf } from './effects.ts'
import { type EngineStart } from './engine.ts'
import { type Gate } from './gate.ts'
import { type Transition } from './model.ts'
import { type OpenEffect, type Session } from './session.ts'

/**
 * The error that an engine, when it reads a session's log again, asks for other effects (model calls, commands) than the log records. This
 * happens when an engine was changed without a new version.
 */
export class EngineDiverged extends Error {
  override readonly name = 'EngineDiverged'
}

/** The error that this program has no engine of the name and version that a session was started with. */
export class EngineUnknown extends Error {
  override readonly name = 'EngineUnknown'
}

/** The engines of this program (the rules of each kind of session), by name with version. */
export type Engines = ReadonlyMap<string, EngineStart>

/**
 * Computes the session after one more transition (entry) of its log.
 * @param session the session before the transition; `undefined` for the first transition
 * @throws EngineDiverged when the engine now asks for other effects than those that were recorded; EngineUnknown
 */
export function foldTransition (id: string, session: Session | undefined, transition: Transition, engines: Engines): Session {
  const { fact } = transition
  const gate = recordedGate(transition)
  const next = session === undefined ? first(id, transition, engines, gate) : advance(session, fact, gate, transition).session
  const recorded = [...transition.begun, ...transition.held.map(({ effect }) => effect), ...transition.denied]
  const missed = recorded.find(({ id: effect }) => !gate.seen.has(effect))
  if (missed !== undefined) throw new EngineDiverged(`transition ${transition.seq} began effect ${missed.id}, which the engine does not ask for`)
  return next
}

function first (id: string, transition: Transition, engines: Engines, gate: Gate): Session {
  const { fact } = transition
  if (fact.kind !== 'started') throw new EngineDiverged(`the first transition is "${fact.kind}"`)
  const engine = engines.get(fact.start.engine)
  if (engine === undefined) throw new EngineUnknown(`no engine ${fact.start.engine} is here`)
  return begin(id, fact.start, engine, gate, transition).session
}

/**
 * A gate (which decides whether an effect may begin) that repeats the decisions recorded in a transition. An effect that the transition
 * does not name is not begun.
 */
function recordedGate ({ seq, begun, held, denied }: Transition): Gate & { readonly seen: ReadonlySet<string> } {
  const seen = new Set<string>()
  const decide = (_session: Session, { effect }: OpenEffect): ReturnType<Gate> => {
    const digest = digestOf(effect)
    const began = begun.find(({ id }) => id === effect.id)
    const asked = held.find(each => each.effect.id === effect.id)
    const refused = denied.find(({ id }) => id === effect.id)
    seen.add(effect.id)
    if ((began !== undefined && (began.kind !== effect.kind || began.digest !== digest)) || (asked !== undefined && asked.digest !== digest)) {
      throw new EngineDiverged(`effect ${effect.id} of transition ${seq} is another than the one that was recorded`)
    }
    if (began !== undefined) return { answer: 'allow' }
    if (asked !== undefined) return { answer: 'ask', rule: asked.rule, about: asked.about }
    return refused === undefined ? { answer: 'owe' } : { answer: 'deny', by: refused.by, reason: refused.reason }
  }
  return Object.assign(decide, { seen })
}
