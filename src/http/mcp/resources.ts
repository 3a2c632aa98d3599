import { ResourceNotFoundError, type Server } from '@modelcontextprotocol/server'
import { type Json, stringifyJson } from '../../base/json.ts'
import { findPrompt } from '../../service/render/render-prompt.ts'
import { demandRole, inProtocol } from './mcp-errors.ts'
import { type McpUses, type Visit } from './visit.ts'

export const ENVIRON_TEMPLATE = 'prompt-shell://environs/{id}'
export const PROMPT_TEMPLATE = 'prompt-shell://prompts/{id}'

/**
 * Answers reads of shared variables and prompts by their URIs. The list of resources stays empty: there may be millions of shared
 * variables.
 */
export function offerResources (server: Server, visit: Visit, { readEnviron }: McpUses): void {
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
