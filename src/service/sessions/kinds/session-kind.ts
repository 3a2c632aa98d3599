import { type Caller } from '../../../access/caller.ts'
import { type Generation } from '../../../registry/generation/generation.ts'
import { type EngineKey } from '../../../session/engine.ts'
import { type Start } from '../../../session/model.ts'

/** The circumstances of a session's start: its caller, and the registry at that moment. */
export interface Starter {
  readonly caller: Caller
  /** The registry as the caller may see it. */
  readonly generation: Generation
  /** The id that the session will have. */
  readonly session: string
  /** The id of the request that starts the session. */
  readonly requestId: string
}

/** One kind of sessions: its row in the table that the door reads. */
export interface SessionKind<Request = never> {
  /** The first part of the names of its definitions: `agents` in `agents/helper`. */
  readonly name: string
  /** The engines that run its sessions: a session of another engine is of another kind. */
  readonly engines: readonly EngineKey[]
  /**
   * Makes the start of a session: a copy of all that the session depends on, so that no later edit changes a running session.
   * @throws DEFINITION_NOT_FOUND, REQUEST_INVALID, STORE_UNAVAILABLE, and errors that the kind documents itself
   */
  start (request: Request, starter: Starter): Promise<Omit<Start, 'owner'>> | Omit<Start, 'owner'>
}

/** A filter for sessions: those of one kind, or all. */
export type Wanted = Pick<SessionKind, 'engines'> | 'any'

/** Whether a session passes a filter. */
export function isWanted ({ start: { engine } }: { readonly start: Pick<Start, 'engine'> }, wanted: Wanted): boolean {
  return wanted === 'any' || wanted.engines.some(({ name }) => name === engine)
}
