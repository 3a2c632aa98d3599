import { type JsonObject, ownField } from '../../base/json.ts'
import { type CommonDefinition, type ToolDefinition } from '../definition.ts'
import { withMemberName, checkHost, policyOf, required } from '../tool-reader.ts'
import { type Operator } from '../operator.ts'

export interface GrpcDefinition extends ToolDefinition {
  /** `undefined` when the base URL of the tool's module gives it. */
  readonly target: GrpcTarget | undefined
  readonly service: string
  readonly method: string
  /** `undefined` when the server is asked by reflection. */
  readonly source: GrpcDescription | undefined
}

export interface GrpcTarget { readonly host: string, readonly port: number, readonly tls: boolean }

export type GrpcDescription =
  | { readonly kind: 'proto', readonly text: string }
  | { readonly kind: 'descriptor-set', readonly bytes: Uint8Array }

export function parseGrpc (common: CommonDefinition, endpoint: JsonObject, operator: Operator): GrpcDefinition {
  const { target, path } = withMemberName('url', () => splitTarget(required(endpoint, 'url', 'grpc')))
  const [, service, method] = /^\/?([\w.]+)\/(\w+)$/.exec(ownField(endpoint, 'method') as string ?? path) ?? []
  if (service === undefined || method === undefined) throw new Error('a grpc tool needs a "method" such as translate.Translator/Translate')
  const binary = common.headers.find(({ name }) => name.endsWith('-bin'))
  if (binary !== undefined) throw new Error(`header "${binary.name}" cannot be set: gRPC takes bytes, not text, for names that end in -bin`)
  if (target !== undefined) checkHost(`${target.host}:${target.port}`, common, operator)
  return { ...common, type: 'grpc', isRelative: target === undefined, target, service, method, source: grpcDescription(endpoint), policy: policyOf(common) }
}

function grpcDescription (endpoint: JsonObject): GrpcDescription | undefined {
  const proto = ownField(endpoint, 'proto') as string | undefined
  if (proto !== undefined) return { kind: 'proto', text: proto }
  const encoded = ownField(endpoint, 'descriptorSet') as string | undefined
  return encoded === undefined ? undefined : { kind: 'descriptor-set', bytes: Buffer.from(encoded, 'base64') }
}

/** Forms: `host:port`, `grpc://host:port/package.Service/Method`, or only a path, relative to the tool's module. */
function splitTarget (url: string): { target: GrpcTarget | undefined, path: string } {
  if (url.startsWith('/')) return { target: undefined, path: url }
  const [, scheme = 'grpc', authority = '', path = ''] = /^(?:(grpc|grpcs|http|https):\/\/)?([^/?#@]+)(\/[^?#]*)?$/.exec(url) ?? []
  return { target: parseGrpcTarget(scheme, authority), path }
}

export function parseGrpcTarget (scheme: string, authority: string): GrpcTarget {
  const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s{}%]+):(\d{1,5})$/.exec(authority) ?? []
  if (host === undefined || port === undefined || Number(port) === 0 || Number(port) > 65535) {
    throw new Error('must be host:port, grpc://host:port or grpcs://host:port')
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), tls: scheme === 'grpcs' || scheme === 'https' }
}
