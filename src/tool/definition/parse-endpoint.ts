import { type Json, type JsonObject } from '../../base/json.ts'
import { type CommonDefinition, type GrpcDefinition, type GrpcDescription, type GrpcTarget, type McpDefinition, type McpServer, type RestfulDefinition, type RestfulMethod } from './definition.ts'
import { type Operator } from '../operator.ts'
import { type ToolPolicy } from '../call/policy.ts'
import { parseUrlTemplate } from '../rest/url-template.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const satisfies readonly RestfulMethod[]

/** @throws Error with the reason why this is no restful tool */
export function parseRestful (common: CommonDefinition, endpoint: JsonObject, operator: Operator): RestfulDefinition {
  const text = required(endpoint, 'url', 'restful')
  const method = METHODS.find(each => each === (own(endpoint, 'method') ?? 'POST'))
  if (method === undefined) throw new Error(`method "${String(own(endpoint, 'method'))}" must be one of ${METHODS.join(', ')}`)
  const url = about('url', () => parseUrlTemplate(text))
  if (url.origin !== undefined) checkHost(new URL(url.origin).host, common, operator)
  return { ...common, type: 'restful', url, method, policy: policyOf(common, method === 'GET') }
}

/** @throws Error with the reason why this is no gRPC tool */
export function parseGrpc (common: CommonDefinition, endpoint: JsonObject, operator: Operator): GrpcDefinition {
  const { target, path } = about('url', () => splitTarget(required(endpoint, 'url', 'grpc')))
  const [, service, method] = /^\/?([\w.]+)\/(\w+)$/.exec(own(endpoint, 'method') as string ?? path) ?? []
  if (service === undefined || method === undefined) throw new Error('a grpc tool needs a "method" such as translate.Translator/Translate')
  const binary = common.headers.find(({ name }) => name.endsWith('-bin'))
  if (binary !== undefined) throw new Error(`header "${binary.name}" cannot be set: gRPC takes bytes, not text, for names that end in -bin`)
  if (target !== undefined) checkHost(`${target.host}:${target.port}`, common, operator)
  return { ...common, type: 'grpc', target, service, method, source: grpcDescription(endpoint), policy: policyOf(common) }
}

/** @throws Error with the reason why this is no MCP tool */
export function parseMcp (common: CommonDefinition, endpoint: JsonObject, operator: Operator): McpDefinition {
  const server = mcpServer(endpoint, operator)
  if (server.kind === 'http') checkHost(new URL(server.url).host, common, operator)
  else if (common.headers.length > 0) throw new Error('a command takes no headers')
  // A key mcp:{server}:{tool} names one tool of the server, a key mcp:{server} the whole server.
  const [, ...segments] = common.id.split('.')
  const tool = own(endpoint, 'tool') as string | undefined ?? (segments.length > 1 ? segments.at(-1) : undefined)
  return { ...common, type: 'mcp', server, tool, policy: policyOf(common) }
}

/** What may do something twice that was meant once is never tried again. */
function policyOf ({ registration, policy }: CommonDefinition, isRead = false): ToolPolicy {
  return isRead || own(registration, 'idempotent') === true ? policy : { ...policy, retries: 0 }
}

function mcpServer (endpoint: JsonObject, operator: Operator): McpServer {
  const command = own(endpoint, 'command') as string | undefined
  const url = own(endpoint, 'url') as string | undefined
  if ((command === undefined) === (url === undefined)) throw new Error('an mcp tool needs either a "url" or a "command"')
  if (command !== undefined) {
    if (!operator.commands.has(command)) throw new Error(`command "${command}" is not one that the operator allows`)
    return { kind: 'stdio', command }
  }
  const template = about('url', () => parseUrlTemplate(url as string))
  if (template.origin === undefined || template.placeholders.length > 0) throw new Error('url: must be absolute, without {placeholders}')
  return { kind: 'http', url: template.origin + template.path }
}

function grpcDescription (endpoint: JsonObject): GrpcDescription | undefined {
  const proto = own(endpoint, 'proto') as string | undefined
  if (proto !== undefined) return { kind: 'proto', text: proto }
  const encoded = own(endpoint, 'descriptorSet') as string | undefined
  return encoded === undefined ? undefined : { kind: 'descriptor-set', bytes: Buffer.from(encoded, 'base64') }
}

/** `host:port`, `grpc://host:port/package.Service/Method`, or a path alone, which is relative to the module. */
function splitTarget (url: string): { target: GrpcTarget | undefined, path: string } {
  if (url.startsWith('/')) return { target: undefined, path: url }
  const [, scheme = 'grpc', authority = '', path = ''] = /^(?:(grpc|grpcs|http|https):\/\/)?([^/?#@]+)(\/[^?#]*)?$/.exec(url) ?? []
  return { target: parseGrpcTarget(scheme, authority), path }
}

/** @throws Error with the reason */
export function parseGrpcTarget (scheme: string, authority: string): GrpcTarget {
  const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s{}%]+):(\d{1,5})$/.exec(authority) ?? []
  if (host === undefined || port === undefined || Number(port) === 0 || Number(port) > 65535) throw new Error('must be host:port, grpc://host:port or grpcs://host:port')
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), tls: scheme === 'grpcs' || scheme === 'https' }
}

/** Refuses, when the tool is registered, what would be refused at each call. */
function checkHost (host: string, common: CommonDefinition, operator: Operator): void {
  const refusal = operator.egress.refusal(host.replace(/:\d+$/, ''))
  if (refusal !== undefined) throw new Error(`url: ${refusal}`)
  for (const header of common.headers) {
    const unbound = header.secrets.find(secret => operator.secrets.reveal(secret, host) === undefined)
    if (unbound !== undefined) throw new Error(`secret "${unbound}" is not bound to ${host}`)
  }
}

function required (endpoint: JsonObject, name: string, type: string): string {
  const value = own(endpoint, name)
  if (typeof value !== 'string') throw new Error(`a ${type} tool needs a "${name}"`)
  return value
}

/** A member of an object of strangers, if it is the object's own. */
export function own (object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function about<T> (member: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new Error(`${member}: ${(error as Error).message}`)
  }
}
