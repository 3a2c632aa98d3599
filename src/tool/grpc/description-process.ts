import { ownField } from '../../base/json.ts'
import '@grpc/proto-loader'
import protobuf, {
  type AnyNestedObject, type Enum, type IField, type IMapField, type INamespace, type IType, type NamespaceBase, type Service, type Type
} from 'protobufjs'
import descriptor from 'protobufjs/ext/descriptor/index.js'
import { answerQuestions } from '../../runtime/answer-questions.ts'
import type { GrpcDescription } from './grpc-definition.ts'

// This import makes the .proto files that come with protobuf known to protobufjs. A description with options needs one of them, descriptor.proto.

const MAX_STATEMENTS = 2000

/** Each field that protobufjs adds to a message takes time in proportion to the fields that the message has already. */
const MAX_MESSAGE_FIELDS = 300
const MAX_FIELDS = 2000

/** The generated code of an enum field grows with each value, so that a value counts as this part of a field. */
const ENUM_VALUE_FIELDS = 0.2

/** In UTF-16 units. */
const MAX_DESCRIPTION = 512 * 1024

export interface MethodQuestion {
  readonly source: GrpcDescription
  readonly origin: string
  readonly service: string
  readonly method: string
}

export interface MethodDescription {
  readonly path: string
  readonly request: string
  readonly reply: string
  readonly nested: Readonly<Record<string, AnyNestedObject>>
}

/** Must run in a process that can be killed: protobufjs can take very long for an untrusted description. @throws Error with the reason */
function describeMethod ({ source, origin, service, method }: MethodQuestion): MethodDescription {
  const root = protobuf.Root.fromJSON(source.kind === 'proto' ? parseProto(source.text) : restoreMaps(parseDescriptorSet(source.bytes, origin)))
  root.resolveAll()
  const methods = findService(root, service)?.methods ?? {}
  const found = ownField(methods, method)
  if (found === undefined) throw new Error(`there is no method ${service}/${method}`)
  if (found.requestStream === true || found.responseStream === true) throw new Error(`${service}/${method} is a stream; only unary methods can be tools`)
  const [request, reply] = [found.resolvedRequestType as Type, found.resolvedResponseType as Type]
  const nested = prune(root.toJSON().nested ?? {}, '', neededBy([request, reply], origin))
  if (JSON.stringify(nested).length > MAX_DESCRIPTION) {
    throw new Error(`the messages of ${service}/${method} have a description of more than ${MAX_DESCRIPTION} characters in ${origin}`)
  }
  return { path: `/${service}/${method}`, request: request.fullName, reply: reply.fullName, nested }
}

/** protobufjs also finds names that merely end in `name`. */
function findService (root: NamespaceBase, name: string): Service | undefined {
  const found = root.lookup(name)
  return found?.fullName === `.${name}` && 'methods' in found ? found as Service : undefined
}

function parseDescriptorSet (bytes: Uint8Array, origin: string): INamespace {
  const set = descriptor.FileDescriptorSet.decode(bytes)
  for (const { messageType } of (set as unknown as DescriptorSet).file) checkFields(messageType, origin)
  const root = (protobuf.Root as unknown as { fromDescriptor (set: object): protobuf.Root }).fromDescriptor(set)
  return root.toJSON()
}

interface DescriptorSet { readonly file: ReadonlyArray<{ readonly messageType: readonly MessageDescriptor[] }> }
interface MessageDescriptor { readonly name: string, readonly field: readonly unknown[], readonly nestedType: readonly MessageDescriptor[] }

/** So many fields would keep protobufjs busy for seconds. @throws Error for too many fields */
function checkFields (messages: readonly MessageDescriptor[], origin: string): void {
  for (const { name, field, nestedType } of messages) {
    if (field.length > MAX_MESSAGE_FIELDS) throw tooManyFields(origin, name, field.length)
    checkFields(nestedType, origin)
  }
}

function tooManyFields (origin: string, message: string, fields: number): Error {
  return new Error(`a message of ${origin} has at most ${MAX_MESSAGE_FIELDS} fields; ${message} has ${fields}`)
}

/** Nothing is read from the disk: the text can import only the files that come with protobuf itself. */
function parseProto (text: string): INamespace {
  const statements = text.split(';').length - 1
  if (statements > MAX_STATEMENTS) {
    throw new Error(`"proto" has at most ${MAX_STATEMENTS} statements, not ${statements}: leave out what the service does not need`)
  }
  const { root, imports = [] } = protobuf.parse(text, new protobuf.Root(), { keepCase: true })
  for (const file of imports) {
    const bundled = protobuf.common.get(file)
    if (bundled?.nested === undefined) throw new Error(`the proto imports "${file}"; only google/protobuf/*.proto can be imported, use "descriptorSet" instead`)
    root.addJSON(bundled.nested)
  }
  return root.resolveAll().toJSON()
}

function neededBy (messages: readonly Type[], origin: string): Set<string> {
  const needed = new Set<Type | Enum>(messages)
  const names = new Set<string>()
  let total = 0
  for (const each of needed) {
    names.add(each.fullName)
    if (!('fieldsArray' in each)) continue
    const fields = each.fieldsArray.map(field => field.resolve())
    const size = fields.reduce(
      (sum, { resolvedType }) =>
        sum + 1 + (resolvedType !== null && 'values' in resolvedType ? Object.keys(resolvedType.values).length * ENUM_VALUE_FIELDS : 0),
      each.oneofsArray.length
    )
    if (size > MAX_MESSAGE_FIELDS) throw tooManyFields(origin, each.name, Math.ceil(size))
    total += size
    if (total > MAX_FIELDS) throw new Error(`the messages of one method have at most ${MAX_FIELDS} fields together in ${origin}`)
    for (const { resolvedType, declaringField } of fields) {
      if (resolvedType !== null) needed.add(resolvedType)
      if (declaringField !== null) names.add(declaringField.fullName)
    }
  }
  return names
}

/** A message that is not needed itself, but in which a needed one is declared, stays without its fields. */
function prune (nested: Readonly<Record<string, AnyNestedObject>>, path: string, needed: ReadonlySet<string>): Record<string, AnyNestedObject> {
  return Object.fromEntries(Object.entries(nested).flatMap(([name, member]): [string, AnyNestedObject][] => {
    const fullName = `${path}.${name}`
    const inner = prune((member as INamespace).nested ?? {}, fullName, needed)
    if (needed.has(fullName)) return [[name, { ...withoutNotes(member), nested: inner } as AnyNestedObject]]
    if (Object.keys(inner).length === 0) return []
    return [[name, { ...withoutNotes(member), ...('fields' in member ? { fields: {}, oneofs: {} } : {}), nested: inner } as AnyNestedObject]]
  }))
}

function withoutNotes (member: AnyNestedObject): Partial<IType> {
  return Object.fromEntries(
    Object.entries(member).filter(([name]) => !['reserved', 'extensions', 'valuesOptions', 'methods', 'comment', 'comments'].includes(name))
  )
}

/** protobufjs leaves a map as the repeated message of its descriptor: https://protobuf.dev/programming-guides/proto3/#backwards */
function restoreMaps<T extends INamespace> (described: T): T {
  const nested = Object.entries(described.nested ?? {}).map(([name, member]) => [name, restore(member)])
  return { ...described, nested: Object.fromEntries(nested) }
}

function restore (member: AnyNestedObject): AnyNestedObject {
  if (isMessage(member)) return restoreMaps(restoreFields(member))
  return 'nested' in member ? restoreMaps(member as INamespace) : member
}

function restoreFields (message: IType): IType {
  const entries = new Map(Object.entries(message.nested ?? {}).filter((entry): entry is [string, IType] => isMessage(entry[1]) && isMapEntry(entry[1])))
  const fields = Object.entries(message.fields).map(([name, field]) => [name, restoreField(field, entries)])
  const nested = Object.entries(message.nested ?? {}).filter(([name]) => !entries.has(name))
  return { ...message, fields: Object.fromEntries(fields), nested: Object.fromEntries(nested) }
}

function restoreField (field: IField, entries: ReadonlyMap<string, IType>): IField | IMapField {
  const entry = field.rule === 'repeated' ? entries.get(field.type.split('.').at(-1) as string)?.fields : undefined
  return entry === undefined ? field : { id: field.id, keyType: (entry['key'] as IField).type, type: (entry['value'] as IField).type }
}

function isMessage (member: AnyNestedObject): member is IType {
  return 'fields' in member
}

function isMapEntry ({ options, fields }: IType): boolean {
  const names = Object.keys(fields)
  return options?.['map_entry'] === true && names.length === 2 && fields['key']?.id === 1 && fields['value']?.id === 2
}

// The entry of the child process in which descriptions of services are parsed (see grpc-type.ts).

export type MethodAnswer = { readonly described: MethodDescription } | { readonly problem: string }

answerQuestions((question: MethodQuestion): MethodAnswer => {
  try {
    return { described: describeMethod(question) }
  } catch (error) {
    return { problem: (error as Error).message.slice(0, 500) }
  }
})
