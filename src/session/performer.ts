import { type Json, type JsonObject } from '../base/json.ts'
import { type Effect, type Spent, type Usage, type WaitEffect } from './model.ts'
import { type Session } from './session.ts'

/** An effect that something has to be done for. */
export type ActiveEffect = Exclude<Effect, WaitEffect>

/** How an effect ended. */
export type Outcome =
  | { readonly kind: 'result', readonly result: Json, readonly usage?: Usage, readonly spent?: Spent }
  | { readonly kind: 'failure', readonly code: string, readonly message: string, readonly spent?: Spent }
  /** It began, and nobody knows how it ended. */
  | { readonly kind: 'unknown', readonly reason?: string }

/** Does what sessions ask for. */
export interface Performer {
  /**
   * Failures that are expected are outcomes. Of what it throws the runner makes the failure `INTERNAL`.
   * @param signal aborts when nobody wants the outcome any more
   * @param publish tells the session's followers a part of it, which is not kept
   */
  perform (session: Session, effect: ActiveEffect, signal: AbortSignal, publish: (live: JsonObject) => void): Promise<Outcome>
  /** Whether it may be done again when nobody knows how far it came. */
  isRepeatable (effect: ActiveEffect): boolean
}
