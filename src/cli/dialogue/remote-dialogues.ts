import { randomUUID } from 'node:crypto'
import { parseJson } from '../../base/json.ts'
import { type ApiClient, apiPath } from '../api-client.ts'
import { type Beginning, type DialogueEvent, type Dialogues, type DialogueState, AT_ONCE, LAST_MESSAGES, LOOKED_AT, type Place } from './dialogue.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'

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
