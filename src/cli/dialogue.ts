import { type JsonObject } from '../base/json.ts'

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
}

/** A dialogue with an agent. Variants: of a service over HTTP, and in this process. Every method throws CliError. */
export interface Dialogues {
  start (agent: string): Promise<DialogueState>
  /** The session of an id, or the last of an agent that goes on still. */
  find (agent: string, id?: string): Promise<DialogueState>
  say (id: string, text: string): Promise<void>
  /** Decides about an effect that waits for a person. */
  decide (id: string, effect: string, isAllowed: boolean): Promise<void>
  /** What happens behind a transition, until the session ends. */
  events (id: string, after: number): AsyncIterable<DialogueEvent>
  close (): Promise<void>
}
