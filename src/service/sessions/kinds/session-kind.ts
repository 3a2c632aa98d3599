import { type Caller } from '../../../access/caller.ts'
import { type Generation } from '../../../registry/generation/generation.ts'
import { type EngineKey } from '../../../session/engine.ts'
import { type Start } from '../../../session/model.ts'

/** Who starts a session, and the registered entries at that moment. */
export interface Starter {
  readonly caller: Caller
  /** The entries that the caller may see: a snapshot, which later changes leave as it is. */
  readonly generation: Generation
  /** The id that the session will have. */
  readonly session: string
  /** The id of the request that starts the session. */
  readonly requestId: string
}

/** One kind of sessions, such as dialogues with agents: how its sessions are started, and which engines run them. */
export interface SessionKind<Request = never> {
  /** The first part of the names of the kind's definitions: `agents` in `agents/helper`. */
  readonly name: string
  /** The engines that run the kind's sessions. The engine of a session tells of which kind the session is. */
  readonly engines: readonly EngineKey[]
  /**
   * Makes the recorded start of a session: a copy of everything that the session depends on, so that no later edit changes a session that
   * runs.
   * @throws DEFINITION_NOT_FOUND, REQUEST_INVALID, STORE_UNAVAILABLE, and errors that the kind documents itself
   */
  start (request: Request, starter: Starter): Promise<Omit<Start, 'owner'>> | Omit<Start, 'owner'>
}

/** The kind of sessions that a call accepts, or `any`. */
export type Wanted = Pick<SessionKind, 'engines'> | 'any'

/** Whether a session is of the kind that a call accepts. */
export function isWanted ({ start: { engine } }: { readonly start: Pick<Start, 'engine'> }, wanted: Wanted): boolean {
  return wanted === 'any' || wanted.engines.some(({ name }) => name === engine)
}
