import type { Agent } from 'undici'
import { undici } from '../runtime/http-modules.ts'
import { type Egress, EgressError, type TlsFiles } from './egress.ts'

/** A thing that can be shared. It has to be closed when its last user has released it. */
interface Closable { close (): Promise<void> }

/**
 * A pool of things, such as connections, that several tools share. Each is created for the first tool that asks for it, and closed when
 * the last one has released it.
 */
export class SharedPool<T extends Closable> {
  readonly #entries = new Map<string, { readonly value: T, users: number }>()

  /** Gets the thing with a key, and creates it if there is none. Each `acquire` needs a `release`. */
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

/** The most connections that are open to one origin at the same time. */
const MAX_CONNECTIONS = 128

/** The time limit for opening a connection, in ms. */
const CONNECT_TIMEOUT = 5000

type Bounds = Pick<Agent.Options, 'maxResponseSize' | 'bodyTimeout'>

/** A pool of HTTP connections, which is created for the first tool that needs it. */
export interface HttpAgent {
  get (): Promise<Agent>
  /** Closes all connections. */
  close (): Promise<void>
}

/**
 * Makes a pool of HTTP connections that obeys the egress policy (which addresses calls are allowed to go to). Each connection is checked twice: the
 * host as it is written, and in `lookup` each address that the host resolves to.
 * @param bounds limits of undici: `maxResponseSize` in bytes, `bodyTimeout` in ms between two pieces of a body
 */
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
  const files = { ...(ca === null ? {} : { ca }), ...(key === null ? {} : { key }), ...(cert === null ? {} : { cert }) }
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
