import { type Client } from '@grpc/grpc-js'
import { type AnyNestedObject, type IEnum, type IField, type INamespace, type IType, type NamespaceBase, type ReflectionObject, type Type } from 'protobufjs'
import { createParserProcess, type ParserProcess } from '../../runtime/parser-process.ts'
import { createSlices, type Slices } from '../../runtime/slices.ts'
import { type GrpcDefinition } from './grpc-definition.ts'
import { type MethodDescription, type MethodQuestion } from './describe-method.ts'
import { type MethodAnswer } from './description-process.ts'
import { reflect } from './grpc-reflection.ts'
import { decodeMessage } from './protobuf-json.ts'
import { ToolError } from '../call/tool-error.ts'

/** A unary gRPC method with the types of its messages, ready to be called. */
export interface GrpcMethod {
  readonly path: string
  readonly requestType: Type
  readonly replyType: Type
}

/** Reads descriptions of gRPC services in a separate process, which is killed when that takes too long. */
export type DescriptionReader = ParserProcess<MethodQuestion, MethodAnswer>

/** The longest time in which the separate process has to read one description of gRPC services, in ms. */
const READ_MILLISECONDS = 5000

/** Makes the description reader, which all gRPC tools share. */
export function createDescriptionReader (): DescriptionReader {
  return createParserProcess({ entry: 'description-process', beside: import.meta.url, timeout: READ_MILLISECONDS })
}

/**
 * Finds the message types of a gRPC method that is a tool. They come from the description in the tool's registration, else from the server's
 * reflection. protobufjs generates JavaScript from descriptions. That is safe: names enter the code only as escaped literals.
 * @throws ToolError with the reason why the method is not known, or not unary
 */
export async function findMethod ({ source, service, method }: GrpcDefinition, client: () => Promise<Client>, reader: DescriptionReader): Promise<GrpcMethod> {
  const described: Pick<MethodQuestion, 'source' | 'origin'> = source === undefined
    ? { source: { kind: 'descriptor-set', bytes: await reflect(await client(), service) }, origin: 'what the server describes' }
    : { source, origin: source.kind === 'proto' ? '"proto"' : '"descriptorSet"' }
  const answer = await reader.ask({ ...described, service, method })
  if (answer === undefined) throw new ToolError('UNKNOWN_METHOD', `${described.origin} takes too much time or memory to be read`)
  if ('problem' in answer) throw new ToolError('UNKNOWN_METHOD', answer.problem)
  return await build(answer.described)
}

/** Builds the protobufjs types of a method, message by message with pauses, so that a large untrusted description does not block the process. */
async function build ({ path, request, reply, nested }: MethodDescription): Promise<GrpcMethod> {
  const { default: { Root } } = await import('protobufjs')
  const root = new Root()
  const slices = createSlices()
  const types: Type[] = []
  for await (const type of addMessages(root, nested, slices)) types.push(type)
  root.resolveAll()
  for (const type of types) await generate(type, slices)
  return { path, requestType: root.lookupType(request), replyType: root.lookupType(reply) }
}

/** Adds messages to a namespace like protobufjs' `addJSON`, but with pauses in which the process can serve other requests. */
async function * addMessages (parent: NamespaceBase, nested: Readonly<Record<string, AnyNestedObject>>, slices: Slices): AsyncGenerator<Type> {
  const { default: { Enum, Field, Namespace, Type } } = await import('protobufjs')
  for (const [name, { nested: inner = {}, ...own }] of Object.entries(nested) as [string, INamespace][]) {
    const member = add(name, own)
    if (slices.isDue()) await slices.pause()
    if (member instanceof Type) yield member
    if (member instanceof Namespace) yield * addMessages(member, inner, slices)
  }

  function add (name: string, json: object): ReflectionObject {
    const member = 'fields' in json
      ? Type.fromJSON(name, json as IType)
      : 'values' in json
        ? Enum.fromJSON(name, json as IEnum)
        : 'id' in json ? Field.fromJSON(name, json as IField) : Namespace.fromJSON(name, json)
    parent.add(member)
    return member
  }
}

/** Makes protobufjs generate the code that reads and writes one message. Otherwise the tool's first call would generate all such code without a pause. */
async function generate (type: Type, slices: Slices): Promise<void> {
  const uses = [() => type.setup(), () => type.fromObject({}), () => type.encode({}), () => decodeMessage(type, Buffer.alloc(0))]
  for (const use of uses) {
    try {
      use()
    } catch {
      // An empty message is not valid when it has required fields; the code was generated all the same.
    }
    if (slices.isDue()) await slices.pause()
  }
}
