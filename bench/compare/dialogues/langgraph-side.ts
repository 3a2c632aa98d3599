import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { Agent, fetch } from 'undici'
import { type Server, startServer } from '../server-process.ts'
import { type Dialogue, firstFitting, type Side, type Turn } from './side.ts'

/** A turn may take minutes: its model is asked again and again, ever more slowly. */
const PATIENT = new Agent({ headersTimeout: 0, bodyTimeout: 0 })

/** The service in `bench/compare/langgraph`, over SQLite. @param folder for checkpoints and logs */
export function langgraphSide ({ folder, modelUrl, toolsUrl }: { readonly folder: string, readonly modelUrl: string, readonly toolsUrl: string }): Side {
  let server: Server | undefined
  const env = { MODEL_URL: modelUrl, TOOLS_URL: toolsUrl, CHECKPOINTS: `${folder}/checkpoints.sqlite` }

  async function post (path: string, body: object, headers: Readonly<Record<string, string>> = {}): ReturnType<typeof fetch> {
    if (server === undefined) throw new Error('it has not been started')
    return await fetch(`${server.url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body), dispatcher: PATIENT })
  }

  return {
    name: 'LangGraph.js',
    async start () { server = await startServer(resolve('bench/compare/langgraph/server.js'), { cwd: folder, env, log: `${folder}/langgraph.log` }) },
    async kill () { await server?.kill() },
    async open (agent) { return dialogueOf(`${agent}/${randomUUID()}`) }
  }

  function dialogueOf (path: string): Dialogue {
    let hasThrown = false
    const turn = async (body: object): Promise<Turn> => {
      const { answer, error, waits = false } = await (await post(path, body)).json() as { readonly answer?: string, readonly error?: string, readonly waits?: boolean }
      hasThrown = error !== undefined
      return { answer: waits || answer === '' ? undefined : answer, failed: error ?? (answer === '' ? 'an empty answer' : undefined), waits }
    }
    return {
      say: async text => await turn({ text }),
      // A run that has thrown, or was interrupted, is invoked again without input; one that has ended is told once more.
      retry: async text => await turn(hasThrown ? {} : { text }),
      approve: async () => await turn({ decision: 'approve' }),
      goOn: async () => await turn({}),
      async firstWords (text) {
        const begun = performance.now()
        return await firstFitting(await post(path, { text }, { accept: 'text/event-stream' }), begun, frame => /^data: "[^"]/.test(frame))
      }
    }
  }
}
