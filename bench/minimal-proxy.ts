// The least that a proxy on Node can do: node:http in front, undici's dispatch behind, no checks, no limits, no errors.
// What the service takes beyond it is the price of what it does.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { Pool } from 'undici'
import { listen } from './listen.ts'

const upstream = new Pool(process.env['UPSTREAM'] ?? '', { connections: null })

listen(createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    upstream.dispatch({ method: 'POST', path: request.url ?? '/', headers: { 'content-type': 'application/json' }, body: Buffer.concat(pieces) }, {
      onRequestStart () {},
      onResponseStart (_controller, status, headers) {
        response.writeHead(status, pick(headers, ['content-type', 'content-length']))
      },
      onResponseData (_controller, piece) {
        response.write(piece)
      },
      onResponseEnd () {
        response.end()
      },
      onResponseError () {
        response.destroy()
      }
    })
  })
}))

function pick (headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders {
  return Object.fromEntries(names.filter(name => headers[name] !== undefined).map(name => [name, headers[name]]))
}
