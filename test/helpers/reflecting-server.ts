import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { type TestContext } from 'node:test'
import protobuf from 'protobufjs'
import descriptor from 'protobufjs/ext/descriptor/index.js'

/** A gRPC server that is asked for its description, and answers as no library would. */
export interface ReflectingServer {
  readonly address: string
  /** What was asked for: names of services and files. */
  readonly questions: readonly string[]
}

/** A file of a description, as JSON of `google.protobuf.FileDescriptorProto`; or the reply as it is sent. */
export type Describe = (name: string) => readonly object[] | Buffer

const { root } = protobuf.parse(`
  syntax = "proto3";
  message Question { string file = 3; string symbol = 4; }
  message Files { repeated bytes file = 1; }
  message Reply { Files files = 4; }
`, { keepCase: true })

/** Starts it on a free port; it ends with the test. */
export async function startReflectingServer (test: Pick<TestContext, 'after'>, describe: Describe): Promise<ReflectingServer> {
  const questions: string[] = []
  const pass = (bytes: Buffer) => bytes
  const server = new Server()
  server.addService({
    ServerReflectionInfo: {
      path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      requestStream: true,
      responseStream: true,
      requestSerialize: pass,
      requestDeserialize: pass,
      responseSerialize: pass,
      responseDeserialize: pass
    }
  }, {
    ServerReflectionInfo (call: ServerDuplexStream<Buffer, Buffer>) {
      call.on('data', (bytes: Buffer) => {
        const { file, symbol } = root.lookupType('Question').toObject(root.lookupType('Question').decode(bytes)) as { file?: string, symbol?: string }
        const name = symbol ?? file ?? ''
        questions.push(name)
        const described = describe(name)
        call.write(Buffer.isBuffer(described) ? described : encodeReply(described))
      })
      call.on('end', () => call.end())
      call.on('error', () => {})
    }
  })
  const port = await new Promise<number>((resolve, reject) => server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => error === null ? resolve(bound) : reject(error)))
  test.after(() => server.forceShutdown())
  return { address: `127.0.0.1:${port}`, questions }
}

function encodeReply (files: readonly object[]): Buffer {
  const { FileDescriptorProto } = descriptor
  const file = files.map(each => FileDescriptorProto.encode(FileDescriptorProto.fromObject(each)).finish())
  return Buffer.from(root.lookupType('Reply').encode({ files: { file } }).finish())
}
