import { type CallToolResult, ProtocolError, ProtocolErrorCode, type Server, type Tool as McpTool } from '@modelcontextprotocol/server'
import type { Caller } from '../access/caller.ts'
import type { RightsWatch } from '../access/rights.ts'
import { ServiceError } from '../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { Type } from '../schema/builder.ts'
import type { Generation, Tool } from '../registry/generation.ts'
import { runnablePrompts } from '../registry/offered.ts'
import type { Environs } from '../registry/kinds/environ-kind.ts'
import type { Activity } from '../observe/activity.ts'
import type { ChoosePrompt } from '../service/choose-prompt.ts'
import type { ReadEnviron } from '../service/read-environ.ts'
import type { RenderPrompt } from '../service/render-prompt.ts'
import { promptOrMessages } from '../service/rendered-messages.ts'
import type { TryTool } from '../service/try-tool.ts'
import { NOTHING } from '../template/value.ts'
import { modelNames } from '../tool/definition.ts'
import { MAX_MESSAGES, SPEAKERS } from './prompt-request.ts'
import { oneOf } from './schemas.ts'
import { checkOf, closed } from './validation.ts'

const MAX_LISTED = 500

const ANY_OBJECT = { type: 'object' as const }

const RenderArguments = closed(Type.Object({
  id: Type.String({ description: 'The id of the prompt, as list_prompts gives it' }),
  variables: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Values for the template' })),
  label: Type.Optional(Type.String({ description: 'Such as production; by default what this client is served' })),
  messages: Type.Optional(Type.Array(Type.Object({ role: oneOf(SPEAKERS) }, { additionalProperties: true }), {
    maxItems: MAX_MESSAGES,
    description: 'The conversation so far: it goes where the prompt has history, else behind, and is not rendered'
  }))
}))

const ListArguments = closed(Type.Object({ prefix: Type.Optional(Type.String({ description: 'Only ids that begin with this' })) }))

const readRenderArguments = checkOf('arguments', RenderArguments)
const readListArguments = checkOf('arguments', ListArguments)

const OWN_TOOLS: readonly McpTool[] = [
  {
    name: 'render_prompt',
    title: 'Render a prompt',
    description: 'Renders a registered prompt with variables, and gives its text or its messages',
    inputSchema: { ...(RenderArguments as object), ...ANY_OBJECT },
    annotations: { readOnlyHint: true }
  },
  {
    name: 'list_prompts',
    title: 'List prompts',
    description: 'Lists ids of registered prompts, at most 500',
    inputSchema: { ...(ListArguments as object), ...ANY_OBJECT },
    annotations: { readOnlyHint: true }
  }
]

/** The service's own two tools, and registered ones with `callable: true`. */
export function offerTools (server: Server, visit: McpRequest, uses: McpUses): void {
  const { generation, caller } = visit
  server.setRequestHandler('tools/list', () => ({ tools: [...OWN_TOOLS, ...Array.from(namedTools(generation, caller), describeTool)] }))

  server.setRequestHandler('tools/call', async ({ params }) => {
    const { name, arguments: given = {} } = params
    const call = callOf(name, given as JsonObject, visit, uses)
    if (call === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${name}"`, { code: 'TOOL_NOT_FOUND' })
    try {
      return await call()
    } catch (error) {
      // The model that called the tool reads the error, and can correct its call.
      if (error instanceof ServiceError && error.statusCode < 500) return failure(error.message)
      throw error
    }
  })
}

/** A model chooses their arguments, so the caller needs the role `chat`. */
export function callableTools ({ tools }: Generation, { roles }: Caller): Tool[] {
  if (!roles.has('chat')) return []
  return [...tools.values()].filter(({ callable, definition: { registration } }) => callable !== undefined && registration['callable'] === true)
}

const OWN_NAMES: ReadonlySet<unknown> = new Set(OWN_TOOLS.map(({ name }) => name))

/** By names that models accept, unique among these and the service's own tools. */
function namedTools (generation: Generation, caller: Caller): Map<string, Tool> {
  const tools = callableTools(generation, caller)
  const names = modelNames(tools.map(({ definition }) => definition.name), OWN_NAMES)
  return new Map(tools.map(tool => [names.get(tool.definition.name) as string, tool]))
}

function describeTool ([name, { definition }]: [string, Tool]): McpTool {
  const { description, parameters } = definition
  return { name, description: description === '' ? undefined : description, inputSchema: { ...parameters?.schema, ...ANY_OBJECT } }
}

function callOf (name: string, given: JsonObject, visit: McpRequest, uses: McpUses): (() => CallToolResult | Promise<CallToolResult>) | undefined {
  switch (name) {
    case 'render_prompt': return () => renderPrompt(given, visit, uses)
    case 'list_prompts': return () => listPrompts(given, visit)
  }
  const tool = namedTools(visit.generation, visit.caller).get(name)
  return tool === undefined ? undefined : () => callTool(tool, given, visit, uses)
}

async function renderPrompt (given: JsonObject, { generation, caller, requestId, activity, arrivedAt }: McpRequest, uses: McpUses): Promise<CallToolResult> {
  const { id, variables = {}, label, messages = [] } = readRenderArguments(given)
  const chosen = await uses.choosePrompt(generation, caller, id, { label })
  const rendered = await uses.renderPrompt({
    generation,
    caller,
    id: chosen.prompt.id,
    chosen,
    variables: variables as JsonObject,
    history: messages as readonly JsonObject[],
    requestId,
    activity,
    arrivedAt
  })
  return success(textOrJson(promptOrMessages(rendered.prompt, rendered.messages)))
}

async function listPrompts (given: JsonObject, { generation }: McpRequest): Promise<CallToolResult> {
  const { prefix = '' } = readListArguments(given)
  const prompts = await runnablePrompts(generation)
  return success(prompts.filter(({ id }) => id.startsWith(prefix)).slice(0, MAX_LISTED).map(({ id }) => id).join('\n'))
}

async function callTool (
  { id }: Tool, given: JsonObject, { generation, requestId, activity, signal }: McpRequest, { tryTool }: McpUses
): Promise<CallToolResult> {
  const { outcome, value, error } = await tryTool({ generation, id, arguments: given, requestId, activity, signal })
  if (outcome === 'failed') return failure(error?.message ?? 'The tool has failed')
  return success(value === NOTHING ? '' : textOrJson(value as Json))
}

function textOrJson (value: Json): string {
  return typeof value === 'string' ? value : stringifyJson(value)
}

function success (text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

function failure (text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}

export interface McpRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly requestId: string
  readonly activity: Activity
  /** When the whole body had arrived, in ms of `performance.now()`. */
  readonly arrivedAt: number | undefined
  readonly signal: AbortSignal
}

export interface McpUses {
  readonly renderPrompt: RenderPrompt
  readonly choosePrompt: ChoosePrompt
  readonly readEnviron: ReadEnviron
  readonly tryTool: TryTool
  readonly environs: Environs
  readonly rights: RightsWatch
}
