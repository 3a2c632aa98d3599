import { randomUUID } from 'node:crypto'
import { type JsonObject, parseJson } from '../base/json.ts'
import type { Service } from '../service.ts'
import type { Progress, Visitor } from '../service/sessions/door.ts'
import { type ApiClient, apiPath, listOf, objectOf, textOf } from './api-client.ts'
import { CliError, EXIT } from './output.ts'

/** Dialogues with sessions of a service, over its HTTP API. */
export function remoteDialogues ({ definition, startAt }: Beginning, api: ApiClient): Dialogues {
  async function stateOf (id: string): Promise<DialogueState> {
    const { status, seq, word } = objectOf(await api.get(apiPath('api', 'sessions', id)))
    const held = status === 'waiting_approval' ? await approvalsIn(api, id) : []
    return { id, status: textOf(status), word: textOf(word), seq: Number(seq), asked: held }
  }

  return {
    async start () {
      return { id: await startAt(api), status: 'running', word: '', seq: 0, asked: [] }
    },
    async find (id) {
      if (id !== undefined) return await stateOf(id)
      for (const status of ['waiting_input', 'running', 'waiting_approval']) {
        const query = new URLSearchParams({ ...(definition.endsWith('/') ? {} : { definition }), status, limit: String(LOOKED_AT) })
        const page = objectOf(await api.get(`/api/sessions?${query.toString()}`))
        const head = listOf(page['sessions']).map(objectOf).find(each => textOf(each['definition']).startsWith(definition))
        if (head !== undefined) return await stateOf(textOf(head['id']))
      }
      throw new CliError(EXIT.NO, `there is no session of ${definition} to go on with`)
    },
    async say (id, said) {
      if (said === 'cancel') await api.post(apiPath('api', 'sessions', id, 'cancel'), {})
      else await api.post(apiPath('api', 'sessions', id, 'input'), { ...said }, { 'idempotency-key': randomUUID(), ...AT_ONCE })
    },
    async decide (id, effect, decided) {
      await api.post(apiPath('api', 'approvals', `${id}:${effect}`), { ...decided })
    },
    async preview (id, query) {
      const search = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))
      return objectOf(await api.get(`${apiPath('api', 'plans', id, 'preview')}?${search.toString()}`))
    },
    async lastMessages (id) {
      return listOf(objectOf(await api.get(`${apiPath('api', 'sessions', id, 'messages')}?last=true&limit=${LAST_MESSAGES}`))['messages']).map(objectOf)
    },
    async printed (id, { seq, n }) {
      const after = n === 0 ? `${seq - 1}.${MAX_PLACE}` : `${seq}.${n - 1}`
      const [message] = listOf(objectOf(await api.get(`${apiPath('api', 'sessions', id, 'messages')}?after=${after}&limit=1`))['messages']).map(objectOf)
      return textOf(message?.['output'])
    },
    async * events (id, after) {
      for await (const { name, data, bytes } of api.events(`${apiPath('api', 'sessions', id, 'events')}?after=${after}.${MAX_PLACE}`)) {
        if (data !== undefined && data !== '') yield { type: name, data: objectOf(parseJson(data)), place: placeIn(bytes) }
      }
    },
    async close () {}
  }
}

/** A place behind all events of one transition (recorded step). */
const MAX_PLACE = 999_999_999

/** The place of an event in the session's log, from its id. */
export function placeIn (bytes: Buffer): Place | undefined {
  const [, seq, n] = /^id: ?(\d+)\.(\d+)\r?$/m.exec(bytes.toString()) ?? []
  return seq === undefined ? undefined : { seq: Number(seq), n: Number(n) }
}

/** The actions of a session that wait for approval, whoever owns the session. @throws CliError, also for a caller who may not decide */
export async function approvalsIn (api: ApiClient, session: string): Promise<DialogueEvent[]> {
  const { approvals } = objectOf(await api.get(`/api/approvals?${new URLSearchParams({ session }).toString()}`))
  return listOf(approvals).map(objectOf).map(({ id, rule = '', digest = '', effect: shown }) => {
    const effect = textOf(id).slice(session.length + 1)
    return { type: 'approval', data: { rule, digest, ...objectOf(shown), effect } }
  })
}

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
type PreviewQuery = { readonly after: number } | { readonly path: string, readonly side: 'before' | 'after' }

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
