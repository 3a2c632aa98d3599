import { type Json } from '../../../base/json.ts'
import { type OfferedTool } from '../../../engine/shared/dialogue-start.ts'
import { type Generation } from '../../../registry/generation/generation.ts'
import { type AgentTool } from '../../../registry/kinds/agent/agent-setting.ts'

/** Describes the tools of an agent to its model, as functions of OpenAI's API. A tool that cannot be called now is left out. */
export function declareTools ({ tools: registered }: Generation, tools: readonly AgentTool[]): OfferedTool[] {
  return tools.flatMap(({ name, tool, description }) => {
    const definition = registered.get(tool)?.callable?.definition
    if (definition === undefined) return []
    const about = description ?? definition.description
    const parameters = (definition.parameters?.schema ?? { type: 'object' }) as Json
    return [{ name, tool, declaration: { type: 'function', function: { name, ...(about === undefined ? {} : { description: about }), parameters } } }]
  })
}
