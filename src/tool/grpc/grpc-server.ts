import { type Client, type ClientUnaryCall, type Metadata, type ServiceError } from '@grpc/grpc-js'
import { type LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { type GrpcTarget } from './grpc-definition.ts'
import { type Egress, resolveHost } from '../egress.ts'
import { createPreparation, type Preparation } from '../call/preparation.ts'
import { type TlsFiles } from '../tls.ts'

/** Loads the package grpc-js, which takes 180 ms. It is loaded when the first gRPC tool is registered, so that only services with such tools wait for it. */
export const loadGrpc = () => import('@grpc/grpc-js')

/** The shortest time between two lookups of a server's name, in ms. */
const RESOLVE_INTERVAL = 5000

/** A gRPC server with its channel (connection), which all its tools share. */
export interface GrpcServer {
  /** The client that makes calls over the channel. @throws ToolError while there is no channel */
  client (): Promise<Client>
  /** Looks up in the background whether the server's name has other addresses by now. To be called when the server cannot be reached. */
  resolveAgain (): void
  close (): Promise<void>
}

interface Channel { readonly client: Client, readonly addresses: string }

/**
 * Opens a channel to a gRPC server. The name is resolved here, not by grpc-js, so that each address is checked by the egress policy and
 * the channel goes to the very addresses that were checked. Proxies in the environment are ignored for the same reason.
 */
export function createGrpcServer (target: GrpcTarget, egress: Egress, tls: TlsFiles, maxReply: number): GrpcServer {
  let looked = 0
  const channel: Preparation<Channel> = createPreparation({
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
      // The client is made to connect now, so that no render has to wait for that.
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

/** The addresses of a server in the form that grpc-js takes: https://github.com/grpc/grpc/blob/master/doc/naming.md */
function describeAddresses (addresses: readonly LookupAddress[], port: number): string {
  const family = addresses[0]?.family
  const same = addresses.filter(address => address.family === family).map(({ address }) => `${bracketed(address)}:${port}`)
  return `ipv${family}:${[...new Set(same)].sort().join(',')}`
}

function bracketed (host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}

/** Makes one unary gRPC call, with a message that is encoded already. @throws ServiceError of grpc-js, or the reason of a signal that was aborted before */
export function callUnary (
  client: Client,
  path: string,
  message: Buffer,
  metadata: Metadata,
  deadline: Date | undefined,
  signal: AbortSignal
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // If the caller gave up while the connection was being made, the call must not be sent.
    signal.throwIfAborted()
    const pass = (bytes: Buffer) => bytes
    const done = (error: ServiceError | null, bytes?: Buffer) => (error === null ? resolve(bytes as Buffer) : reject(error))
    const call: ClientUnaryCall = client.makeUnaryRequest(path, pass, pass, message, metadata, deadline === undefined ? {} : { deadline }, done)
    signal.addEventListener('abort', () => call.cancel(), { once: true })
  })
}
