import { type GetPromptResult, type Prompt as McpPrompt, type Server } from '@modelcontextprotocol/server'
import { visibleEnvirons } from '../../access/environ-view.ts'
import { type Prompt } from '../../registry/generation/generation.ts'
import { runnablePrompts } from '../../registry/generation/offered.ts'
import { argumentsOf, variablesFrom } from './prompt-arguments.ts'
import { inProtocol } from './mcp-errors.ts'
import { promptMessages } from './prompt-messages.ts'
import { type McpUses, type Visit } from './visit.ts'

/**
 * The number of prompts in one page of `prompts/list`. Pages are small, since the arguments of their prompts are computed one prompt after
 * the other.
 */
const PAGE = 200

/** Answers `prompts/list` and `prompts/get` of MCP with the prompts that the caller may see. */
export function offerPrompts (server: Server, visit: Visit, { renderPrompt, choosePrompt, environs }: McpUses): void {
  const { generation, caller } = visit
  server.setRequestHandler('prompts/list', ({ params }) => inProtocol(() => {
    const shared = visibleEnvirons(environs, caller)
    const after = params?.cursor ?? ''
    const prompts = runnablePrompts(generation).filter(({ id }) => id > after)
    const page = prompts.slice(0, PAGE)
    return {
      prompts: page.map((prompt): McpPrompt => ({ name: prompt.id, ...described(prompt), arguments: argumentsOf(prompt, generation, shared) })),
      ...(prompts.length > page.length ? { nextCursor: page.at(-1)?.id } : {})
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
  const description = Object.hasOwn(source, 'description') ? source['description'] : undefined
  return typeof description === 'string' ? { description } : {}
}
