import { randomUUID } from 'node:crypto'
import { stringifyJson } from '../base/json.ts'
import { type Engines, foldTransition } from './fold.ts'
import { type Transition } from './model.ts'
import { readGenuine } from './read-log.ts'
import { type Seals } from './seal.ts'
import { acceptsInput, headOf, type Session } from './session.ts'
import { type SessionStore } from './store/session-store.ts'

/** Nowhere in the log the session waited for its user. */
export class NothingToFork extends Error {
  override readonly name = 'NothingToFork'
}

export interface ForkOptions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly seals: Seals
  readonly from: string
  readonly to: string
  readonly owner: string
  /** The last transition that may be copied; the last of all when left out. */
  readonly upTo?: number | undefined
  readonly by: string
}

/**
 * Copies a session up to a transition after which it waited for its user, so that it can go on another way from there. The
 * copy is sealed as what it is: another session.
 * @throws NothingToFork, EngineDiverged, EngineUnknown, LogUntrusted, SessionStoreError
 */
export async function forkSession (options: ForkOptions): Promise<Session> {
  const { store, engines, seals, from, to, owner, by } = options
  const copied = await readWaiting(options)
  let session: Session | undefined
  for (const original of copied) {
    const { fact } = original
    const transition: Transition = { ...original, token: randomUUID(), by, fact: fact.kind === 'started' ? { kind: 'started', start: { ...fact.start, owner, forkOf: { session: from, seq: copied.length } } } : fact }
    const before: Session | undefined = session
    session = foldTransition(to, before, transition, engines)
    // Half a copy counts as cancelled, so that nobody goes on with what the original had begun there, and it is forgotten.
    const isWhole = transition.seq === copied.length
    const head = headOf(isWhole ? session : { ...session, status: 'cancelled' }, undefined)
    const unsealed = { seq: transition.seq, text: stringifyJson(transition) }
    const entry = { ...unsealed, seal: seals.sealOf(to, before?.token ?? '', unsealed) }
    await store.append({ id: to, after: before && { seq: before.seq, token: before.token }, transition, entry, head, due: isWhole ? session.start.budget.idle : 'never' })
  }
  if (session === undefined) throw new NothingToFork(`session ${from} never waited for its user`)
  return session
}

/** The transitions up to the last one after which the session waited. */
async function readWaiting ({ store, engines, seals, from, upTo = Infinity }: ForkOptions): Promise<Transition[]> {
  const read: Transition[] = []
  let session: Session | undefined
  let length = 0
  for await (const { transition } of readGenuine(store, seals, from, undefined)) {
    if (transition.seq > upTo) break
    session = foldTransition(from, session, transition, engines)
    read.push(transition)
    if (session.status === 'waiting_input' && acceptsInput(session)) length = transition.seq
  }
  return read.slice(0, length)
}
