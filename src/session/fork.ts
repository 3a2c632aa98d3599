import { randomUUID } from 'node:crypto'
import { type Engines, foldTransition } from './fold.ts'
import { type Transition } from './model.ts'
import { acceptsInput, headOf, type Session } from './session.ts'
import { type SessionStore } from './store/session-store.ts'

/** Nowhere in the log the session waited for its user. */
export class NothingToFork extends Error {
  override readonly name = 'NothingToFork'
}

/**
 * Copies a session up to a transition after which it waited for its user, so that it can go on another way from there.
 * @param upTo the last transition that may be copied; the last of all when left out
 * @throws NothingToFork, EngineDiverged, EngineUnknown, SessionStoreError
 */
export async function forkSession (store: SessionStore, engines: Engines, { from, to, owner, upTo = Infinity, by }: { readonly from: string, readonly to: string, readonly owner: string, readonly upTo?: number | undefined, readonly by: string }): Promise<Session> {
  const copied = await readWaiting(store, engines, from, upTo)
  let session: Session | undefined
  for (const original of copied) {
    const { fact } = original
    const transition: Transition = { ...original, token: randomUUID(), by, fact: fact.kind === 'started' ? { kind: 'started', start: { ...fact.start, owner, forkOf: { session: from, seq: copied.length } } } : fact }
    const before: Session | undefined = session
    session = foldTransition(to, before, transition, engines)
    // Half a copy counts as cancelled, so that nobody goes on with what the original had begun there, and it is forgotten.
    const isWhole = transition.seq === copied.length
    const head = headOf(isWhole ? session : { ...session, status: 'cancelled' }, undefined)
    await store.append({ id: to, after: before && { seq: before.seq, token: before.token }, transition, head, due: isWhole ? session.start.budget.idle : 'never' })
  }
  if (session === undefined) throw new NothingToFork(`session ${from} never waited for its user`)
  return session
}

/** The transitions up to the last one after which the session waited. */
async function readWaiting (store: SessionStore, engines: Engines, id: string, upTo: number): Promise<Transition[]> {
  const read: Transition[] = []
  let session: Session | undefined
  let length = 0
  for await (const page of store.read(id, 0)) {
    for (const transition of page) {
      if (transition.seq > upTo) break
      session = foldTransition(id, session, transition, engines)
      read.push(transition)
      if (session.status === 'waiting_input' && acceptsInput(session)) length = transition.seq
    }
  }
  return read.slice(0, length)
}
