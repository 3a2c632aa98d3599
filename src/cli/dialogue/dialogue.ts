import { type JsonObject } from '../../base/json.ts'
import { type Service } from '../../service.ts'
import { type Progress, type Visitor } from '../../service/sessions/door.ts'
import { type Session } from '../../session/session.ts'
import { type ApiClient } from '../api-client.ts'

/** Something that happens in a dialogue. */
export interface DialogueEvent {
  /** As in `GET /api/sessions/{id}/events`: stdout, log, state, message, live, … */
  readonly type: string
  readonly data: JsonObject
}

/** How far a dialogue is. */
export interface DialogueState {
  readonly id: string
  readonly status: string
  /** In the words of its engine. */
  readonly word: string
  /** How many transitions it has. */
  readonly seq: number
  /** What it waits for an answer to, as events. */
  readonly asked: readonly DialogueEvent[]
}

/** What dialogues of one command begin with. */
export interface Beginning {
  /** What their sessions are listed under, as `agents/helper`; with a `/` at its end, all below it. */
  readonly definition: string
  /** Begins one in a service, and gives the id of its session. @throws CliError */
  startAt (api: ApiClient): Promise<string>
  /** Begins one in this process. @throws ServiceError */
  start (service: Service, visitor: Visitor): Promise<Progress>
  /** The command that goes on with a session. */
  resume (id: string): string
  /** Whether nothing is left undone where its user leaves a session that waits in a word. */
  isSettled (word: string): boolean
  /** Whether the exit code tells a script that the last turn has failed. @default false */
  readonly hasTurns?: boolean
  /** What a session has asked last: it is shown again when it is gone on with. @default nothing is */
  readonly recall?: {
    of (session: Session): readonly DialogueEvent[]
    /** @throws CliError */
    from (api: ApiClient, id: string): Promise<readonly DialogueEvent[]>
  }
}

/** How many of the newest sessions are looked at for one of a kind. */
export const LOOKED_AT = 200

/** What a user says: words, something else that the session knows, or that it is to end. */
export type Said = { readonly text: string } | { readonly action: { readonly name: string, readonly data: JsonObject } } | 'cancel'

/** A person's decision about an effect. */
export interface Decided {
  readonly decision: 'approve' | 'reject'
  /** Of what was shown. */
  readonly digest: string
  /** In place of the command that was shown. */
  readonly command?: string
}

/** Which part of a change is wanted. */
export type PreviewQuery = { readonly after: number } | { readonly path: string, readonly side: 'before' | 'after' }

/** Dialogues of one kind. Variants: of a service over HTTP, and in this process. Every method throws CliError. */
export interface Dialogues {
  start (): Promise<DialogueState>
  /** The session of an id, or the last of the kind that goes on still. */
  find (id?: string): Promise<DialogueState>
  say (id: string, said: Said): Promise<void>
  /** Decides about an effect that waits for a person. */
  decide (id: string, effect: string, decided: Decided): Promise<void>
  /** A part of the change that a plan shows, or with a path one side of a file, as `GET /api/plans/{id}/preview` has them. */
  preview (id: string, query: PreviewQuery): Promise<JsonObject>
  /** What happens behind a transition, until the session ends. */
  events (id: string, after: number): AsyncIterable<DialogueEvent>
  close (): Promise<void>
}
