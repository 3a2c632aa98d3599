import { fileURLToPath } from 'node:url'
import { loadPackageDefinition, type sendUnaryData, Server, type ServerUnaryCall, type ServiceClientConstructor } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { ReflectionService } from '@grpc/reflection'
import { type Project } from './project.ts'

/** gRPC: `owners.Owners/Find` gives who owns a file. Server reflection tells callers how to speak to it. */
export function createGrpcServer (project: Project): Server {
  const definition = loadSync(fileURLToPath(new URL('owners.proto', import.meta.url)), { keepCase: true })
  const { owners } = loadPackageDefinition(definition) as unknown as { owners: { Owners: ServiceClientConstructor } }
  const server = new Server()
  server.addService(owners.Owners.service, {
    Find (call: ServerUnaryCall<{ file: string }, object>, done: sendUnaryData<object>) {
      done(null, { owners: project.owners(call.request.file) })
    }
  })
  new ReflectionService(definition).addToServer(server)
  return server
}
