import type * as http from 'node:http'
import { createRequire } from 'node:module'
import type { Agent, buildConnector, Client, Dispatcher } from 'undici'

/** An `import` reads every export and so loads Node's own undici: 40 ms, since 22.5 (https://github.com/nodejs/node/issues/59686). */
export const nodeHttp: typeof http = process.getBuiltinModule('node:http')

const load = createRequire(import.meta.url)

/** Loads undici file by file: its index loads 110 files, and touches `globalThis.Headers`, which makes Node load its own undici. */
export const undici = {
  client: () => load('undici/lib/dispatcher/client.js') as typeof Client,
  agent: () => load('undici/lib/dispatcher/agent.js') as typeof Agent,
  connector: () => load('undici/lib/core/connect.js') as typeof buildConnector,
  /** Only the package's index makes this a method of the dispatcher. */
  request: () => load('undici/lib/api/api-request.js') as (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>
}
