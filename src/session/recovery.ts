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

interface RecoveryOptions {
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
  /** What they wait for, and since when, in ms of `performance.now()`. */
  readonly #left = new Map<string, { readonly name: string, readonly at: number }>()

  /** Sessions that no replica has taken in time, with the engine that this replica does not have. */
  #unknown: ReadonlyMap<string, string> = new Map()

  constructor (options: RecoveryOptions) {
    this.#options = options
  }

  /** @param isTaken the session was due, so the replica that had begun effects of it has stopped */
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

  /** Ends the session when no other replica could continue it either. */
  async failed (id: string, error: unknown): Promise<void> {
    const { log, sessions, running } = this.#options
    const { message } = error as Error
    // Another replica, which has this engine, takes the session.
    if (error instanceof EngineUnknown) return
    log.warn({ session: id, reason: message }, 'a session could not be gone on with')
    // An error of the store passes. Any other would happen again in every replica that takes the session.
    if (error instanceof SessionStoreError || error instanceof ServiceError || this.#isClosed) return
    await sessions.stopBroken(id, { code: error instanceof EngineDiverged ? 'ENGINE_DIVERGED' : 'ENGINE_FAILED', message }).catch(() => {})
    running.abort(id)
  }

  #factToGoOn (session: Session, isTaken: boolean): Fact | undefined {
    // A closing process leaves its aborted effects to the next replica.
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

  /** Renews the lease, after whose end any replica can take the session. One whose disk is gone stops at last. */
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

  /** One due for longer than two leases is taken by no other replica either: that is logged once. */
  noteUnknown (sessions: readonly UnknownSession[]): void {
    const { log, replica } = this.#options
    const late = sessions.filter(({ overdue }) => overdue > 2 * replica.lease)
    for (const { id, engine } of late) {
      if (!this.#unknown.has(id)) log.warn({ session: id, engine }, 'a session waits for a process that has its engine')
    }
    this.#unknown = new Map(late.map(({ id, engine }) => [id, engine]))
  }

  unknown (): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const engine of this.#unknown.values()) counts.set(engine, (counts.get(engine) ?? 0) + 1)
    return counts
  }

  get isBehind (): boolean {
    return this.#disksWaitedFor().length > 0
  }

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

  /** Lets the store give the session to a replica when the longest wait for a person is over. */
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

interface Knowledge {
  readonly replica: string
  /** The session was due: a replica that had begun effects of it has stopped. */
  readonly isTaken: boolean
  /** The session's terminal is of this process. */
  readonly isHere: boolean
  readonly running: Pick<RunningEffects, 'has' | 'wasPerformed'>
  readonly isRepeatable: Performer['isRepeatable']
}

/** Repeats what no replica performs any more; where that could do harm, `unknown` ends the effect instead. */
function factToGoOn (session: Session, known: Knowledge): Fact | undefined {
  const { replica, isTaken, isHere, running, isRepeatable } = known
  if (ENDED.has(session.status)) return undefined
  const left = openIn(session, 'begun').filter(each => isLeft(session.id, each, known))
  // Begun by this replica, but not performed: it gave up waiting for the store, which wrote the entry all the same.
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

function isLeft (id: string, { effect, by }: OpenEffect, { replica, running }: Knowledge): boolean {
  return effect.kind !== 'wait' && !(by === replica && running.has(id, effect.id))
}
