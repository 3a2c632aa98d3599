import { type Caller } from '../../access/caller.ts'
import { type ResolvedDefinition } from '../../engine/dialogue.ts'
import { type Generation } from '../../registry/generation.ts'
import { type EngineKey } from '../../session/engine.ts'
import { type Start } from '../../session/model.ts'

/** Who starts a session, and the registered entries at that moment. */
export interface Starter {
  readonly caller: Caller
  /** A snapshot of the registered entries (prompts, tools, agents …) that the caller is allowed to see. Later changes do not alter it. */
  readonly generation: Generation
  /** The id that the session will have. */
  readonly session: string
  /** The id of the request that starts the session. */
  readonly requestId: string
  /**
   * The definition as it was recorded when the first session (the root) began, for a session that another session starts. It is no part of the
   * request, because a caller could send it there.
   */
  readonly recorded?: ResolvedDefinition
}

/** One kind of sessions, such as dialogues with agents: how its sessions are started, and which engines run them. */
export interface SessionKind<Request = never> {
  /** The first part of each definition's name, for example `agents` in `agents/helper`. */
  readonly name: string
  /** The engines (rules by which a session runs) of the kind's sessions. The engine of a session tells of which kind the session is. */
  readonly engines: readonly EngineKey[]
  /**
   * Makes the recorded start of a session: a copy of everything that the session depends on, so that no later edit changes a session that
   * runs.
   * @throws DEFINITION_NOT_FOUND, REQUEST_INVALID, STORE_UNAVAILABLE, and errors that the kind documents itself
   */
  start (request: Request, starter: Starter): Promise<Omit<Start, 'owner'>> | Omit<Start, 'owner'>
}

/** The kind of sessions (dialogues with agents, runs of skills, or plans) with which a caller wants to work, or `any`. */
export type Wanted = Pick<SessionKind, 'engines'> | 'any'

/** Whether a session is of the kind with which the caller wants to work. */
export function isWanted ({ start: { engine } }: { readonly start: Pick<Start, 'engine'> }, wanted: Wanted): boolean {
  return wanted === 'any' || wanted.engines.some(({ name }) => name === engine)
}
