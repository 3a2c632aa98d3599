import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Server, startServer } from '../server-process.ts'
import { type Dialogue, firstFitting, type Side, type Turn } from './side.ts'

interface TurnView { readonly status: string, readonly answer?: string | null, readonly error?: { readonly code: string } | null }
interface Messages { readonly messages: ReadonlyArray<{ readonly role: string, readonly text: string }> }
interface Approval { readonly id: string, readonly digest: string }

const PATIENCE = 60_000

/** This service, as `npm start` runs it, over a folder of agents and tools. @param folder for sessions and logs */
export function ourSide ({ folder, modelUrl, toolsUrl }: { readonly folder: string, readonly modelUrl: string, readonly toolsUrl: string }): Side {
  let server: Server | undefined
  const env = { PORT: '0', STORE_DIR: resolve('bench/compare/ours'), STATE_DIR: `${folder}/state`, LLM_BASE_URL: modelUrl, LLM_API_KEY: 'k', LLM_MODEL: 'scripted', TOOL_BASE_URLS: `team=${toolsUrl}` }

  async function call<T> (path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<T> {
    const response = await request(path, body, headers)
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return await response.json() as T
  }

  async function request (path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    if (server === undefined) throw new Error('it has not been started')
    return await fetch(`${server.url}${path}`, body === undefined ? { headers } : { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
  }

  return {
    name: 'ai-prompt-shell',
    async start () { server = await startServer(resolve('dist/main.js'), { cwd: folder, env, log: `${folder}/ours.log` }) },
    async kill () { await server?.kill() },
    async open (agent) {
      const { id } = await call<{ readonly id: string }>(`/api/agents/${agent}/sessions`, {})
      return dialogueOf(id)
    }
  }

  function dialogueOf (id: string): Dialogue {
    const say = async (text: string): Promise<Turn> => {
      const turn = await call<TurnView>(`/api/agents/sessions/${id}/message`, { text })
      return turn.status === 'running' ? await settled() : turnOf(turn)
    }
    /** Once the session waits for somebody, or has ended. */
    async function settled (): Promise<Turn> {
      const until = performance.now() + PATIENCE
      while (performance.now() < until) {
        const view = await call<TurnView>(`/api/sessions/${id}`)
        const approvals = await waiting()
        if (approvals.length > 0) return { answer: undefined, failed: undefined, waits: true }
        if (view.status !== 'running' && view.status !== 'waiting_approval') return { answer: await lastWords(), failed: undefined, waits: false }
        await sleep(100)
      }
      throw new Error(`session ${id} does not settle`)
    }
    async function lastWords (): Promise<string | undefined> {
      const { messages } = await call<Messages>(`/api/sessions/${id}/messages`)
      return messages.findLast(({ role, text }) => role === 'assistant' && text !== '')?.text
    }
    /** What waits in the session, and in those below it. */
    async function waiting (): Promise<readonly Approval[]> {
      return (await call<{ readonly approvals: readonly Approval[] }>('/api/approvals')).approvals
    }
    return {
      say,
      retry: async () => await say('/retry'),
      async approve () {
        for (const { id: approval, digest } of await waiting()) await call(`/api/approvals/${approval}`, { decision: 'approve', digest })
        return await settled()
      },
      goOn: settled,
      async firstWords (text) {
        const begun = performance.now()
        const response = await request(`/api/agents/sessions/${id}/message`, { text }, { accept: 'text/event-stream' })
        return await firstFitting(response, begun, frame => frame.includes('"llm.delta"'))
      }
    }
  }
}

function turnOf ({ status, answer, error }: TurnView): Turn {
  return { answer: answer ?? undefined, failed: error?.code, waits: status === 'waiting_approval' }
}
