import type * as http from 'node:http'
import { createRequire } from 'node:module'
import type { Agent, buildConnector, Client, Dispatcher } from 'undici'

/** An `import` reads every export and so loads Node's own undici: 40 ms, since 22.5 (https://github.com/nodejs/node/issues/59686). */
export const nodeHttp: typeof http = process.getBuiltinModule('node:http')

const load = createRequire(import.meta.url)

/**
 * The parts of the HTTP client undici that the service needs, each loaded when it is first used. The index of the package loads 110 files, and
 * touches `globalThis.Headers`, which makes Node load its own undici, too. The package has no `exports` list, so that its files can be loaded one by
 * one.
 */
export const undici = {
  /** Loads the class of one connection. */
  client: () => load('undici/lib/dispatcher/client.js') as typeof Client,
  /** Loads the class of a pool of connections for any number of origins. */
  agent: () => load('undici/lib/dispatcher/agent.js') as typeof Agent,
  /** Loads the function that makes the functions which open connections. */
  connector: () => load('undici/lib/core/connect.js') as typeof buildConnector,
  /** Loads the function that sends one request through a dispatcher. Only the package's index makes it a method of the dispatcher. */
  request: () => load('undici/lib/api/api-request.js') as (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>
}
