import { Agent, buildConnector } from 'undici'
import { type Egress, EgressError } from './egress.ts'

/** Connections to one origin at a time. */
const MAX_CONNECTIONS = 128

/**
 * Makes the one pool of HTTP connections of all tools. Every connection, whoever asks for it, passes the egress policy
 * twice: its host as it is written, and in `lookup` each address that the host resolves to.
 *
 * @param maxReply bytes of one reply's body
 */
export function createHttpAgent (egress: Egress, maxReply: number): Agent {
  const connect = buildConnector({ lookup: egress.lookup, timeout: 5000 })
  return new Agent({
    connections: MAX_CONNECTIONS,
    maxResponseSize: maxReply,
    connect: (options, done) => {
      const refusal = egress.refusal(options.hostname)
      if (refusal === undefined) return connect(options, done)
      done(new EgressError(refusal), null)
    }
  })
}
