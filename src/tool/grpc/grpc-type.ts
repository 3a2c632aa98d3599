import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import type { Client, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js'
import type { AnyNestedObject, Enum, Field, IConversionOptions, IEnum, IField, INamespace, IType, NamespaceBase, ReflectionObject, Type } from 'protobufjs'
import { isDeeper, isJsonObject, type Json, type JsonObject, MAX_JSON_DEPTH, ownField } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { createParserProcess, type ParserProcess } from '../../runtime/parser-process.ts'
import { createSlices, type Slices } from '../../runtime/event-loop.ts'
import { type Attempt, type Connector, createPreparation, identify, type Preparation, type AttemptReply } from '../preparation.ts'
import { quoteOf, ToolError } from '../tool-error.ts'
import { logUnprepared, singleSource, type ToolResources, type ToolType } from '../tool-type.ts'
import { resolveHeaders } from '../definition.ts'
import { type Egress, resolveHost, type TlsFiles } from '../egress.ts'
import { SharedPool } from '../connections.ts'
import type { MethodAnswer, MethodDescription, MethodQuestion } from './description-process.ts'
import { type GrpcDefinition, type GrpcTarget, parseGrpc, parseGrpcTarget } from './grpc-definition.ts'
import { reflect } from './grpc-reflection.ts'

const MAPPING: IConversionOptions = { defaults: true, enums: String, bytes: String, json: true }

export function encodeMessage (type: Type, values: JsonObject): Buffer {
  return type.encode(type.fromObject(fromJson(values, type) as Record<string, unknown>)).finish() as Buffer
}

export function decodeMessage (type: Type, bytes: Buffer): Json {
  return toJson(type.toObject(type.decode(bytes), MAPPING), type)
}

/** protobufjs takes 64-bit integers only as texts, and would send 0 for a text that is no value name of its enum. */
function fromJson (value: Json, type: Type | undefined, field?: Field): unknown {
  if (typeof value === 'bigint') return int64(value)
  if (Array.isArray(value)) return value.map(item => fromJson(item as Json, type, field))
  if (typeof value === 'string') checkEnumText(value, field)
  if (!isJsonObject(value)) return value
  const members = convertMembers(value as JsonObject, type, writeKey, fromJson)
  // protobufjs would find a `constructor` in every object, since it reads inherited members.
  return type === undefined ? members : Object.assign(Object.create(null) as object, members)
}

const MAX_SHOWN_TEXTS = 20

function checkEnumText (text: string, field: Field | undefined): void {
  const type = field?.resolvedType ?? undefined
  if (field === undefined || type === undefined || !('values' in type)) return
  const texts = Object.keys((type as Enum).values)
  if (texts.includes(text)) return
  const shown = texts.slice(0, MAX_SHOWN_TEXTS).join(', ')
  throw new Error(`${field.name} must be one of ${shown}${texts.length > MAX_SHOWN_TEXTS ? ', …' : ''}, not ${JSON.stringify(beginningOf(text, 100))}`)
}

function int64 (value: bigint): string {
  if (value !== BigInt.asIntN(64, value) && value !== BigInt.asUintN(64, value)) throw new Error(`${value} does not fit into 64 bits`)
  return value.toString()
}

function toJson (value: unknown, type: Type | undefined): Json {
  if (typeof value !== 'object' || value === null) return value === undefined ? null : value as Json
  if (Array.isArray(value)) return value.map(item => toJson(item, type))
  if ((value as { __isLong__?: unknown }).__isLong__ === true) return toInteger(String(value))
  return convertMembers(value as Record<string, unknown>, type, readKey, toJson)
}

function toInteger (digits: string): number | bigint {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}

function convertMembers<From, To> (
  message: Readonly<Record<string, From>>,
  type: Type | undefined,
  convertKey: (keyType: string, key: string) => string,
  convert: (value: From, type: Type | undefined, field: Field | undefined) => To
): Record<string, To> {
  return convertEntries(message, (name, value) => {
    const field = type === undefined ? undefined : ownField(type.fields, name)
    const inner = messageOf(field)
    if (field === undefined || !('keyType' in field) || typeof value !== 'object' || value === null) return [name, convert(value, inner, field)]
    return [
      name,
      convertEntries(value as Record<string, From>, (key, member) => [convertKey(field.keyType as string, key), convert(member, inner, field)]) as To
    ]
  })
}

function convertEntries<From, To> (object: Readonly<Record<string, From>>, convert: (name: string, value: From) => [string, To]): Record<string, To> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => convert(name, value)))
}

function messageOf (field: Field | undefined): Type | undefined {
  const type = field?.resolvedType ?? undefined
  return type !== undefined && 'fields' in type ? type : undefined
}

/** protobufjs takes each non-empty key of a `map<bool, …>` for true. */
function writeKey (keyType: string, key: string): string {
  if (keyType !== 'bool' || key === 'true') return key
  if (key === 'false') return ''
  throw new Error('a key of a map<bool, …> must be "true" or "false"')
}

const SIGNED = new Set(['int64', 'sint64', 'sfixed64'])
const UNSIGNED = new Set(['uint64', 'fixed64'])

/** protobufjs gives a 64-bit key as 8 characters, one for each byte, and a missing key (0) as the text `0`. */
function readKey (keyType: string, key: string): string {
  if (key.length !== 8) return key
  const bytes = Buffer.from(key, 'latin1')
  if (SIGNED.has(keyType)) return String(bytes.readBigInt64LE())
  return UNSIGNED.has(keyType) ? String(bytes.readBigUInt64LE()) : key
}

/** Tools that are unary methods of gRPC services. All tools of one server share its channel. */
export const grpcType: ToolType<GrpcDefinition> = {
  name: 'grpc',
  parse: parseGrpc,
  connect (resources) {
    const servers = new SharedPool<GrpcServer>()
    const reader: DescriptionReader = createParserProcess('description-process', import.meta.url, READ_MILLISECONDS)
    return {
      open: definition => singleSource(definition, createGrpcConnector(definition, resources, servers, reader), resources),
      close: () => reader.close()
    }
  }
}

function createGrpcConnector (definition: GrpcDefinition, resources: ToolResources, servers: SharedPool<GrpcServer>, reader: DescriptionReader): Connector {
  const { operator: { baseUrls, secrets, egress, tls }, maxReply } = resources
  let held: { readonly key: string, readonly target: GrpcTarget, readonly server: GrpcServer } | undefined

  /** The address that a module gives can change between calls. */
  async function locate (signal: AbortSignal) {
    const target = definition.target ?? targetOf(await baseUrls.of(definition.module, signal))
    const key = `${target.tls ? 'grpcs' : 'grpc'}://${target.host}:${target.port}`
    const last = held
    if (last?.key === key) return last
    // Stored before the wait below, so that only one of several concurrent calls releases the old server.
    const next = held = { key, target, server: servers.acquire(key, () => createGrpcServer(target, egress, tls, maxReply)) }
    if (last !== undefined) await servers.release(last.key)
    return next
  }

  const method = createPreparation<GrpcMethod>({
    prepare: async signal => findMethod(definition, async () => (await locate(signal)).server.client(), reader),
    dispose: () => {},
    failed: logUnprepared(definition, resources)
  })

  async function call (values: JsonObject, attempt: Attempt): Promise<AttemptReply> {
    const { signal, timeLeft } = attempt
    const described = await method.get()
    const message = encode(described, values)
    const { target, server } = await locate(signal)
    const { headers, secrets: used } = resolveHeaders(definition.headers, secrets, `${target.host}:${target.port}`)
    const { Metadata } = await loadGrpc()
    const metadata = new Metadata()
    for (const [name, value] of Object.entries({ ...identify(attempt), 'idempotency-key': attempt.idempotencyKey, ...headers })) metadata.set(name, value)
    const deadline = timeLeft === undefined ? undefined : new Date(Date.now() + timeLeft)
    try {
      const bytes = await callUnary(await server.client(), described.path, message, metadata, deadline, signal)
      return { value: decode(described, bytes), secrets: used }
    } catch (error) {
      const failure = toToolError(error as ServiceError, signal, used)
      if (failure.code === 'UNREACHABLE') server.resolveAgain()
      throw failure
    }
  }

  return {
    call,
    attempted: method.attempted,
    state: () => method.state(),
    async close () {
      await method.close()
      if (held !== undefined) await servers.release(held.key)
    }
  }
}

function targetOf (base: URL): GrpcTarget {
  try {
    return parseGrpcTarget(base.protocol.slice(0, -1), base.host)
  } catch (error) {
    // The URL is not shown: perhaps a caller of the tool may not read it.
    throw new ToolError('BASE_URL_MISSING', `the base URL of its module ${(error as Error).message}`)
  }
}

function encode ({ requestType }: GrpcMethod, values: JsonObject): Buffer {
  const unknown = Object.keys(values).find(name => !Object.hasOwn(requestType.fields, name))
  if (unknown !== undefined) {
    throw new ToolError(
      'ARGUMENTS_INVALID',
      `arguments.${unknown} is no field of the request, which has ${Object.keys(requestType.fields).join(', ')}`
    )
  }
  try {
    return encodeMessage(requestType, values)
  } catch (error) {
    throw new ToolError('ARGUMENTS_INVALID', `the arguments do not fit the request: ${(error as Error).message}`)
  }
}

function decode ({ replyType }: GrpcMethod, bytes: Buffer): Json {
  let value: Json
  try {
    value = decodeMessage(replyType, bytes)
  } catch {
    throw new ToolError('REPLY_INVALID', 'sent a message that is not of the type of its replies')
  }
  if (isDeeper(value, MAX_JSON_DEPTH)) throw new ToolError('REPLY_INVALID', `sent a reply that nests deeper than ${MAX_JSON_DEPTH}`)
  return value
}

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html
const DEADLINE_EXCEEDED = 4
const RESOURCE_EXHAUSTED = 8
const UNAVAILABLE = 14

/** By these texts grpc-js says that the call was never sent. */
const NOT_CONNECTED = /^(?:No connection established|Name resolution failed)|ECONNREFUSED/

function toToolError (error: ServiceError, signal: AbortSignal, secrets: readonly string[]): ToolError {
  if (error instanceof ToolError) return error
  if (signal.aborted) return signal.reason as ToolError
  const details = quoteOf(String(error.details ?? error.message), secrets)
  if (error.code === DEADLINE_EXCEEDED) return new ToolError('TIMEOUT', 'did not answer before its deadline', { transient: true })
  if (error.code === UNAVAILABLE) {
    return new ToolError('UNREACHABLE', 'could not be reached', { transient: true, quote: details, wasSent: !NOT_CONNECTED.test(details) })
  }
  if (error.code === RESOURCE_EXHAUSTED && /larger than max/.test(details)) return new ToolError('REPLY_TOO_LARGE', 'sent a reply that is too large')
  return new ToolError('STATUS', `answered with gRPC status ${error.code}`, { transient: error.code === RESOURCE_EXHAUSTED, quote: details })
}

interface GrpcMethod {
  readonly path: string
  readonly requestType: Type
  readonly replyType: Type
}

type DescriptionReader = ParserProcess<MethodQuestion, MethodAnswer>

/** In ms. */
const READ_MILLISECONDS = 5000

/** The code that protobufjs generates is safe: names enter it only as escaped literals. @throws ToolError with the reason */
async function findMethod ({ source, service, method }: GrpcDefinition, client: () => Promise<Client>, reader: DescriptionReader): Promise<GrpcMethod> {
  const described: Pick<MethodQuestion, 'source' | 'origin'> = source === undefined
    ? { source: { kind: 'descriptor-set', bytes: await reflect(await client(), service) }, origin: 'what the server describes' }
    : { source, origin: source.kind === 'proto' ? '"proto"' : '"descriptorSet"' }
  const answer = await reader.ask({ ...described, service, method })
  if (answer === undefined) throw new ToolError('UNKNOWN_METHOD', `${described.origin} takes too much time or memory to be read`)
  if ('problem' in answer) throw new ToolError('UNKNOWN_METHOD', answer.problem)
  return await build(answer.described)
}

/** With pauses, so that a large untrusted description does not block the process. */
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

/** Like protobufjs' `addJSON`, but with pauses. */
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

/** Otherwise the tool's first call would generate all code without a pause. */
async function generate (type: Type, slices: Slices): Promise<void> {
  const uses = [() => type.setup(), () => type.fromObject({}), () => type.encode({}), () => decodeMessage(type, Buffer.alloc(0))]
  for (const use of uses) {
    try {
      use()
    } catch {
      // An empty message lacks required fields; the code was generated all the same.
    }
    if (slices.isDue()) await slices.pause()
  }
}

/** Loading takes 180 ms, so that only services with such tools wait for it. */
const loadGrpc = () => import('@grpc/grpc-js')

/** In ms. */
const RESOLVE_INTERVAL = 5000

interface GrpcServer {
  /** @throws ToolError while there is no channel */
  client (): Promise<Client>
  resolveAgain (): void
  close (): Promise<void>
}

/** grpc-js neither resolves names nor uses proxies, so that the channel goes to the very addresses that the egress policy checked. */
function createGrpcServer (target: GrpcTarget, egress: Egress, tls: TlsFiles, maxReply: number): GrpcServer {
  let looked = 0
  const channel: Preparation<{ readonly client: Client, readonly addresses: string }> = createPreparation({
    prepare: async signal => {
      const [grpc, addresses] = await Promise.all([loadGrpc(), resolve()])
      signal.throwIfAborted()
      const credentials = target.tls ? grpc.credentials.createSsl(tls.ca, tls.key, tls.cert) : grpc.credentials.createInsecure()
      const client = new grpc.Client(addresses, credentials, {
        'grpc.default_authority': `${bracketed(target.host)}:${target.port}`,
        ...(target.tls && isIP(target.host) === 0 ? { 'grpc.ssl_target_name_override': target.host } : {}),
        'grpc.enable_http_proxy': 0,
        'grpc.service_config_disable_resolution': 1,
        'grpc.enable_retries': 0,
        'grpc.max_receive_message_length': maxReply
      })
      // It connects now, so that no render has to wait for that.
      client.getChannel().getConnectivityState(true)
      return { client, addresses }
    },
    dispose: ({ client }) => client.close()
  })

  async function resolve (): Promise<string> {
    looked = performance.now()
    return describeAddresses(await resolveHost(egress, target.host), target.port)
  }

  async function compare (): Promise<void> {
    const current = await channel.get()
    if (current.addresses !== await resolve()) channel.renew(current, `${target.host} has moved`)
  }

  return {
    client: async () => (await channel.get()).client,
    resolveAgain () {
      if (performance.now() - looked < RESOLVE_INTERVAL) return
      compare().catch(() => {})
    },
    close: () => channel.close()
  }
}

/** https://github.com/grpc/grpc/blob/master/doc/naming.md */
function describeAddresses (addresses: readonly LookupAddress[], port: number): string {
  const family = addresses[0]?.family
  const same = addresses.filter(address => address.family === family).map(({ address }) => `${bracketed(address)}:${port}`)
  return `ipv${family}:${[...new Set(same)].sort().join(',')}`
}

function bracketed (host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}

/** @throws ServiceError of grpc-js, or the reason of a signal that was aborted before */
function callUnary (
  client: Client,
  path: string,
  message: Buffer,
  metadata: Metadata,
  deadline: Date | undefined,
  signal: AbortSignal
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // A caller who gave up while the connection was being made must not get the call sent.
    signal.throwIfAborted()
    const pass = (bytes: Buffer) => bytes
    const done = (error: ServiceError | null, bytes?: Buffer) => (error === null ? resolve(bytes as Buffer) : reject(error))
    const call: ClientUnaryCall = client.makeUnaryRequest(path, pass, pass, message, metadata, deadline === undefined ? {} : { deadline }, done)
    signal.addEventListener('abort', () => call.cancel(), { once: true })
  })
}
