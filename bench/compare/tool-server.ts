import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'

/** The service behind the tools of both sides, which counts what it is asked. */
export interface ToolServer {
  readonly url: string
  /** `GET /owners/…` since `reset`. */
  owners (): number
  /** `POST /transfers` since `reset`: what should happen once. */
  transfers (): number
  reset (): void
  /** The next transfer is counted, and has no answer until the function that this gives is called. */
  holdNext (): { readonly isAsked: Promise<void>, release (): void }
  close (): Promise<void>
}

/** Starts it on a free port. */
export async function startToolServer (): Promise<ToolServer> {
  let counts = { owners: 0, transfers: 0 }
  let hold: ((response: ServerResponse) => void) | undefined
  const server = createServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    if (request.method === 'GET') {
      counts.owners++
      response.end('{"owners":["Ada"]}')
      return
    }
    counts.transfers++
    const next = hold
    hold = undefined
    if (next === undefined) response.end('{"done":true}')
    else next(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    owners: () => counts.owners,
    transfers: () => counts.transfers,
    reset () { counts = { owners: 0, transfers: 0 } },
    holdNext () {
      let held: ServerResponse | undefined
      const isAsked = new Promise<void>(resolve => {
        hold = response => {
          held = response
          resolve()
        }
      })
      return { isAsked, release: () => { held?.end('{"done":true}') } }
    },
    async close () {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
}
