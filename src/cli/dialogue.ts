import { randomUUID } from 'node:crypto'
import { type JsonObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import { type ApiClient, apiPath } from './api-client.ts'
import { CliError, EXIT } from './output.ts'

/** What dialogues of a definition ask of a service. Every method throws CliError. */
export class Dialogues {
  readonly #definition: string
  readonly #api: ApiClient

  /** @param definition such as `agents/helper`, or a prefix that ends with a slash */
  constructor (definition: string, api: ApiClient) {
    this.#definition = definition
    this.#api = api
  }

  /** Without an id, the newest open session of the definition. */
  async find (id?: string): Promise<DialogueView> {
    if (id !== undefined) return await this.#stateOf(id)
    const definition = this.#definition
    for (const status of ['waiting_input', 'running', 'waiting_approval'] as const) {
      const only = definition.endsWith('/') ? undefined : definition
      const { sessions } = await this.#api.ask('get', '/api/sessions', { definition: only, status, limit: LOOKED_AT })
      const head = sessions.find(each => each.definition.startsWith(definition))
      if (head !== undefined) return await this.#stateOf(head.id)
    }
    throw new CliError(EXIT.NO, `there is no session of ${definition} to go on with`)
  }

  async #stateOf (id: string): Promise<DialogueView> {
    const { status, seq, word } = await this.#api.ask('get', '/api/sessions/{id}', { id })
    const held = status === 'waiting_approval' ? await approvalsIn(this.#api, id) : []
    return { id, status, word, seq, asked: held }
  }

  async say (id: string, said: DialogueInput): Promise<void> {
    if (said === 'cancel') await this.#api.ask('post', '/api/sessions/{id}/cancel', { id }, {})
    else await this.#api.ask('post', '/api/sessions/{id}/input', { id }, said, { 'idempotency-key': randomUUID(), ...AT_ONCE })
  }

  async decide (id: string, effect: string, decided: DecisionInput): Promise<void> {
    await this.#api.ask('post', '/api/approvals/{id}', { id: `${id}:${effect}` }, decided)
  }

  async preview (id: string, query: { readonly after: number } | { readonly path: string, readonly side: 'before' | 'after' }): Promise<JsonObject> {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))
    return objectOf(await this.#api.get(`${apiPath('api', 'plans', id, 'preview')}?${search.toString()}`))
  }

  /** The newest last. */
  async lastMessages (id: string): Promise<readonly JsonObject[]> {
    return listOf(objectOf(await this.#api.get(`${apiPath('api', 'sessions', id, 'messages')}?last=true&limit=${LAST_MESSAGES}`))['messages']).map(objectOf)
  }

  async printed (id: string, { seq, n }: EventPlace): Promise<string> {
    const after = n === 0 ? `${seq - 1}.${MAX_PLACE}` : `${seq}.${n - 1}`
    const page = objectOf(await this.#api.get(`${apiPath('api', 'sessions', id, 'messages')}?after=${after}&limit=1`))
    const [message] = listOf(page['messages']).map(objectOf)
    return textOf(message?.['output'])
  }

  /** Until the session ends. */
  async * events (id: string, after: number): AsyncGenerator<DialogueEvent, void> {
    for await (const { name, data, bytes } of this.#api.events(`${apiPath('api', 'sessions', id, 'events')}?after=${after}.${MAX_PLACE}`)) {
      if (data !== undefined && data !== '') yield { type: name, data: objectOf(parseJson(data)), place: placeIn(bytes) }
    }
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

/** The newest ones, to find the last open session of the definition. */
const LOOKED_AT = 200

/** The newest ones, looked through for the last turn of a resumed session. */
const LAST_MESSAGES = 100

export type DialogueInput = { readonly text: string } | { readonly action: { readonly name: string, readonly data: JsonObject } } | 'cancel'

export interface DecisionInput {
  readonly decision: 'approve' | 'reject'
  /** As it was shown: the service refuses a decision about anything else. */
  readonly digest: string
  readonly command?: string
}
