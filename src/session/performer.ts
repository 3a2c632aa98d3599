import { type Json, type JsonObject } from '../base/json.ts'
import { type Effect, type Spent, type Usage, type WaitEffect } from './model.ts'
import { type Session } from './session.ts'

/** An effect that the service has to perform (a model call, a command …): every effect but waiting for the user. */
export type ActiveEffect = Exclude<Effect, WaitEffect>

/** The outcome of an effect: how it ended. */
export type Outcome =
  | { readonly kind: 'result', readonly result: Json, readonly usage?: Usage, readonly spent?: Spent }
  | { readonly kind: 'failure', readonly code: string, readonly message: string, readonly spent?: Spent }
  /** The effect began, and nobody knows how it ended. */
  | { readonly kind: 'unknown', readonly reason?: string }

/** A performer carries out the effects of sessions: it calls models and tools, runs commands, changes files. */
export interface Performer {
  /**
   * Performs an effect. An expected failure is an outcome too; when this method throws, the caller turns the error into the failure `INTERNAL`.
   * @param signal aborts when the outcome is no longer wanted
   * @param publish sends the session's followers a live message, such as a part of the outcome, that is not stored
   */
  perform (session: Session, effect: ActiveEffect, signal: AbortSignal, publish: (live: JsonObject) => void): Promise<Outcome>
  /** Whether an effect may be repeated without harm when it was interrupted and nobody knows how far it came. */
  isRepeatable (effect: ActiveEffect): boolean
}
