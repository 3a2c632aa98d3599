import { createRequire } from 'node:module'
import { type Agent, type buildConnector, type Client, type Dispatcher } from 'undici'

const load = createRequire(import.meta.url)

/**
 * The parts of undici that the service needs, each loaded when it is asked for. Its index loads 110 files, and touches
 * `globalThis.Headers`, which makes Node load its own undici too. The package has no list of exports that would hide them.
 */
export const undici = {
  /** The class of one connection. */
  client: () => load('undici/lib/dispatcher/client.js') as typeof Client,
  /** The class of a pool for every origin. */
  agent: () => load('undici/lib/dispatcher/agent.js') as typeof Agent,
  /** Makes the functions that open connections. */
  connector: () => load('undici/lib/core/connect.js') as typeof buildConnector,
  /** One request through a dispatcher, which only the index makes a method of it. */
  request: () => load('undici/lib/api/api-request.js') as (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>
}
