import type { Agent } from 'undici'
import { undici } from '../runtime/http-modules.ts'
import { type Egress, EgressError, type TlsFiles } from './egress.ts'

/** Each shared thing is created for the first that asks for it, and closed when the last has released it. */
export class SharedPool<T extends { close (): Promise<void> }> {
  readonly #entries = new Map<string, { readonly value: T, users: number }>()

  /** Each `acquire` needs a `release`. */
  acquire (key: string, create: () => T): T {
    const entry = this.#entries.get(key) ?? { value: create(), users: 0 }
    entry.users++
    this.#entries.set(key, entry)
    return entry.value
  }

  async release (key: string): Promise<void> {
    const entry = this.#entries.get(key)
    if (entry === undefined || --entry.users > 0) return
    this.#entries.delete(key)
    await entry.value.close()
  }
}

/** For each origin. */
const MAX_CONNECTIONS = 128

/** In ms. */
const CONNECT_TIMEOUT = 5000

type Bounds = Pick<Agent.Options, 'maxResponseSize' | 'bodyTimeout'>

export interface HttpAgent {
  get (): Promise<Agent>
  close (): Promise<void>
}

/** Checks the host as written, and in `lookup` each address. `bounds`: `maxResponseSize` in bytes, `bodyTimeout` in ms between pieces. */
export function createHttpAgent (egress: Egress, tls: TlsFiles, bounds: Bounds): HttpAgent {
  let agent: Promise<Agent> | undefined
  return {
    get: () => (agent ??= openAgent(egress, tls, bounds)),
    close: async () => { await (await agent)?.destroy() }
  }
}

async function openAgent (egress: Egress, tls: TlsFiles, bounds: Bounds): Promise<Agent> {
  const [Agent, buildConnector] = [undici.agent(), undici.connector()]
  const { ca, key, cert } = tls
  const files = { ca: ca ?? undefined, key: key ?? undefined, cert: cert ?? undefined }
  const connect = buildConnector({ lookup: egress.lookup, timeout: CONNECT_TIMEOUT, ...files })
  return new Agent({
    ...bounds,
    connections: MAX_CONNECTIONS,
    connect: (options, done) => {
      const refusal = egress.refusal(options.hostname)
      if (refusal === undefined) return connect(options, done)
      done(new EgressError(refusal), null)
    }
  })
}
