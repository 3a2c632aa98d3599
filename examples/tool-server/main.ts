import { createServer } from 'node:http'
import { ServerCredentials } from '@grpc/grpc-js'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createGrpcServer } from './grpc.ts'
import { createMcp } from './mcp.ts'
import { readProject } from './project.ts'
import { answerRest } from './rest.ts'

// A small tool server in all three protocols: about the Go project beside it, and what examples/agents/helper.yaml asks.
// npm run example:tools starts it. The registrations in examples/tools/ and the addresses in examples/environs/modules/
// point here.

const HOST = '127.0.0.1'
const httpPort = Number(process.env['EXAMPLE_HTTP_PORT'] ?? 8090)
const grpcPort = Number(process.env['EXAMPLE_GRPC_PORT'] ?? 8091)

const project = readProject()
const mcp = createMcp(project)
const answerMcp = toNodeHandler(mcp)
const http = createServer((request, response) => {
  if (request.url !== '/mcp') {
    answerRest(project, request, response).catch(() => response.destroy())
    return
  }
  answerMcp(request as Parameters<typeof answerMcp>[0], response).catch(() => response.destroy())
})
const grpc = createGrpcServer(project)

await new Promise<void>((resolve, reject) => http.once('error', reject).listen(httpPort, HOST, resolve))
await new Promise<void>((resolve, reject) => grpc.bindAsync(`${HOST}:${grpcPort}`, ServerCredentials.createInsecure(), error => error === null ? resolve() : reject(error)))
console.log(`REST  http://${HOST}:${httpPort}/references/{symbol} /translate/zh/en /rag/search /haiku/generate_haiku
gRPC  ${HOST}:${grpcPort} owners.Owners/Find
MCP   http://${HOST}:${httpPort}/mcp outline`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    grpc.forceShutdown()
    http.close()
    http.closeAllConnections()
    mcp.close().catch(() => {})
  })
}
