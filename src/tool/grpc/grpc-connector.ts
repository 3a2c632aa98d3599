import { type ServiceError } from '@grpc/grpc-js'
import { isDeeper, type Json, type JsonObject, MAX_JSON_DEPTH } from '../../base/json.ts'
import { type BaseUrls } from '../definition/base-urls.ts'
import { type Attempt, type Connector, identify, type Reply } from '../connector.ts'
import { type GrpcDefinition, type GrpcTarget } from './grpc-definition.ts'
import { type DescriptionReader, findMethod, type GrpcMethod } from './grpc-method.ts'
import { callUnary, type GrpcServer, loadGrpc } from './grpc-server.ts'
import { resolveHeaders } from '../definition/headers.ts'
import { parseGrpcTarget } from './grpc-definition.ts'
import { createPreparation } from '../call/preparation.ts'
import { decodeMessage, encodeMessage } from './protobuf-json.ts'
import { type Secrets } from '../definition/secrets.ts'
import { type SharedPool } from '../rest/shared-pool.ts'
import { quoteOf, ToolError } from '../call/tool-error.ts'

export interface GrpcConnectorOptions {
  readonly baseUrls: BaseUrls
  readonly secrets: Secrets
  readonly servers: SharedPool<GrpcServer>
  readonly reader: DescriptionReader
  readonly openServer: (target: GrpcTarget) => GrpcServer
  readonly failed: (error: Error) => void
}

/**
 * Makes the connector (the way to call a tool) for a unary gRPC method. All tools of one server share its channel. The form of the method's
 * messages is found out when the tool is registered.
 */
export function createGrpcConnector (definition: GrpcDefinition, { baseUrls, secrets, servers, reader, openServer, failed }: GrpcConnectorOptions): Connector {
  let held: { readonly key: string, readonly target: GrpcTarget, readonly server: GrpcServer } | undefined

  /** Finds the tool's server. If the tool's URL is relative, its module gives the server's address, which can change between calls. */
  async function locate (signal: AbortSignal) {
    const target = definition.target ?? targetOf(await baseUrls.of(definition.module, signal))
    const key = `${target.tls ? 'grpcs' : 'grpc'}://${target.host}:${target.port}`
    const last = held
    if (last?.key === key) return last
    // The new server is stored before the wait below, so that only one of several concurrent calls releases the old one.
    const next = held = { key, target, server: servers.acquire(key, () => openServer(target)) }
    if (last !== undefined) await servers.release(last.key)
    return next
  }

  const method = createPreparation<GrpcMethod>({
    prepare: async signal => findMethod(definition, async () => (await locate(signal)).server.client(), reader),
    dispose: () => {},
    failed
  })

  async function call (values: JsonObject, attempt: Attempt): Promise<Reply> {
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
    // The URL itself is not shown: perhaps a caller of the tool is not allowed to read it.
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

/** The texts by which the gRPC client says that it had no connection, so that the call was never sent. */
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
