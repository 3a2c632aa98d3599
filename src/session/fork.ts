import { randomUUID } from 'node:crypto'
import { stringifyJson } from '../base/json.ts'
import { type Engines, foldLogEntry } from './advance-session.ts'
import { type LogEntry } from './model.ts'
import { readGenuine, type Seals } from './session-log.ts'
import { acceptsInput, headOf, type Session } from './session.ts'
import { type SessionStore, SessionStoreError } from './store/session-store.ts'

/** The session never waited for its user. */
export class NothingToFork extends Error {
  override readonly name = 'NothingToFork'
}

export class ForkTooLarge extends Error {
  override readonly name = 'ForkTooLarge'
}

interface ForkOptions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly seals: Seals
  readonly from: string
  readonly to: string
  readonly owner: string
  /** The last log entry that may be copied. @default no limit */
  readonly upTo?: number | undefined
  /** Bytes of the copied log. @default no limit */
  readonly most?: number | undefined
  readonly by: string
}

/**
 * Forks a session: copies its log up to the last log entry, at most `upTo`, after which the session waited for its user, so that the
 * copy can continue differently. The copy is a session of its own, and its entries get new signatures. The log is read twice, so that it is
 * never in memory as a whole.
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
    const transition: LogEntry = {
      ...original,
      token: randomUUID(),
      by,
      fact: fact.kind === 'started' ? { kind: 'started', start: { ...fact.start, owner, forkOf: { session: from, seq: length, bytes } } } : fact
    }
    const before: Session | undefined = session
    session = foldLogEntry(to, before, transition, engines)
    // An unfinished copy is `cancelled`, so that no replica continues its effects and the store deletes it in time.
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

/** 0 when the session never waited; the size is in bytes. */
async function waitingIn ({ store, engines, seals, from, upTo = Infinity }: ForkOptions): Promise<{ readonly length: number, readonly bytes: number }> {
  let session: Session | undefined
  let [length, bytes, read] = [0, 0, 0]
  for await (const { transition, size } of readGenuine(store, seals, from, undefined)) {
    if (transition.seq > upTo) break
    session = foldLogEntry(from, session, transition, engines)
    read += size
    if (session.status === 'waiting_input' && acceptsInput(session)) [length, bytes] = [transition.seq, read]
  }
  return { length, bytes }
}
