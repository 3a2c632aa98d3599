import { type FastifyRequest } from 'fastify'
import { type Activity } from '../../runtime/activity.ts'

/** The receiver of facts about requests, from which logs, metrics and traces are made. */
export interface RequestObserver {
  /** Begins the record of a request that has arrived, once its route is known. */
  begin (request: FastifyRequest): RequestActivity
  /** Counts a request that was refused during an overload, before Fastify saw it. */
  refused (): void
}

/** The record of one request: which prompt it rendered, and how long renders, tools and models have taken so far. */
export interface RequestActivity extends Activity {
  /**
   * The W3C trace id that the caller sent or, if the caller sent none, the id of the trace that begins with this request; `undefined` when
   * the caller sent none and traces are not exported.
   */
  readonly traceId: string | undefined
  /** The id of the registered prompt that the request rendered; `undefined` when it rendered none. */
  readonly prompt: string | undefined
  readonly promptRevision: string | undefined
  /** The version of the prompt and the label that chose it; `undefined` for a prompt without versions or labels. */
  readonly promptVersion: number | undefined
  readonly promptLabel: string | undefined
  /** How long all renders took, including the tools that templates called, in ms of wall time; `undefined` when nothing was rendered. */
  readonly renderMs: number | undefined
  /** The wall time in which at least one tool was being called, in ms; `undefined` when none was called. */
  readonly toolsMs: number | undefined
  /** The wall time in which a model was being asked, in ms; `undefined` when none was asked. */
  readonly modelMs: number | undefined
  /** Whether the record has been ended by `end`. */
  readonly isOver: boolean
  /**
   * Ends the record: the reply is complete, or the client has left. @param route the pattern of the route; `undefined` when none matched
   */
  end (method: string, route: string | undefined, status: number, milliseconds: number): void
}
