import { type FastifyRequest } from 'fastify'
import { type Activity } from '../../runtime/activity.ts'

/** Watches requests for logs, metrics and traces. */
export interface RequestObserver {
  /** A request has arrived, and its route is known. */
  begin (request: FastifyRequest): RequestActivity
  /** A request was refused before anything was known of it. */
  refused (): void
}

/** What is done for one request, seen from its route: how long it took so far, and with what. */
export interface RequestActivity extends Activity {
  /** W3C trace id of the caller's trace, or of the one that begins here; `undefined` when there is neither. */
  readonly traceId: string | undefined
  /** The registered prompt that was rendered. */
  readonly prompt: string | undefined
  readonly promptRevision: string | undefined
  /** Which version of it, and by which label; `undefined` for what is none. */
  readonly promptVersion: number | undefined
  readonly promptLabel: string | undefined
  /** Wall time of renders, with their tools; `undefined` where there was none, as with the two below. */
  readonly renderMs: number | undefined
  /** Wall time in which at least one tool was being called. */
  readonly toolsMs: number | undefined
  /** Wall time in which a model was being asked. */
  readonly modelMs: number | undefined
  /** Whether `end` has been called. */
  readonly isOver: boolean
  /** The answer is out, or nobody waits for it any more. @param route `undefined` when there is none */
  end (method: string, route: string | undefined, status: number, milliseconds: number): void
}
