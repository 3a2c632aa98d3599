import { randomUUID } from 'node:crypto'
import { parseJson } from '../base/json.ts'
import { type ApiClient, apiPath } from './api-client.ts'
import { type Dialogues, type DialogueState } from './dialogue.ts'
import { CliError, EXIT } from './exit-codes.ts'
import { listOf, objectOf, textOf } from './json-members.ts'

/** Dialogues with the agents of a service. */
export function remoteDialogues (api: ApiClient): Dialogues {
  async function stateOf (id: string): Promise<DialogueState> {
    const { status, seq } = objectOf(await api.get(apiPath('api', 'sessions', id)))
    return { id, status: textOf(status), seq: Number(seq) }
  }

  return {
    async start (agent) {
      const { id } = objectOf(await api.post(apiPath('api', 'agents', agent, 'sessions'), {}))
      return { id: textOf(id), status: 'running', seq: 0 }
    },
    async find (agent, id) {
      if (id !== undefined) return await stateOf(id)
      const definition = `agents/${agent.replaceAll(':', '.')}`
      for (const status of ['waiting_input', 'running', 'waiting_approval']) {
        const page = objectOf(await api.get(`/api/sessions?${new URLSearchParams({ definition, status, limit: '1' }).toString()}`))
        const [head] = listOf(page['sessions'])
        if (head !== undefined) return await stateOf(textOf(objectOf(head)['id']))
      }
      throw new CliError(EXIT.NO, `there is no dialogue with "${agent}" to go on with`)
    },
    async say (id, text) {
      await api.post(apiPath('api', 'sessions', id, 'input'), { text }, { 'idempotency-key': randomUUID() })
    },
    async decide (id, effect, isAllowed) {
      await api.post(apiPath('api', 'approvals', `${id}:${effect}`), { decision: isAllowed ? 'approve' : 'reject' })
    },
    async * events (id, after) {
      for await (const { name, data } of api.events(`${apiPath('api', 'sessions', id, 'events')}?after=${after}.999999999`)) {
        if (data !== undefined && data !== '') yield { type: name, data: objectOf(parseJson(data)) }
      }
    },
    async close () {}
  }
}
