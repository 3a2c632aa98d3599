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
  /** Called when the end of an effect cannot be written. */
  readonly onFailed: (id: string, error: unknown) => Promise<void>
}

/** Performs effects that this process has begun, and writes how each of them ended. */
export class EffectDriver {
  readonly #options: EffectDriverOptions

  constructor (options: EffectDriverOptions) {
    this.#options = options
  }

  /** Performs an effect; resolves when its end is written. */
  async perform (session: Session, effect: ActiveEffect): Promise<void> {
    const { running, watches } = this.#options
    const { id } = session
    await running.run(id, effect.id, async signal => {
      watches.open(id)
      const outcome = await this.#outcomeOf(session, effect, signal)
      // An effect that was aborted may have succeeded none the less; its failure says nothing.
      if (!signal.aborted || outcome.kind === 'result') await this.#end(id, effect, outcome)
      else if (outcome.kind === 'unknown') await this.#endUnconfirmed(id, effect)
    })
    if (!running.hasAny(id)) watches.close(id)
  }

  /** Aborts effects of a session that nobody wants from here any more: each has ended otherwise, or another replica performs it. */
  abortStale ({ id, open }: Session): void {
    const { running, replica } = this.#options
    running.abort(id, effect => open.get(effect)?.by !== replica.id)
  }

  /** Tells of an effect that was aborted and may run on. Where its session has not ended, the next replica finds it unknown. */
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
   * Writes how an effect ended, as soon as the store can be reached.
   * @param isWanted whether that is to be written. @default unless it has ended otherwise, or another replica has begun it again
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
