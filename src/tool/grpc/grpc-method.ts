import { type Client } from '@grpc/grpc-js'
import { type INamespace, type NamespaceBase, type Root, type Service, type Type } from 'protobufjs'
import { type GrpcDefinition } from '../definition/definition.ts'
import { restoreMaps } from './protobuf-maps.ts'
import { ToolError } from '../call/tool-error.ts'
import { unreachable } from '../unreachable.ts'

/** How one unary method is called. */
export interface GrpcMethod {
  readonly path: string
  readonly requestType: Type
  readonly replyType: Type
}

/** Statements of a description in Protocol Buffers text, whose length the schema bounds, and fields of all messages in a descriptor set. */
const MAX_STATEMENTS = 2000
const MAX_FIELDS = 5000

/** Fields of one message in a descriptor set: protobufjs adds each in time linear to those that are there. */
const MAX_MESSAGE_FIELDS = 1000

/** Of one request to a reflection service, in ms. */
const REFLECTION_TIMEOUT = 5000

/**
 * Finds how a tool's method is spoken to: by the description in its registration, else by the server's reflection.
 * protobufjs makes JavaScript out of descriptions, as ajv does out of schemas and with the same care: names enter the
 * code as escaped literals.
 * @throws Error with the reason why it is not known, or not unary
 */
export async function findMethod ({ source, service, method }: GrpcDefinition, client: () => Promise<Client>): Promise<GrpcMethod> {
  const methods = findService(await describe(source, service, client), service)?.methods ?? {}
  const described = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (described === undefined) throw new ToolError('UNKNOWN_METHOD', `there is no method ${service}/${method}`)
  if (described.requestStream === true || described.responseStream === true) throw new ToolError('UNKNOWN_METHOD', `${service}/${method} is a stream; only unary methods can be tools`)
  return { path: `/${service}/${method}`, requestType: described.resolvedRequestType as Type, replyType: described.resolvedResponseType as Type }
}

/** By its whole name: protobufjs finds what ends in that name, too. */
function findService (root: NamespaceBase, name: string): Service | undefined {
  const found = root.lookup(name)
  return found?.fullName === `.${name}` && 'methods' in found ? found as Service : undefined
}

async function describe (source: GrpcDefinition['source'], service: string, client: () => Promise<Client>): Promise<NamespaceBase> {
  const { default: { Root } } = await import('protobufjs')
  if (source?.kind === 'proto') return Root.fromJSON(await parseProto(source.text)).resolveAll()
  const described = source === undefined ? await reflect(await client(), service) : await parseDescriptorSet(source.bytes)
  return Root.fromJSON(restoreMaps(described)).resolveAll()
}

async function parseDescriptorSet (bytes: Uint8Array): Promise<INamespace> {
  const { default: protobuf } = await import('protobufjs')
  const { default: { FileDescriptorSet } } = await import('protobufjs/ext/descriptor/index.js') as unknown as { default: { FileDescriptorSet: Type } }
  const set = FileDescriptorSet.decode(bytes)
  checkFields(set as unknown as DescriptorSet)
  const root = (protobuf.Root as unknown as { fromDescriptor (set: object): Root }).fromDescriptor(set)
  return root.resolveAll().toJSON()
}

interface DescriptorSet { readonly file: ReadonlyArray<{ readonly messageType: readonly MessageDescriptor[] }> }
interface MessageDescriptor { readonly name: string, readonly field: readonly unknown[], readonly nestedType: readonly MessageDescriptor[] }

/** @throws ToolError before what would keep protobufjs busy for seconds */
function checkFields ({ file }: DescriptorSet): void {
  let fields = 0
  const visit = (messages: readonly MessageDescriptor[]): void => {
    for (const { name, field, nestedType } of messages) {
      fields += field.length
      if (field.length > MAX_MESSAGE_FIELDS) throw new ToolError('UNKNOWN_METHOD', `a message of "descriptorSet" has at most ${MAX_MESSAGE_FIELDS} fields; ${name} has ${field.length}`)
      visit(nestedType)
    }
  }
  for (const { messageType } of file) visit(messageType)
  if (fields > MAX_FIELDS) throw new ToolError('UNKNOWN_METHOD', `the messages of "descriptorSet" have at most ${MAX_FIELDS} fields together, not ${fields}: leave out the files that the service does not need`)
}

/** @throws ToolError before what would keep protobufjs busy for seconds */
function checkProto (text: string): void {
  const statements = text.split(';').length - 1
  if (statements > MAX_STATEMENTS) throw new ToolError('UNKNOWN_METHOD', `"proto" has at most ${MAX_STATEMENTS} statements, not ${statements}: leave out what the service does not need`)
}

/** Nothing is read from disk: the only imports are those that come with protobuf itself. */
async function parseProto (text: string): Promise<INamespace> {
  checkProto(text)
  // It makes the rest of protobuf's own files known to protobufjs, descriptor.proto for one, which options need.
  await import('@grpc/proto-loader')
  const { default: { common, parse, Root } } = await import('protobufjs')
  const { root, imports = [] } = parse(text, new Root(), { keepCase: true })
  for (const file of imports) {
    const bundled = common.get(file)
    if (bundled?.nested === undefined) throw new ToolError('UNKNOWN_METHOD', `the proto imports "${file}"; only google/protobuf/*.proto can be imported, use "descriptorSet" instead`)
    root.addJSON(bundled.nested)
  }
  return root.resolveAll().toJSON()
}

async function reflect (client: Client, service: string): Promise<INamespace> {
  const { GrpcReflection } = await import('grpc-js-reflection-client')
  const { credentials } = await import('@grpc/grpc-js')
  const ask = async (version: string) => {
    // The tool's own channel: nothing new to open, nothing to close.
    const reflection = new GrpcReflection('unused', credentials.createInsecure(), { channelOverride: client.getChannel() }, version)
    const descriptor = await reflection.getDescriptorBySymbol(service, { deadline: Date.now() + REFLECTION_TIMEOUT })
    return descriptor.getProtobufJsRoot().toJSON() as INamespace
  }
  let failure: Error | undefined
  // Many servers speak the older version only; the two differ in the package's name alone.
  for (const version of ['v1', 'v1alpha']) {
    try {
      return await ask(version)
    } catch (error) {
      failure = error as Error
      if (statusOf(failure) === undefined) break
    }
  }
  throw describeFailure(failure as Error, service)
}

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html
const DEADLINE_EXCEEDED = 4
const UNIMPLEMENTED = 12
const UNAVAILABLE = 14

function describeFailure (error: Error, service: string): Error {
  const status = statusOf(error)
  const quote = error.message.slice(0, 200)
  if (status === undefined) return new ToolError('UNKNOWN_METHOD', `the server does not describe ${service}`, { quote })
  if (status === UNIMPLEMENTED) return new ToolError('UNKNOWN_METHOD', 'the server has no reflection: give "proto" or "descriptorSet"')
  if (status === DEADLINE_EXCEEDED) return new ToolError('TIMEOUT', 'its reflection did not answer in time', { transient: true })
  // What the system says, such as ECONNREFUSED, is told in words only.
  if (status === UNAVAILABLE) return unreachable({ code: /\bE[A-Z]{4,}\b/.exec(error.message)?.[0], message: error.message })
  return new ToolError('STATUS', `its reflection answered with gRPC status ${status}`, { quote })
}

/** Of a call that failed, which the reflection client tells in words only; what the service itself says has none. */
function statusOf (error: Error): number | undefined {
  const digits = /^Error: (\d+) [A-Z_]+: /.exec(error.message)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
