import OpenAI from 'openai'
import { type Registrations } from './registered.ts'
import { type Service, startService } from './service.ts'
import { type AtEnd, shared } from './shared.ts'
import { type Answer, startUpstream, type UpstreamServer } from './upstream-server.ts'

/** The service on a socket between OpenAI's own client and an upstream that is not ours. */
export interface OfficialClient {
  readonly client: OpenAI
  readonly upstream: UpstreamServer
  readonly service: Service
  readonly origin: string
  /** What the upstream was asked, parsed. */
  asked (): readonly OpenAI.ChatCompletionCreateParams[]
}

export async function startOfficialClient (t: AtEnd, answer: Answer, registrations: Registrations = {}, environment: Readonly<Record<string, string>> = {}): Promise<OfficialClient> {
  const upstream = await startUpstream(answer)
  const service = await startService(t, registrations, { LLM_BASE_URL: upstream.baseUrl, RENDER_TIMEOUT_MS: '20000', ...environment })
  // Hooks run in the order of their registration; a call that still runs would keep the service from closing.
  t.after(() => upstream.close())
  const origin = await service.listen()
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'sk-caller' })
  const asked = () => upstream.hits.map(({ body }) => JSON.parse(body) as OpenAI.ChatCompletionCreateParams)
  return { client, upstream, service, origin, asked }
}

/** One service, client and upstream for all tests of a suite. Each call says how the upstream answers from then on; what it was asked counts from there. */
export function sharedOfficialClient (registrations: Registrations = {}, environment: Readonly<Record<string, string>> = {}): (answer: Answer) => Promise<OfficialClient> {
  let current: Answer = () => {}
  const started = shared(suite => startOfficialClient(suite, (...given) => current(...given), registrations, environment))
  return async answer => {
    const official = await started()
    const { upstream } = official
    const before = upstream.hits.length
    current = (hit, response, count) => answer(hit, response, count - before)
    return { ...official, upstream: { ...upstream, get hits () { return upstream.hits.slice(before) } }, asked: () => official.asked().slice(before) }
  }
}
