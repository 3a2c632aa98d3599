import { type Caller } from '../../../access/caller.ts'
import { type JsonObject } from '../../../base/json.ts'
import { type ActiveEffect, type Outcome } from '../../../session/performer.ts'
import { type Session } from '../../../session/session.ts'
import { type EffectActivity } from './effect-activity.ts'

/** An effect of one kind, and what doing it needs. */
export interface Performing<E extends ActiveEffect> {
  readonly session: Session
  readonly effect: E
  /** The session's owner, as it is now. */
  readonly caller: Caller
  /** Aborts when nobody wants the outcome any more. */
  readonly signal: AbortSignal
  readonly activity: EffectActivity | undefined
  /** Tells the session's followers a part of the outcome, which is not kept. */
  readonly publish: (live: JsonObject) => void
}

/** Does effects of one kind. What fails is an outcome, or throws. */
export type Perform<E extends ActiveEffect> = (performing: Performing<E>) => Promise<Outcome>

/** What does the effects of each kind. */
export type Performers = { readonly [K in ActiveEffect['kind']]: Perform<Extract<ActiveEffect, { readonly kind: K }>> }
