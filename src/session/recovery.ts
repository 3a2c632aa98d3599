import { ServiceError } from '../base/errors.ts'
import type { Log } from '../runtime/telemetry.ts'
import { EngineDiverged, EngineUnknown } from './advance-session.ts'
import { ENDED, type Fact } from './model.ts'
import type { Performer } from './effects.ts'
import type { SessionLog } from './session-log.ts'
import { type SessionStore, SessionStoreError, type UnknownSession } from './store/session-store.ts'
import { driverOf, isWaiting, type OpenEffect, openIn, owedNow, type Session } from './session.ts'
import type { EffectDriver, RunningEffects } from './effect-driver.ts'
import type { FactWriter, Replica, SessionPlacement } from './fact-writer.ts'

export interface RecoveryOptions {
  readonly replica: Replica
  readonly store: SessionStore
  readonly sessions: SessionLog
  readonly writer: FactWriter
  readonly driver: Pick<EffectDriver, 'abortStale'>
  readonly performer: Performer
  readonly running: RunningEffects
  readonly residence: SessionPlacement
  readonly log: Log
}

/** Goes on with sessions whose replica has stopped, or to which another process has added a fact (what happened, such as an input). */
export class Recovery {
  readonly #options: RecoveryOptions
  /** The sessions that this replica has left to a process that has their disk: what they wait for, and when that was, in ms of `performance.now()`. */
  readonly #left = new Map<string, { readonly name: string, readonly at: number }>()

  /** The sessions that no replica has taken in time, each with its engine, which this replica does not have. */
  #unknown: ReadonlyMap<string, string> = new Map()

  constructor (options: RecoveryOptions) {
    this.#options = options
  }

  /**
   * Recovers a session: stops it when it has waited too long, begins those effects of a stopped replica again that can be repeated without harm,
   * and begins effects that nobody has begun yet.
   * @param isTaken whether the store gave the session to this replica because it was due: a replica that had begun effects of it has then stopped
   */
  async recover (id: string, isTaken: boolean): Promise<void> {
    const { writer, driver } = this.#options
    try {
      if (isTaken && await this.#isElsewhere(id)) return await this.#leaveToOthers(id)
      this.#left.delete(id)
      for (let isOver = false; !isOver && !this.#isClosed;) {
        let fact = undefined as Fact | undefined
        driver.abortStale(await writer.commit(id, session => (fact = this.#factToGoOn(session, isTaken)), isTaken))
        isOver = !isTaken || fact === undefined
      }
      if (isTaken) await writer.exclusively(id, () => this.#giveBack(id))
    } catch (error) {
      await this.failed(id, error)
    }
  }

  /** Logs an error because of which a session cannot continue. Ends the session when no other replica could continue it either. */
  async failed (id: string, error: unknown): Promise<void> {
    const { log, sessions, running } = this.#options
    const { message } = error as Error
    // Another replica, whose program has this engine, takes the session.
    if (error instanceof EngineUnknown) return
    log.warn({ session: id, reason: message }, 'a session could not be gone on with')
    // An error of the store passes, so the session is left for later. Any other error would happen again in every replica that takes the session.
    if (error instanceof SessionStoreError || error instanceof ServiceError || this.#isClosed) return
    await sessions.stopBroken(id, { code: error instanceof EngineDiverged ? 'ENGINE_DIVERGED' : 'ENGINE_FAILED', message }).catch(() => {})
    running.abort(id)
  }

  #factToGoOn (session: Session, isTaken: boolean): Fact | undefined {
    // While this process closes, it aborts its effects. They are left to the replica that takes the session next.
    if (this.#isClosed) return undefined
    const { replica, performer, running, residence } = this.#options
    return factToGoOn(session, {
      replica: replica.id,
      isTaken,
      isHere: residence.isHere(session),
      running,
      isRepeatable: effect => performer.isRepeatable(effect)
    })
  }

  async #isElsewhere (id: string): Promise<boolean> {
    const { sessions, residence } = this.#options
    const session = await sessions.load(id)
    return session !== undefined && await residence.of(session) === 'elsewhere'
  }

  /**
   * Puts off a session whose effects another process has to perform: renews this replica's lease of it. When the lease is over, any replica can take
   * the session from the store. A session whose disk nobody has any more is stopped when it has waited too long.
   */
  async #leaveToOthers (id: string): Promise<void> {
    const { store, replica, sessions, writer, log } = this.#options
    const session = sessions.peek(id)
    const { disk, budget } = session?.start ?? {}
    if (session !== undefined && disk !== undefined && budget !== undefined) {
      if (Date.now() - session.updatedAt >= budget.idle) {
        const reason = `no process that has the disk "${disk.name}" has gone on with it in time`
        await writer.commit(id, ({ status }) => ENDED.has(status) ? undefined : { kind: 'stopped', by: 'expiry', reason }, true)
        return
      }
      if (!this.#left.has(id)) log.warn({ session: id, disk: disk.id, name: disk.name }, 'a session waits for a process that has its disk')
      this.#left.set(id, { name: disk.name, at: performance.now() })
    }
    await store.renew(replica.id, [id], replica.lease)
  }

  /**
   * Notes which due sessions have an engine that this replica does not have. One that has been due for longer than two leases is taken by no other
   * replica either: that is logged once.
   */
  noteUnknown (sessions: readonly UnknownSession[]): void {
    const { log, replica } = this.#options
    const late = sessions.filter(({ overdue }) => overdue > 2 * replica.lease)
    for (const { id, engine } of late) {
      if (!this.#unknown.has(id)) log.warn({ session: id, engine }, 'a session waits for a process that has its engine')
    }
    this.#unknown = new Map(late.map(({ id, engine }) => [id, engine]))
  }

  /** How many sessions wait for an engine that no replica seems to have, by engine. */
  unknown (): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const engine of this.#unknown.values()) counts.set(engine, (counts.get(engine) ?? 0) + 1)
    return counts
  }

  /** Whether this replica has left sessions to others lately, since it does not have their disks. */
  get isBehind (): boolean {
    return this.#disksWaitedFor().length > 0
  }

  /** What sessions wait for that this replica has left to others, in words. */
  waits (): readonly string[] {
    return [...this.#disksWaitedFor(), ...Array.from(this.unknown(), ([engine, count]) => `${sessionsWait(count)} for a process that has the engine ${engine}`)]
  }

  #disksWaitedFor (): readonly string[] {
    const { lease } = this.#options.replica
    const counts = new Map<string, number>()
    for (const [id, { name, at }] of this.#left) {
      if (performance.now() - at > 3 * lease) this.#left.delete(id)
      else counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    return [...counts].map(([name, count]) => `${sessionsWait(count)} for a process that has the disk "${name}"`)
  }

  /** For a taken session that only waits for a person: has the store give the session to a replica again when the longest wait for a person is over. */
  async #giveBack (id: string): Promise<void> {
    const { store, sessions, replica } = this.#options
    const session = sessions.peek(id) ?? await sessions.load(id)
    if (session === undefined || !isWaiting(session)) return
    const rest = session.updatedAt + session.start.budget.idle - Date.now()
    await store.renew(replica.id, [id], Math.max(rest, 1))
  }

  get #isClosed (): boolean {
    return this.#options.replica.closing.aborted
  }
}

function sessionsWait (count: number): string {
  return `${count} ${count === 1 ? 'session waits' : 'sessions wait'}`
}

/**
 * What a replica (service process) knows when it recovers a session: whether another replica perhaps still drives the session (performs its
 * effects), and which effects run in this process.
 */
interface Knowledge {
  /** The id of the replica that recovers the session. */
  readonly replica: string
  /** Whether the store gave the session to this replica because it was due. A replica that had begun effects of the session has then stopped. */
  readonly isTaken: boolean
  /** Whether this process has to perform the session's effects, because the session's commands run in a terminal of this process. */
  readonly isHere: boolean
  readonly running: Pick<RunningEffects, 'has' | 'wasPerformed'>
  readonly isRepeatable: Performer['isRepeatable']
}

/**
 * The next fact to write when a session is recovered; `undefined` when there is nothing to do. Effects that no replica performs any more are begun
 * again. Where a repeat could do harm, the fact `unknown` ends the effect instead. A session that has waited too long for a person is stopped.
 */
function factToGoOn (session: Session, known: Knowledge): Fact | undefined {
  const { replica, isTaken, isHere, running, isRepeatable } = known
  if (ENDED.has(session.status)) return undefined
  const left = openIn(session, 'begun').filter(each => isLeft(session.id, each, known))
  // Effects that this replica began according to the log, but does not perform: the replica gave up waiting for the store's answer, and the store
  // wrote the entry all the same.
  const undone = left.filter(({ by }) => by === replica)
  const lost = isTaken ? left.filter(({ by }) => by !== replica) : []
  const unknown = [...lost, ...undone.filter(({ effect }) => running.wasPerformed(session.id, effect.id))]
    .find(({ effect }) => effect.kind !== 'wait' && !isRepeatable(effect))
  if (unknown !== undefined) return { kind: 'unknown', effect: unknown.effect.id }
  const repeats = [...undone, ...lost].map(({ effect }) => effect.id)
  const driver = driverOf(session)
  const isMine = isTaken || driver === replica || (isHere && driver === undefined)
  if (repeats.length > 0 || (isMine && owedNow(session).length > 0)) return { kind: 'took', repeats }
  const isOver = isWaiting(session) && Date.now() - session.updatedAt >= session.start.budget.idle
  return isTaken && isOver ? { kind: 'stopped', by: 'expiry', reason: 'nobody answered in time' } : undefined
}

/** Whether an effect that was begun is one that this process does not perform. A wait for the user is no such effect. */
function isLeft (id: string, { effect, by }: OpenEffect, { replica, running }: Knowledge): boolean {
  return effect.kind !== 'wait' && !(by === replica && running.has(id, effect.id))
}
