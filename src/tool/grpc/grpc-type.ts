import { logUnprepared, singleSource } from '../call/tool-source.ts'
import { SharedPool } from '../rest/shared-pool.ts'
import { type ToolType } from '../tool-type.ts'
import { createGrpcConnector } from './grpc-connector.ts'
import { type GrpcDefinition, parseGrpc } from './grpc-definition.ts'
import { createDescriptionReader } from './grpc-method.ts'
import { createGrpcServer, type GrpcServer } from './grpc-server.ts'

/** The type of tools that are unary methods of gRPC services. All tools of one server share its channel. */
export const grpcType: ToolType<GrpcDefinition> = {
  name: 'grpc',
  parse: parseGrpc,
  connect (resources) {
    const { operator, maxReply } = resources
    const servers = new SharedPool<GrpcServer>()
    const reader = createDescriptionReader()
    return {
      open: definition => singleSource(definition, createGrpcConnector(definition, {
        baseUrls: operator.baseUrls,
        secrets: operator.secrets,
        servers,
        reader,
        openServer: target => createGrpcServer(target, operator.egress, operator.tls, maxReply),
        failed: logUnprepared(definition, resources)
      }), resources),
      close: () => reader.close()
    }
  }
}
