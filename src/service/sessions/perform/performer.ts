import { type Caller } from '../../../access/caller.ts'
import { type JsonObject } from '../../../base/json.ts'
import { type Activity } from '../../../runtime/activity.ts'
import { type ToolKnowledge, rowOf } from '../../../session/effects.ts'
import { type Transition } from '../../../session/model.ts'
import { type ActiveEffect, type Outcome, type Performer } from '../../../session/performer.ts'
import { type Session } from '../../../session/session.ts'
import { refusalOf } from '../rules/session-rights.ts'

/** The work on one effect of a session, as logs, metrics and traces observe it. */
export interface EffectActivity extends Activity {
  /** @param outcome `ok`, or a stable code */
  end (outcome: string): void
}

/** Watches sessions for metrics and traces. */
export interface SessionObserver {
  beginEffect (session: Session, effect: ActiveEffect): EffectActivity
  /** A transition of a session was written by this process. */
  wrote (transition: Transition): void
  ended (session: Session): void
}

/** An effect of one kind, with all that is needed to perform it. */
export interface Performing<E extends ActiveEffect> {
  readonly session: Session
  readonly effect: E
  /** The session's owner, as it is now. */
  readonly caller: Caller
  /** Aborts when nobody wants the outcome any more. */
  readonly signal: AbortSignal
  readonly activity: EffectActivity | undefined
  /** Sends a part of the outcome to the session's followers. It is not stored. */
  readonly publish: (live: JsonObject) => void
}

/** Performs effects of one kind. Expected failures are outcomes; an error that is thrown is a fault of the service. */
export type Perform<E extends ActiveEffect> = (performing: Performing<E>) => Promise<Outcome>

/** The functions that perform effects, one for each kind. */
export type Performers = { readonly [K in ActiveEffect['kind']]: Perform<Extract<ActiveEffect, { readonly kind: K }>> }

/** The services that effects are performed with. */
export interface PerformerOptions {
  readonly performers: Performers
  readonly tools: ToolKnowledge
  /** The caller of a token's name, with the rights of now; `undefined` when there is no token of that name any more. */
  readonly callerNamed: (name: string) => Caller | undefined
  readonly observer: SessionObserver | undefined
  /** Ends a session when its parent, or one further above, has ended. @default no session has a parent */
  readonly stopOrphan?: (session: Session, signal: AbortSignal) => Promise<boolean>
}

/** Performs the effects of sessions, with the present rights of each session's owner. Errors that `performers` throw go on to the runner. */
export function createPerformer ({ performers, tools, callerNamed, observer, stopOrphan }: PerformerOptions): Performer {
  async function observed (performing: Performing<ActiveEffect>): Promise<Outcome> {
    // The function of a kind takes the effects of that kind: TypeScript does not follow a union from its key to its value.
    const perform = performers[performing.effect.kind] as Perform<ActiveEffect>
    let ended = 'INTERNAL'
    try {
      const outcome = await perform(performing)
      ended = outcome.kind === 'result' ? 'ok' : outcome.kind === 'failure' ? outcome.code : 'UNKNOWN'
      return outcome
    } finally {
      performing.activity?.end(ended)
    }
  }

  return {
    async perform (session, effect, signal, publish) {
      const caller = callerNamed(session.start.owner)
      if (caller === undefined) return { kind: 'failure', code: 'OWNER_GONE', message: `there is no token "${session.start.owner}" any more` }
      if (session.start.parent !== undefined && await stopOrphan?.(session, signal) === true) {
        return { kind: 'failure', code: 'PARENT_ENDED', message: 'the session above it has ended' }
      }
      const refusal = refusalOf(caller, session, effect)
      if (refusal !== undefined) return refusal
      return await observed({ session, effect, caller, signal, activity: observer?.beginEffect(session, effect), publish })
    },
    isRepeatable: effect => rowOf(effect).isRepeatable(effect, tools)
  }
}
