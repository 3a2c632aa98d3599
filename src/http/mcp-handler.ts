import {
  type CompleteResult, type ContentBlock, createMcpHandler, type GetPromptResult, type McpHttpHandler, type Prompt as McpPrompt, type PromptArgument,
  type PromptMessage, ProtocolError, ProtocolErrorCode, ResourceNotFoundError, Server, type ServerEvent, type ServerEventBus
} from '@modelcontextprotocol/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller, Role } from '../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons, visibleGeneration } from '../access/views.ts'
import { refusalBy } from '../access/rights.ts'
import { roleMissing, ServiceError } from '../base/errors.ts'
import { contentHash, isJsonObject, type Json, JsonError, type JsonObject, objectOf, ownField, parseJson, stringifyJson, textOf } from '../base/json.ts'
import { ENGINE_VERSION } from '../base/version.ts'
import type { Generation, Prompt } from '../registry/generation.ts'
import { runnablePrompts } from '../registry/offered.ts'
import type { Environs } from '../registry/kinds/environ-kind.ts'
import type { Span } from '../observe/open-telemetry.ts'
import { neededNames } from '../registry/needs/needs-walk.ts'
import { collectNeeds } from '../registry/needs/prompt-needs.ts'
import type { Registry } from '../registry/registry.ts'
import { toAbortSignal } from '../runtime/deadline.ts'
import { EventScanner } from '../runtime/server-sent-events.ts'
import { findPrompt } from '../service/choose-prompt.ts'
import type { RenderedMessage } from '../service/rendered-messages.ts'
import { abortWhenGone, holdStream } from './send-reply.ts'
import { callableTools, type McpUses, offerTools, type McpRequest } from './mcp-tools.ts'

/** For a role that MCP does not have. */
const ROLE_KEY = 'ai-prompt-shell/role'

const SOUNDS: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', wav: 'audio/wav' }

/** An MCP message holds one block, hence one for each part; roles other than `user` and `assistant` become `user`, named in `_meta`. */
export function promptMessages ({ role, content = '' }: RenderedMessage): PromptMessage[] {
  const blocks = Array.isArray(content)
    ? (content as readonly Json[]).map(part => blockOf(objectOf(part)))
    : [textBlock(textOf(content))]
  if (role === 'user' || role === 'assistant') return blocks.map(block => ({ role, content: block }))
  return blocks.map(block => ({ role: 'user', content: { ...block, _meta: { [ROLE_KEY]: role } } }))
}

function blockOf (part: JsonObject): ContentBlock {
  const { type, text, image_url: image, input_audio: sound, file } = part
  if (type === 'text') return textBlock(textOf(text))
  if (type === 'image_url' && isJsonObject(image)) return imageBlock(String(image['url']))
  if (type === 'input_audio' && isJsonObject(sound)) return soundBlock(String(sound['data']), String(sound['format']))
  if (type === 'file' && isJsonObject(file) && typeof file['file_data'] === 'string') return fileBlock(file['file_data'], file['filename'])
  // The id of a file at the provider means nothing to MCP clients: the part is quoted as JSON.
  return textBlock(stringifyJson(part))
}

function textBlock (text: string): ContentBlock {
  return { type: 'text', text }
}

function imageBlock (url: string): ContentBlock {
  const data = readDataUrl(url)
  return data === undefined ? { type: 'resource_link', uri: url, name: 'image' } : { type: 'image', data: data.base64, mimeType: data.mimeType }
}

function soundBlock (text: string, format: string): ContentBlock {
  const data = readDataUrl(text)
  if (data !== undefined) return { type: 'audio', data: data.base64, mimeType: data.mimeType }
  if (text.includes(':')) return { type: 'resource_link', uri: text, name: 'audio' }
  return { type: 'audio', data: text, mimeType: SOUNDS[format] ?? `audio/${format}` }
}

function fileBlock (text: string, filename: Json | undefined): ContentBlock {
  const name = typeof filename === 'string' ? filename : 'file'
  const data = readDataUrl(text)
  if (data === undefined && text.includes(':')) return { type: 'resource_link', uri: text, name }
  const { base64: blob, mimeType } = data ?? { base64: text, mimeType: 'application/octet-stream' }
  return { type: 'resource', resource: { uri: `attachment:${encodeURIComponent(name)}`, mimeType, blob } }
}

/** `undefined` for other URLs: https://www.rfc-editor.org/rfc/rfc2397 */
function readDataUrl (url: string): { readonly mimeType: string, readonly base64: string } | undefined {
  const [head, type = '', encoding] = /^data:([^;,]*)(?:;(?!base64,)[^;,]*)*(;base64)?,/i.exec(url) ?? []
  if (head === undefined) return undefined
  const data = url.slice(head.length)
  return { mimeType: type === '' ? 'text/plain' : type, base64: encoding === undefined ? Buffer.from(decodeLoosely(data)).toString('base64') : data }
}

function decodeLoosely (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** In ms. */
const PAUSE = 1000

/** Sent only if the list that this client gets has changed, so that it learns nothing of hidden entries. */
function listChanges ({ generation, environs, onPublished, callerNow }: {
  generation: Generation
  environs: Environs
  onPublished (listener: (generation: Generation) => void): () => void
  callerNow (): Caller
}): ServerEventBus {
  return {
    publish () {},
    subscribe (listener) {
      let [latest, timer]: [Generation, NodeJS.Timeout | undefined] = [generation, undefined]
      let told = listsOf(generation, callerNow(), environs)
      const look = async () => {
        timer = undefined
        if (refusalBy(callerNow) !== undefined) return
        const caller = callerNow()
        const before = told
        told = listsOf(visibleGeneration(latest, caller), caller, environs)
        const [old, now] = await Promise.all([before, told])
        for (const kind of ['prompts', 'tools'] as const) if (now[kind] !== old[kind]) listener({ kind: `${kind}_list_changed` } satisfies ServerEvent)
      }
      const unsubscribe = onPublished(published => {
        latest = published
        timer ??= setTimeout(() => { void look() }, PAUSE).unref()
      })
      return () => {
        clearTimeout(timer)
        unsubscribe()
      }
    }
  }
}

async function listsOf (generation: Generation, caller: Caller, environs: Environs): Promise<Record<'prompts' | 'tools', string>> {
  const shared = visibleEnvirons(environs, caller)
  const prompts = (await runnablePrompts(generation)).map(prompt => [
    prompt.id,
    prompt.entry.definition.source['description'] ?? null,
    argumentsOf(prompt, generation, shared).map(({ name, required }) => [name, required === true])
  ])
  const tools = callableTools(generation, caller).map(({ id, definition }) => [id, definition.revision])
  return { prompts: contentHash(prompts), tools: contentHash(tools) }
}

/** Small, since the arguments of prompts are computed one prompt after the other. */
const PAGE = 200

function offerPrompts (server: Server, visit: McpRequest, { renderPrompt, choosePrompt, environs }: McpUses): void {
  const { generation, caller } = visit
  server.setRequestHandler('prompts/list', ({ params }) => inProtocol(async () => {
    const shared = visibleEnvirons(environs, caller)
    const after = params?.cursor ?? ''
    const prompts = (await runnablePrompts(generation)).filter(({ id }) => id > after)
    const page = prompts.slice(0, PAGE)
    return {
      prompts: page.map((prompt): McpPrompt => ({ name: prompt.id, ...described(prompt), arguments: argumentsOf(prompt, generation, shared) })),
      nextCursor: prompts.length > page.length ? page.at(-1)?.id : undefined
    }
  }))

  server.setRequestHandler('prompts/get', ({ params }) => inProtocol(async (): Promise<GetPromptResult> => {
    const chosen = await choosePrompt(generation, caller, params.name, {})
    const { prompt } = chosen
    const variables = variablesFrom(prompt, params.arguments ?? {})
    const { messages } = await renderPrompt({
      generation,
      caller,
      id: prompt.id,
      chosen,
      variables,
      requestId: visit.requestId,
      activity: visit.activity,
      arrivedAt: visit.arrivedAt
    })
    return { ...described(prompt), messages: messages.flatMap(promptMessages) }
  }))
}

function described ({ entry }: Prompt): { description?: string } {
  const { source } = entry.definition
  const description = ownField(source, 'description')
  return typeof description === 'string' ? { description } : {}
}

const ENVIRON_TEMPLATE = 'prompt-shell://environs/{id}'
const PROMPT_TEMPLATE = 'prompt-shell://prompts/{id}'

/** The list of resources stays empty: there may be millions of shared variables. */
function offerResources (server: Server, visit: McpRequest, { readEnviron }: McpUses): void {
  const { generation, caller } = visit

  server.setRequestHandler('resources/list', () => ({ resources: [] }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      { uriTemplate: ENVIRON_TEMPLATE, name: 'environ', title: 'Shared variable', description: 'The value of a shared variable, or all below a path', mimeType: 'application/json' },
      { uriTemplate: PROMPT_TEMPLATE, name: 'prompt', title: 'Prompt', description: 'A prompt as it is registered', mimeType: 'application/json' }
    ]
  }))

  server.setRequestHandler('resources/read', ({ params: { uri } }) => inProtocol(async () => {
    demandRole(caller, 'read')
    return { contents: [{ uri, mimeType: 'application/json', text: stringifyJson(await read(uri)) }] }
  }))

  async function read (uri: string): Promise<Json> {
    const [, kind, written = ''] = /^prompt-shell:\/\/(environs|prompts)\/(.+)$/.exec(uri) ?? []
    const id = decoded(written)
    if (id === undefined || kind === undefined) throw new ResourceNotFoundError(uri)
    return kind === 'prompts' ? findPrompt(generation, id).entry.definition.source : await readEnviron({ generation, caller, id })
  }
}

function decoded (text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Set by the protocol: https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion */
const MAX_VALUES = 100

function offerCompletions (server: Server, visit: McpRequest, { environs }: McpUses): void {
  const { generation, caller } = visit

  async function candidates (
    ref: { readonly type: string, readonly name?: string, readonly uri?: string },
    argument: { readonly name: string, readonly value: string }
  ): Promise<readonly string[]> {
    if (ref.type === 'ref/prompt') {
      const { parameters } = findPrompt(generation, ref.name ?? '').entry
      return parameters === undefined ? [] : valuesOf(propertyOf(parameters.schema, argument.name))
    }
    demandRole(caller, 'read')
    if (ref.uri === ENVIRON_TEMPLATE) return visibleEnvirons(environs, caller).index.page(argument.value, '', MAX_VALUES + 1)
    return ref.uri === PROMPT_TEMPLATE ? (await runnablePrompts(generation)).map(({ id }) => id) : []
  }

  server.setRequestHandler('completion/complete', ({ params: { ref, argument } }) => inProtocol(async (): Promise<CompleteResult> => {
    const fitting = (await candidates(ref, argument)).filter(value => value.startsWith(argument.value))
    return { completion: { values: fitting.slice(0, MAX_VALUES), hasMore: fitting.length > MAX_VALUES } }
  }))
}

function valuesOf (property: Readonly<Record<string, Json>>): readonly string[] {
  for (const keyword of ['enum', 'examples']) {
    const values = ownField(property, keyword)
    if (Array.isArray(values)) return values.map((value: Json) => typeof value === 'string' ? value : stringifyJson(value))
  }
  return Object.hasOwn(property, 'type') && property['type'] === 'boolean' ? ['true', 'false'] : []
}

/** Answers the older and the newer form of MCP; keeps nothing between requests, except open streams of changes. */
export class McpEndpoint {
  readonly #uses: McpUses
  readonly #registry: Registry
  readonly #streams = new Set<McpHttpHandler>()

  constructor (uses: McpUses, registry: Registry) {
    this.#uses = uses
    this.#registry = registry
  }

  /** @throws TOO_MANY_STREAMS */
  async answer (request: FastifyRequest, reply: FastifyReply): Promise<Response> {
    const body = request.body as Json
    const follows = isJsonObject(body) && body['method'] === 'subscriptions/listen'
    const gone = toAbortSignal(abortWhenGone(reply))
    const revoked = new AbortController()
    const { generation, caller, id: requestId, activity, arrivedAt } = request
    if (follows) holdStream(request, reply)
    const visit: McpRequest = { generation, caller, requestId, activity, arrivedAt, signal: gone }
    const bus = listChanges({
      generation,
      environs: this.#uses.environs,
      onPublished: listener => this.#registry.onPublished(listener),
      callerNow: () => request.callerNow()
    })
    const handler = createMcpHandler(() => createMcpServer(visit, this.#uses), { bus })
    if (follows) {
      this.#streams.add(handler)
      const leave = this.#uses.rights.watch(() => refusalBy(() => request.callerNow()), () => { revoked.abort() })
      reply.raw.once('close', () => {
        leave()
        this.#streams.delete(handler)
      })
    }
    const span = follows ? undefined : beginMessage(request, body)
    const response = await handler.fetch(toWebRequest(request, AbortSignal.any([gone, revoked.signal])), { parsedBody: body })
    // The answer may be a stream, so it is read beside its sending.
    if (span !== undefined) void endMessage(span, response.clone())
    return follows || takesEvents(request) ? response : await toJsonResponse(response)
  }

  async close (): Promise<void> {
    await Promise.all([...this.#streams].map(handler => handler.close()))
  }
}

/** The library refuses a client that does not name both, although one is enough for an answer. */
const BOTH = 'application/json, text/event-stream'

function toWebRequest ({ headers, url }: FastifyRequest, signal: AbortSignal): Request {
  const known = Object.entries(headers).filter((header): header is [string, string] => typeof header[1] === 'string')
  const accept = headers.accept ?? '*/*'
  const takesOne = /\*\/\*|application\/(?:json|\*)|text\/event-stream/.test(accept)
  return new Request(new URL(url, 'http://localhost'), { method: 'POST', headers: { ...Object.fromEntries(known), accept: takesOne ? BOTH : accept }, signal })
}

function takesEvents ({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/event-stream') === true
}

/** For a client that takes no stream; such a stream holds nothing but the answer. */
async function toJsonResponse (response: Response): Promise<Response> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response
  return new Response(await answerIn(response), { status: response.status, headers: { 'content-type': 'application/json' } })
}

/** The last message of a stream. */
async function answerIn (response: Response): Promise<string> {
  const scanner = new EventScanner(Infinity, ({ data = '' }) => data)
  return [...scanner.feed(Buffer.from(await response.arrayBuffer())), ...scanner.finish()].findLast(data => data !== '') ?? ''
}

/** In characters, since clients can write any name. */
const MAX_NAME = 200

/** https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md#server; `undefined` where nothing is traced. */
function beginMessage ({ activity, headers, raw }: FastifyRequest, body: Json): Span | undefined {
  if (activity.span === undefined || !isJsonObject(body)) return undefined
  const text = (value: Json | undefined): string | undefined => typeof value === 'string' ? value.slice(0, MAX_NAME) : undefined
  const { method, id, params } = body
  const [name, uri] = [text(ownField(params, 'name')), text(ownField(params, 'uri'))]
  const target = method === 'tools/call' || method === 'prompts/get' ? name : undefined
  const given = ownField(params, 'arguments')
  const span = activity.beginMessage([text(method) ?? '(none)', ...target === undefined ? [] : [target]].join(' '), {
    'mcp.method.name': text(method),
    'mcp.session.id': text(headers['mcp-session-id'] as string | undefined),
    'mcp.protocol.version': text(headers['mcp-protocol-version'] as string | undefined),
    'jsonrpc.request.id': typeof id === 'number' ? String(id) : text(id),
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    'network.protocol.version': raw.httpVersion,
    'mcp.resource.uri': uri,
    ...(method === 'tools/call' ? { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name } : {}),
    ...(method === 'prompts/get' ? { 'gen_ai.prompt.name': name } : {})
  }, text(ownField(ownField(params, '_meta'), 'traceparent')))
  if (method === 'tools/call' && isJsonObject(given)) span?.set(span.content?.arguments(given) ?? {})
  if (method === 'prompts/get' && isJsonObject(given)) span?.set(span.content?.variables(given) ?? {})
  return span
}

/** What a client asks for in vain is no error of this service. */
const ERRORS_OF_CLIENTS: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32002])

async function endMessage (span: Span, response: Response): Promise<void> {
  try {
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    const text = isStream ? await answerIn(response) : await response.text()
    const answer = text === '' ? {} : objectOf(parseJson(text))
    const code = ownField(ownField(answer, 'error'), 'code')
    const result = objectOf(answer['result'])
    const status = typeof code === 'number' ? String(code) : undefined
    const failed = result['isError'] === true ? 'tool_error' : ERRORS_OF_CLIENTS.has(Number(code)) ? undefined : status
    span.end({
      'rpc.response.status_code': status,
      ...(failed === undefined && result['content'] !== undefined ? span.content?.result(result) : {})
    }, failed)
  } catch {
    span.end({}, 'CLIENT_CLOSED')
  }
}

/** Without state, so that any replica can answer. */
function createMcpServer (visit: McpRequest, uses: McpUses): Server {
  const server = new Server({ name: 'ai-prompt-shell', title: 'Prompts', version: ENGINE_VERSION }, {
    capabilities: { prompts: { listChanged: true }, tools: { listChanged: true }, resources: {}, completions: {} },
    instructions: 'Prompts of this service are listed, and rendered with your arguments. render_prompt renders one for a model.'
  })
  offerPrompts(server, visit, uses)
  offerTools(server, visit, uses)
  offerResources(server, visit, uses)
  offerCompletions(server, visit, uses)
  return server
}

/** `data` has the service's code and details. @throws ProtocolError: -32602 for a client's fault, -32603 for any other error */
async function inProtocol<T> (answer: () => T | Promise<T>): Promise<T> {
  try {
    return await answer()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const code = error.statusCode < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
    throw new ProtocolError(code, error.message, { code: error.code, details: error.details })
  }
}

/** @throws ROLE_MISSING */
function demandRole ({ name, roles }: Caller, role: Role): void {
  if (!roles.has(role)) throw roleMissing(name, role, [...roles])
}

function argumentsOf (prompt: Prompt, { everyPrompt }: Generation, environs: VisibleEnvirons): PromptArgument[] {
  const { parameters } = prompt.entry
  if (parameters === undefined) {
    const { variables } = collectNeeds(prompt, everyPrompt, environs)
    return [...neededNames(variables)].filter(([, required]) => required).map(([name]) => ({ name, required: true }))
  }
  return Array.from(parameters.names, name => {
    const { description } = propertyOf(parameters.schema, name)
    return {
      name,
      description: typeof description === 'string' ? description : undefined,
      required: parameters.required.has(name) && !Object.hasOwn(parameters.defaults, name)
    }
  })
}

/** MCP arguments are all texts; one that cannot be converted stays a text, so that the prompt's own check reports it. */
function variablesFrom ({ entry }: Prompt, given: Readonly<Record<string, string>>): JsonObject {
  const schema = entry.parameters?.schema
  return Object.fromEntries(Object.entries(given).map(([name, text]) => [name, schema === undefined ? text : valueOf(text, typesOf(propertyOf(schema, name)))]))
}

function propertyOf (schema: JsonObject, name: string): JsonObject {
  return objectOf(ownField(ownField(schema, 'properties'), name))
}

function typesOf (property: JsonObject): readonly string[] {
  const type = ownField(property, 'type')
  return (Array.isArray(type) ? type : [type]).filter(each => typeof each === 'string')
}

function valueOf (text: string, types: readonly string[]): Json {
  if (types.length === 0 || types.includes('string')) return text
  try {
    const value = parseJson(text)
    return types.some(type => isOfType(value, type)) ? value : text
  } catch (error) {
    if (error instanceof JsonError) return text
    throw error
  }
}

function isOfType (value: Json, type: string): boolean {
  switch (type) {
    case 'null': return value === null
    case 'array': return Array.isArray(value)
    case 'object': return isJsonObject(value)
    case 'boolean': return typeof value === 'boolean'
    // The prompt's own check decides whether the number is an integer.
    case 'integer':
    case 'number': return typeof value === 'number' || typeof value === 'bigint'
    default: return false
  }
}
