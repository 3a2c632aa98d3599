import { type JsonObject } from '../base/json.ts'
import { type Service } from '../service.ts'
import { type StartRequest } from '../service/sessions/sessions.ts'

/** Something that happens in a dialogue. */
export interface DialogueEvent {
  /** As in `GET /api/sessions/{id}/events`: stdout, log, state, message, … */
  readonly type: string
  readonly data: JsonObject
}

/** How far a dialogue is that is gone on with. */
export interface DialogueState {
  readonly id: string
  readonly status: string
  /** How many transitions it has. */
  readonly seq: number
  /** What waits for a person, as events. */
  readonly held: readonly DialogueEvent[]
}

/** What dialogues of one command begin with. */
export interface Beginning {
  /** What their sessions are listed under, as `agents/helper`. */
  readonly definition: string
  /** How a service is asked to begin one. */
  readonly request: {
    readonly path: string
    readonly body: JsonObject
    /** The session's id in the reply. @default its `id` */
    readonly idOf?: (reply: JsonObject) => string
  }
  /** What one begins with in this process. @throws ServiceError */
  start (service: Service): Promise<StartRequest['start']>
}

/** What a user says: words, or something else that the session knows. */
export type Said = { readonly text: string } | { readonly action: { readonly name: string, readonly data: JsonObject } } | 'cancel'

/** What a person says of an effect that waits. @property command in place of the one that was shown */
export type Verdict = { readonly decision: 'approve' | 'reject', readonly command?: string } | 'cancel'

/** Dialogues of one kind. Variants: of a service over HTTP, and in this process. Every method throws CliError. */
export interface Dialogues {
  start (): Promise<DialogueState>
  /** The session of an id, or the last of the kind that goes on still. */
  find (id?: string): Promise<DialogueState>
  say (id: string, said: Said): Promise<void>
  /** Decides about an effect that waits for a person. */
  decide (id: string, effect: string, verdict: Verdict): Promise<void>
  /** What happens behind a transition, until the session ends. */
  events (id: string, after: number): AsyncIterable<DialogueEvent>
  close (): Promise<void>
}
