import { type Log } from '../../base/log.ts'
import { ENDED, type Fact } from '../model.ts'
import { type ActiveEffect, type Outcome, type Performer } from '../performer.ts'
import { type Session } from '../session.ts'
import { patiently } from '../patiently.ts'
import { type SessionStore } from '../session-store.ts'
import { type Commit } from './approvals.ts'
import { type Replica } from './fact-writer.ts'
import { type RunningEffects } from './running-effects.ts'
import { type Watches } from './watches.ts'

export interface EffectDriverOptions {
  readonly replica: Replica
  readonly store: SessionStore
  readonly performer: Performer
  readonly running: RunningEffects
  readonly watches: Watches
  readonly log: Log
  readonly commit: Commit
  /** Called with a session's id when the outcome of one of its effects cannot be written to the log. */
  readonly onFailed: (id: string, error: unknown) => Promise<void>
}

/** Performs the effects (model calls, commands …) that this process has begun, and writes to the session's log how each of them ended. */
export class EffectDriver {
  readonly #options: EffectDriverOptions

  constructor (options: EffectDriverOptions) {
    this.#options = options
  }

  /** Performs an effect of a session; resolves when the outcome is written to the log. */
  async perform (session: Session, effect: ActiveEffect): Promise<void> {
    const { running, watches } = this.#options
    const { id } = session
    await running.run(id, effect.id, async signal => {
      watches.open(id)
      const outcome = await this.#outcomeOf(session, effect, signal)
      // An effect can succeed although it was aborted, so a result is written. A failure of an aborted effect only says that it was aborted.
      if (!signal.aborted || outcome.kind === 'result') await this.#end(id, effect, outcome)
      else if (outcome.kind === 'unknown') await this.#endUnconfirmed(id, effect)
    })
    if (!running.hasAny(id)) watches.close(id)
  }

  /** Aborts effects that this process still performs, though the session's log says that they have ended, or that another replica performs them. */
  abortStale ({ id, open }: Session): void {
    const { running, replica } = this.#options
    running.abort(id, effect => open.get(effect)?.by !== replica.id)
  }

  /**
   * Reports an aborted effect that perhaps still runs. Only for a session that has ended, the report is written to the log. For a session that goes
   * on, the next replica that takes the session records that the effect's end is unknown.
   */
  async #endUnconfirmed (id: string, effect: ActiveEffect): Promise<void> {
    const target = effect.kind === 'exec' ? effect.target : undefined
    const about = { session: id, effect: effect.id, kind: effect.kind, target }
    this.#options.log.warn(about, 'something was ended, and nobody has confirmed that: it may run on')
    await this.#end(id, effect, { kind: 'unknown' }, ({ status }) => ENDED.has(status))
  }

  async #outcomeOf (session: Session, effect: ActiveEffect, signal: AbortSignal): Promise<Outcome> {
    const { store, performer } = this.#options
    try {
      return await performer.perform(session, effect, signal, live => { store.publish(session.id, live) })
    } catch (error) {
      return { kind: 'failure', code: 'INTERNAL', message: (error as Error).message }
    }
  }

  /**
   * Writes to the session's log how an effect ended, as soon as the store can be reached.
   * @param isWanted decides whether to write the outcome.
   * @default only while the log says that this replica performs the effect
   */
  async #end (id: string, effect: ActiveEffect, outcome: Outcome, isWanted = (session: Session): boolean => this.#isOwn(session, effect)): Promise<void> {
    const { replica: { closing }, commit, onFailed } = this.#options
    const { kind, ...rest } = outcome
    const decide = (session: Session): Fact | undefined => isWanted(session) ? { kind, effect: effect.id, ...rest } as Fact : undefined
    try {
      await patiently(closing, () => commit(id, decide))
    } catch (error) {
      await onFailed(id, error)
    }
  }

  #isOwn ({ open }: Session, { id }: ActiveEffect): boolean {
    return open.get(id)?.by === this.#options.replica.id
  }
}
