import { type Activity } from '../../../runtime/activity.ts'
import { type Transition } from '../../../session/model.ts'
import { type ActiveEffect } from '../../../session/performer.ts'
import { type Session } from '../../../session/session.ts'

/** What is done for one effect of a session, as logs, metrics and traces want to know it. */
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
