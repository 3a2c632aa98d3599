import { type JsonObject } from '../../base/json.ts'
import { type Service } from '../../service.ts'
import { type Progress, type Visitor } from '../../service/sessions/door.ts'
import { type ApiClient } from '../api-client.ts'

/** One event of a dialogue with an agent, a skill or a plan: something said, run or changed. */
export interface DialogueEvent {
  /** The type of the event, as in `GET /api/sessions/{id}/events`: stdout, log, state, message, live, … */
  readonly type: string
  readonly data: JsonObject
  /** Where the event stands in the session's log: the number of its transition (recorded step), and its place there. Live events have none. */
  readonly place?: Place | undefined
}

export interface Place { readonly seq: number, readonly n: number }

/** The header of a request whose sender follows the session's events, and so does not wait for what comes next. */
export const AT_ONCE = { prefer: 'respond-async' } as const

/** The state of a dialogue, as far as the terminal needs it. */
export interface DialogueState {
  readonly id: string
  readonly status: string
  /** The name of the step at which the session is, such as `await_input`; finer than `status`. Each kind of session has its own names. */
  readonly word: string
  /** How many transitions (recorded steps) the session has. */
  readonly seq: number
  /** The open questions of the session, as events. */
  readonly asked: readonly DialogueEvent[]
}

/** How one command, such as `aps agent`, starts and finds its sessions. */
export interface Beginning {
  /** The name of the agent, skill or plan profile that the sessions follow, such as `agents/helper`. `plans/` stands for all plan profiles. */
  readonly definition: string
  /** Starts a session at a service, and returns its id. @throws CliError */
  startAt (api: ApiClient): Promise<string>
  /** Starts a session in this process. @throws ServiceError */
  start (service: Service, visitor: Visitor): Promise<Progress>
  /** The command line that resumes a session, for the user to copy. */
  resume (id: string): string
  /**
   * Whether the user may leave a session that waits in this state. If not, the session still waits for an answer, and the command ends with
   * an error.
   * @param word the name of the state
   */
  isSettled (word: string): boolean
  /**
   * Whether a session consists of many turns (an input of the user and the answer to it), as with an agent. Then a failed turn makes the
   * command end with an error only if stdin is no terminal, as in a script: a person at a terminal has read the error already.
   * @default false
   */
  readonly hasTurns?: boolean
  /** What the user may type, for the first prompt. */
  readonly hint: string
}

/** How many sessions, the newest first, are looked at to find the last open session of an agent, a skill or a plan profile. */
export const LOOKED_AT = 200

/** How many messages, the newest, are looked through for the last turn of a session that is gone on with. */
export const LAST_MESSAGES = 100

/** Input of a user: a text, an action with a name, or `cancel` to end the session. */
export type Said = { readonly text: string } | { readonly action: { readonly name: string, readonly data: JsonObject } } | 'cancel'

/** A person's decision about an action that needs approval. */
export interface Decided {
  readonly decision: 'approve' | 'reject'
  /** The digest of the action as it was shown: the service refuses a decision about anything else. */
  readonly digest: string
  /** The command to run in place of the one that was shown. */
  readonly command?: string
}

/** Which part of a plan's change to read: the files that follow the first `after` files, or the text of one file before or after the change. */
export type PreviewQuery = { readonly after: number } | { readonly path: string, readonly side: 'before' | 'after' }

/**
 * The sessions that one command starts, finds and talks to. Variants: sessions of a service over HTTP, and sessions in this process. Every
 * method throws CliError.
 */
export interface Dialogues {
  start (): Promise<DialogueState>
  /** Finds the session with this id. Without an id, finds the newest session of this command's definition that is still open. */
  find (id?: string): Promise<DialogueState>
  say (id: string, said: Said): Promise<void>
  /** Approves or rejects an action that waits for a person. */
  decide (id: string, effect: string, decided: Decided): Promise<void>
  /**
   * Reads a part of the change that a plan proposes, as `GET /api/plans/{id}/preview` gives it: several files with their diffs, or one text
   * of one file.
   */
  preview (id: string, query: PreviewQuery): Promise<JsonObject>
  /** The last messages of a session, the newest last, in the form of `GET /api/sessions/{id}/messages`. */
  lastMessages (id: string): Promise<readonly JsonObject[]>
  /** What the command has printed whose end is the event at this place. */
  printed (id: string, place: Place): Promise<string>
  /** The events after the session's transition (recorded step) with this number, until the session ends. */
  events (id: string, after: number): AsyncIterable<DialogueEvent>
  close (): Promise<void>
}
