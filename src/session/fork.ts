import { randomUUID } from 'node:crypto'
import { stringifyJson } from '../base/json.ts'
import { type Engines, foldTransition } from './fold.ts'
import { type Transition } from './model.ts'
import { readGenuine } from './read-log.ts'
import { type Seals } from './seal.ts'
import { acceptsInput, headOf, type Session } from './session.ts'
import { type SessionStore, SessionStoreError } from './session-store.ts'

/** Nowhere in the log the session waited for its user. */
export class NothingToFork extends Error {
  override readonly name = 'NothingToFork'
}

/** There is more to copy than may be. */
export class ForkTooLarge extends Error {
  override readonly name = 'ForkTooLarge'
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
  /** What may be copied, in bytes. @default all */
  readonly most?: number | undefined
  readonly by: string
}

/**
 * Copies a session up to a transition after which it waited for its user, so that it can go on another way from there. The
 * copy is sealed as what it is: another session. The log is read twice, so that no more of it is in memory than its fold.
 * @throws NothingToFork, ForkTooLarge, EngineDiverged, EngineUnknown, LogUntrusted, SessionStoreError
 */
export async function forkSession (options: ForkOptions): Promise<Session> {
  const { store, engines, seals, from, to, owner, by, most = Infinity } = options
  const { length, bytes } = await waitingIn(options)
  if (length === 0) throw new NothingToFork(`session ${from} never waited for its user`)
  if (bytes > most) throw new ForkTooLarge(`${bytes} bytes are to be copied, and ${most} may be`)
  let session: Session | undefined
  for await (const { transition: original } of readGenuine(store, seals, from, undefined)) {
    const { fact } = original
    const transition: Transition = {
      ...original,
      token: randomUUID(),
      by,
      fact: fact.kind === 'started' ? { kind: 'started', start: { ...fact.start, owner, forkOf: { session: from, seq: length, bytes } } } : fact
    }
    const before: Session | undefined = session
    session = foldTransition(to, before, transition, engines)
    // Half a copy counts as cancelled, so that nobody goes on with what the original had begun there, and it is forgotten.
    const isWhole = transition.seq === length
    const head = headOf(isWhole ? session : { ...session, status: 'cancelled' }, undefined)
    const unsealed = { seq: transition.seq, text: stringifyJson(transition) }
    const entry = { ...unsealed, seal: seals.sealOf(to, before?.token ?? '', unsealed) }
    await store.append({
      id: to,
      after: before && { seq: before.seq, token: before.token },
      transition,
      entry,
      head,
      due: isWhole ? session.start.budget.idle : 'never'
    })
    if (isWhole) return session
  }
  throw new SessionStoreError(`session ${from} has become shorter while it was copied`)
}

/** The last transition after which the session waited, and what the log takes up to it. */
async function waitingIn ({ store, engines, seals, from, upTo = Infinity }: ForkOptions): Promise<{ readonly length: number, readonly bytes: number }> {
  let session: Session | undefined
  let [length, bytes, read] = [0, 0, 0]
  for await (const { transition, size } of readGenuine(store, seals, from, undefined)) {
    if (transition.seq > upTo) break
    session = foldTransition(from, session, transition, engines)
    read += size
    if (session.status === 'waiting_input' && acceptsInput(session)) [length, bytes] = [transition.seq, read]
  }
  return { length, bytes }
}
