import { type Agent } from 'undici'
import { undici } from '../../runtime/undici.ts'
import { type Egress, EgressError } from '../egress.ts'
import { type TlsFiles } from '../tls.ts'

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
