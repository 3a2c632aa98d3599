import { loadPackageDefinition, type sendUnaryData, Server, ServerCredentials, type ServerUnaryCall, status, type ServiceClientConstructor } from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { ReflectionService } from '@grpc/reflection'
import { type TestContext } from 'node:test'
import protobuf from 'protobufjs'
import 'protobufjs/ext/descriptor/index.js'

/** A service with what the JSON mapping has to cope with. */
export const TRANSLATOR_PROTO = `
syntax = "proto3";
package translate;
import "google/protobuf/timestamp.proto";

enum Tone { NEUTRAL = 0; FORMAL = 1; }
message Request { string text = 1; int64 request_id = 2; Tone tone = 3; repeated string glossary = 4; bytes blob = 5; }
message Reply {
  string translated_text = 1; int64 request_id = 2; Tone tone = 3; repeated string glossary = 4; bytes blob = 5;
  int32 count = 6; map<string, double> scores = 7; google.protobuf.Timestamp at = 8; string token = 9;
}
message Maps { map<bool, string> flags = 1; map<sint64, string> signed = 2; map<fixed64, string> unsigned = 3; map<string, Maps> nested = 4; }
service Translator {
  rpc Translate (Request) returns (Reply);
  rpc Fail (Request) returns (Reply);
  rpc Hang (Request) returns (Reply);
  rpc Huge (Request) returns (Reply);
  rpc Echo (Maps) returns (Maps);
  rpc Stream (Request) returns (stream Reply);
}
`

function parseTranslator (): protobuf.Root {
  const { root } = protobuf.parse(TRANSLATOR_PROTO, new protobuf.Root(), { keepCase: true })
  root.addJSON(protobuf.common.get('google/protobuf/timestamp.proto')?.nested ?? {})
  root.resolveAll()
  return root
}

/** The same as a FileDescriptorSet, base64. */
export function translatorDescriptorSet (): string {
  const { FileDescriptorSet } = protobuf as unknown as { FileDescriptorSet?: protobuf.Type }
  const message = (parseTranslator() as unknown as { toDescriptor (edition: string): protobuf.Message }).toDescriptor('proto3')
  return Buffer.from((FileDescriptorSet ?? message.$type).encode(message).finish()).toString('base64')
}

export interface GrpcToolServer {
  readonly address: string
  readonly port: number
  /** Metadata and deadlines of the calls that arrived. */
  readonly calls: readonly { readonly method: string, readonly authorization: string | undefined, readonly metadata: Readonly<Record<string, unknown>>, readonly deadline: Date | number }[]
  /** How many calls of `Hang` are waiting. */
  hanging (): number
  stop (): void
}

type Call = ServerUnaryCall<Record<string, unknown>, Record<string, unknown>>

/**
 * Starts a real gRPC server on a free port, or where one was before; it ends with the test.
 * @param options with `reflection` for the versions of it that the server has, as `v1 v1alpha`
 */
export async function startGrpcToolServer (test: Pick<TestContext, 'after'>, { reflection = '', credentials = ServerCredentials.createInsecure(), port: wanted = 0 } = {}): Promise<GrpcToolServer> {
  const definition = fromJSON(parseTranslator().toJSON(), { keepCase: true, longs: String, enums: String })
  const { translate } = loadPackageDefinition(definition) as unknown as { translate: { Translator: ServiceClientConstructor } }
  const calls: GrpcToolServer['calls'][number][] = []
  let hanging = 0
  const seen = (method: string, call: Call) => calls.push({ method, authorization: call.metadata.get('authorization')[0]?.toString(), metadata: call.metadata.getMap(), deadline: call.getDeadline() })

  const server = new Server()
  const pass = (bytes: Buffer) => bytes
  const echo = { ...translate.Translator.service['Echo'], requestDeserialize: pass, responseSerialize: pass } as typeof translate.Translator.service[string]
  server.addService({ ...translate.Translator.service, Echo: echo }, {
    Echo (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) {
      done(null, call.request)
    },
    Translate (call: Call, done: sendUnaryData<object>) {
      seen('Translate', call)
      const { text, ...rest } = call.request
      done(null, { ...rest, translated_text: `<${String(text)}>`, scores: { de: 0.5 }, at: { seconds: '1700000000', nanos: 5 }, token: call.metadata.get('authorization')[0] ?? '' })
    },
    Fail (call: Call, done: sendUnaryData<object>) {
      done({ code: status.NOT_FOUND, details: `nothing for ${String(call.metadata.get('authorization')[0])}` })
    },
    Hang (call: Call) {
      seen('Hang', call)
      hanging++
      call.on('cancelled', () => hanging--)
    },
    Huge (_call: Call, done: sendUnaryData<object>) {
      done(null, { translated_text: 'x'.repeat(3_000_000) })
    },
    Stream () {}
  })
  // Reflection takes long to prepare, and few tests ask for it.
  if (reflection !== '') addReflection(server, definition, reflection.split(' '))
  const port = await new Promise<number>((resolve, reject) => server.bindAsync(`127.0.0.1:${wanted}`, credentials, (error, bound) => error === null ? resolve(bound) : reject(error)))
  test.after(() => server.forceShutdown())
  return { address: `127.0.0.1:${port}`, port, calls, hanging: () => hanging, stop: () => server.forceShutdown() }
}

function addReflection (server: Server, definition: ReturnType<typeof fromJSON>, versions: readonly string[]): void {
  const addService: Server['addService'] = (service, implementation) => {
    const version = /^\/grpc\.reflection\.(\w+)\./.exec(Object.values(service)[0]?.path ?? '')?.[1] as string
    if (versions.includes(version)) server.addService(service, implementation)
  }
  new ReflectionService(definition).addToServer({ addService })
}
