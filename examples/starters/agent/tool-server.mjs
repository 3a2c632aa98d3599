// node tool-server.mjs: a REST service with one call, GET /owners/{part}, which the tool team.find makes.
import { createServer } from 'node:http'

const OWNERS = new Map([['billing', ['Ada']], ['search', ['Grace', 'Alan']]])

const server = createServer((request, response) => {
  const [, part = ''] = /^\/owners\/([^/?]+)$/.exec(request.url ?? '') ?? []
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ owners: OWNERS.get(decodeURIComponent(part)) ?? [] }))
})
server.on('error', error => {
  console.error(`The tool cannot be served at port 8090: ${error.message}`)
  process.exitCode = 1
})
server.listen(8090, '127.0.0.1', () => { console.log('the tool team.find is answered at http://127.0.0.1:8090') })
