import { randomUUID } from 'node:crypto'
import { parseJson } from '../base/json.ts'
import { type ApiClient, apiPath } from './api-client.ts'
import { type Beginning, type DialogueEvent, type Dialogues, type DialogueState } from './dialogue.ts'
import { CliError, EXIT } from './exit-codes.ts'
import { listOf, objectOf, textOf } from './json-members.ts'

/** Dialogues of a service. */
export function remoteDialogues ({ definition, request }: Pick<Beginning, 'definition' | 'request'>, api: ApiClient): Dialogues {
  async function stateOf (id: string): Promise<DialogueState> {
    const { status, seq } = objectOf(await api.get(apiPath('api', 'sessions', id)))
    return { id, status: textOf(status), seq: Number(seq), held: status === 'waiting_approval' ? await heldIn(id) : [] }
  }

  /** Whoever may not decide is told so. */
  async function heldIn (session: string): Promise<DialogueEvent[]> {
    const approvals = listOf(await api.get('/api/approvals')).map(objectOf)
    return approvals.filter(approval => approval['session'] === session).map(({ id, rule = '', effect }) => ({ type: 'approval', data: { rule, ...objectOf(effect), effect: textOf(id).slice(session.length + 1) } }))
  }

  async function cancel (id: string): Promise<void> {
    await api.post(apiPath('api', 'sessions', id, 'cancel'), {})
  }

  return {
    async start () {
      const reply = objectOf(await api.post(request.path, request.body))
      return { id: request.idOf?.(reply) ?? textOf(reply['id']), status: 'running', seq: 0, held: [] }
    },
    async find (id) {
      if (id !== undefined) return await stateOf(id)
      for (const status of ['waiting_input', 'running', 'waiting_approval']) {
        const page = objectOf(await api.get(`/api/sessions?${new URLSearchParams({ definition, status, limit: '1' }).toString()}`))
        const [head] = listOf(page['sessions'])
        if (head !== undefined) return await stateOf(textOf(objectOf(head)['id']))
      }
      throw new CliError(EXIT.NO, `there is no session of ${definition} to go on with`)
    },
    async say (id, said) {
      if (said === 'cancel') return await cancel(id)
      await api.post(apiPath('api', 'sessions', id, 'input'), { ...said }, { 'idempotency-key': randomUUID() })
    },
    async decide (id, effect, verdict) {
      if (verdict === 'cancel') return await cancel(id)
      await api.post(apiPath('api', 'approvals', `${id}:${effect}`), { ...verdict })
    },
    async * events (id, after) {
      for await (const { name, data } of api.events(`${apiPath('api', 'sessions', id, 'events')}?after=${after}.999999999`)) {
        if (data !== undefined && data !== '') yield { type: name, data: objectOf(parseJson(data)) }
      }
    },
    async close () {}
  }
}
