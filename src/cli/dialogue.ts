import { randomUUID } from 'node:crypto'
import { type JsonObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import type { Service } from '../service.ts'
import type { TurnResult, RequestContext } from '../service/sessions/session-service.ts'
import { type ApiClient, apiPath, searchOf } from './api-client.ts'
import { CliError, EXIT } from './output.ts'

export function remoteDialogues ({ definition, startAt }: SessionLaunch, api: ApiClient): Dialogues {
  async function stateOf (id: string): Promise<DialogueView> {
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
        const query = searchOf({ definition: definition.endsWith('/') ? undefined : definition, status, limit: String(LOOKED_AT) })
        const page = objectOf(await api.get(`/api/sessions?${query}`))
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

const MAX_PLACE = 999_999_999

export function placeIn (bytes: Buffer): EventPlace | undefined {
  const [, seq, n] = /^id: ?(\d+)\.(\d+)\r?$/m.exec(bytes.toString()) ?? []
  return seq === undefined ? undefined : { seq: Number(seq), n: Number(n) }
}

/** Whoever owns the session. @throws CliError, also for a caller who may not decide */
export async function approvalsIn (api: ApiClient, session: string): Promise<DialogueEvent[]> {
  const { approvals } = objectOf(await api.get(`/api/approvals?${new URLSearchParams({ session }).toString()}`))
  return listOf(approvals).map(objectOf).map(({ id, rule = '', digest = '', effect: shown }) => {
    const effect = textOf(id).slice(session.length + 1)
    return { type: 'approval', data: { rule, digest, ...objectOf(shown), effect } }
  })
}

export interface DialogueEvent {
  /** As in `GET /api/sessions/{id}/events`. */
  readonly type: string
  readonly data: JsonObject
  /** In the session's log; live events have none. */
  readonly place?: EventPlace | undefined
}

export interface EventPlace { readonly seq: number, readonly n: number }

/** The sender follows the session's events, and so does not wait for what comes next. */
export const AT_ONCE = { prefer: 'respond-async' } as const

export interface DialogueView {
  readonly id: string
  readonly status: string
  /** Such as `await_input`: finer than `status`, and of its own for each kind of session. */
  readonly word: string
  readonly seq: number
  readonly asked: readonly DialogueEvent[]
}

export interface SessionLaunch {
  /** Such as `agents/helper`; `plans/` stands for all plan profiles. */
  readonly definition: string
  /** @throws CliError */
  startAt (api: ApiClient): Promise<string>
  /** @throws ServiceError */
  start (service: Service, visitor: RequestContext): Promise<TurnResult>
  resume (id: string): string
  /** Whether the user may leave; else the session waits for an answer, and the command ends with an error. */
  isSettled (word: string): boolean
  /** With turns, a failed one is an error only for scripts: at a terminal the person has read it. @default false */
  readonly hasTurns?: boolean
  readonly hint: string
}

/** The newest ones, to find the last open session of the definition. */
export const LOOKED_AT = 200

/** The newest ones, looked through for the last turn of a resumed session. */
export const LAST_MESSAGES = 100

export type DialogueInput = { readonly text: string } | { readonly action: { readonly name: string, readonly data: JsonObject } } | 'cancel'

export interface DecisionInput {
  readonly decision: 'approve' | 'reject'
  /** As it was shown: the service refuses a decision about anything else. */
  readonly digest: string
  readonly command?: string
}

/** Over HTTP, or in this process. Every method throws CliError. */
export interface Dialogues {
  start (): Promise<DialogueView>
  /** Without an id, the newest open session of this command's definition. */
  find (id?: string): Promise<DialogueView>
  say (id: string, said: DialogueInput): Promise<void>
  decide (id: string, effect: string, decided: DecisionInput): Promise<void>
  /** As `GET /api/plans/{id}/preview` gives it. */
  preview (id: string, query: { readonly after: number } | { readonly path: string, readonly side: 'before' | 'after' }): Promise<JsonObject>
  /** The newest last, in the form of `GET /api/sessions/{id}/messages`. */
  lastMessages (id: string): Promise<readonly JsonObject[]>
  printed (id: string, place: EventPlace): Promise<string>
  /** Until the session ends. */
  events (id: string, after: number): AsyncIterable<DialogueEvent>
  close (): Promise<void>
}
