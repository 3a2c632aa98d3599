import { type Caller } from '../../access/caller.ts'
import { type ResolvedDefinition } from '../../engine/dialogue.ts'
import { type Generation } from '../../registry/generation.ts'
import { type EngineKey } from '../../session/engine.ts'
import { type Start } from '../../session/model.ts'

export interface Starter {
  readonly caller: Caller
  /** Without what is hidden from the caller; later changes do not alter it. */
  readonly generation: Generation
  readonly session: string
  readonly requestId: string
  /** Recorded when the root began, for a child session; no part of the request, because a caller could send it there. */
  readonly recorded?: ResolvedDefinition
}

export interface SessionKind<Request = never> {
  readonly name: string
  readonly engines: readonly EngineKey[]
  /** Copies all that the session depends on, so no later edit changes it. @throws DEFINITION_NOT_FOUND, REQUEST_INVALID, STORE_UNAVAILABLE */
  start (request: Request, starter: Starter): Promise<Omit<Start, 'owner'>> | Omit<Start, 'owner'>
}

export type RequestedKind = Pick<SessionKind, 'engines'> | 'any'

export function isRequestedKind ({ start: { engine } }: { readonly start: Pick<Start, 'engine'> }, wanted: RequestedKind): boolean {
  return wanted === 'any' || wanted.engines.some(({ name }) => name === engine)
}
