import { type Json, type JsonObject } from '../base/json.ts'
import { type Effect, type Spent, type Usage, type WaitEffect } from './model.ts'
import { type Session } from './session.ts'

/** An effect that the service has to perform: every effect but waiting for the user. */
export type ActiveEffect = Exclude<Effect, WaitEffect>

/** How an effect ended. */
export type Outcome =
  | { readonly kind: 'result', readonly result: Json, readonly usage?: Usage, readonly spent?: Spent }
  | { readonly kind: 'failure', readonly code: string, readonly message: string, readonly spent?: Spent }
  /** The effect began, and nobody knows how it ended. */
  | { readonly kind: 'unknown', readonly reason?: string }

/** A performer carries out the effects of sessions. */
export interface Performer {
  /**
   * Performs an effect. Expected failures are outcomes; the runner turns a thrown error into the failure `INTERNAL`.
   * @param signal aborts when nobody wants the outcome any more
   * @param publish sends the session's followers a live message, such as a part of the outcome, that is not stored
   */
  perform (session: Session, effect: ActiveEffect, signal: AbortSignal, publish: (live: JsonObject) => void): Promise<Outcome>
  /** Whether an effect may be repeated when nobody knows how far it came. */
  isRepeatable (effect: ActiveEffect): boolean
}
