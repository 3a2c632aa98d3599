import { type Caller } from '../../../access/caller.ts'
import { type Generation } from '../../../registry/generation/generation.ts'
import { type EngineKey } from '../../../session/engine.ts'
import { type Start } from '../../../session/model.ts'

/** Who starts a session, and in what. */
export interface Starter {
  readonly caller: Caller
  /** What is registered, as the caller may see it. */
  readonly generation: Generation
  /** The id that the session will have. */
  readonly session: string
  /** Of the request. */
  readonly requestId: string
}

/** One kind of sessions: its row in the table that the door reads. */
export interface SessionKind<Request = never> {
  /** What the definitions of its sessions begin with: `agents`. */
  readonly name: string
  /** The engines that run its sessions: a session of another engine is of another kind. */
  readonly engines: readonly EngineKey[]
  /**
   * What a session starts with: all that it depends on, as it is now, so that no later edit changes a running session.
   * @throws DEFINITION_NOT_FOUND, REQUEST_INVALID, STORE_UNAVAILABLE, and what the kind itself says
   */
  start (request: Request, starter: Starter): Promise<Omit<Start, 'owner'>> | Omit<Start, 'owner'>
}

/** Which sessions are meant: those of a kind, or all. */
export type Wanted = Pick<SessionKind, 'engines'> | 'any'

/** Whether a session is one of those that are meant. */
export function isWanted ({ start: { engine } }: { readonly start: Pick<Start, 'engine'> }, wanted: Wanted): boolean {
  return wanted === 'any' || wanted.engines.some(({ name }) => name === engine)
}
