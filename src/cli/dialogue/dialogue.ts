import { type JsonObject } from '../../base/json.ts'
import { type Service } from '../../service.ts'
import { type Progress, type Visitor } from '../../service/sessions/door.ts'
import { type Session } from '../../session/session.ts'
import { type ApiClient } from '../api-client.ts'

/** Something that happens in a dialogue. */
export interface DialogueEvent {
  /** The type of the event, as in `GET /api/sessions/{id}/events`: stdout, log, state, message, live, … */
  readonly type: string
  readonly data: JsonObject
}

/** The present state of a dialogue. */
export interface DialogueState {
  readonly id: string
  readonly status: string
  /** The name of the state, in the words of the engine. */
  readonly word: string
  /** How many transitions the session has. */
  readonly seq: number
  /** The open questions of the session, as events. */
  readonly asked: readonly DialogueEvent[]
}

/** The way in which a command begins and finds its dialogues. */
export interface Beginning {
  /** The definition of the sessions, such as `agents/helper`; one with a `/` at its end stands for all definitions below it. */
  readonly definition: string
  /** Begins a dialogue in a service, and gives the id of its session. @throws CliError */
  startAt (api: ApiClient): Promise<string>
  /** Begins a dialogue in this process. @throws ServiceError */
  start (service: Service, visitor: Visitor): Promise<Progress>
  /** The command that goes on with a session. */
  resume (id: string): string
  /** Whether a user who leaves a session in this state leaves nothing unanswered. */
  isSettled (word: string): boolean
  /** Whether a turn that has failed is one of many, so that only a script is told by the exit code. @default false */
  readonly hasTurns?: boolean
  /** The last question of a session, which is shown again when the dialogue is resumed. @default nothing is shown */
  readonly recall?: {
    of (session: Session): readonly DialogueEvent[]
    /** @throws CliError */
    from (api: ApiClient, id: string): Promise<readonly DialogueEvent[]>
  }
}

/** How many of the newest sessions are looked at for one of a kind. */
export const LOOKED_AT = 200

/** An input of a user: words, an action, or `cancel` to end the session. */
export type Said = { readonly text: string } | { readonly action: { readonly name: string, readonly data: JsonObject } } | 'cancel'

/** A person's decision about an effect. */
export interface Decided {
  readonly decision: 'approve' | 'reject'
  /** The digest of the effect that was shown. */
  readonly digest: string
  /** The command to run in place of the one that was shown. */
  readonly command?: string
}

/** Which part of a change is wanted. */
export type PreviewQuery = { readonly after: number } | { readonly path: string, readonly side: 'before' | 'after' }

/** Dialogues of one kind. Variants: of a service over HTTP, and in this process. Every method throws CliError. */
export interface Dialogues {
  start (): Promise<DialogueState>
  /** The session of an id; without an id, the last session of the kind that is still open. */
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
