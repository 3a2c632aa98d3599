import { type Activity } from '../observe/activity.ts'
import { toolArgumentsInvalid, toolNotCallable } from '../base/errors.ts'
import { type CallableTool, type Generation, type Tool } from '../registry/generation.ts'
import { type Json, type JsonObject } from '../base/json.ts'
import { checkArguments } from '../tool/parameters.ts'
import { type ToolOutcome } from '../tool/registered-tool.ts'
import { type ToolCaller } from '../tool/tool-caller.ts'
import { Deadline } from '../runtime/deadline.ts'
import { missingTool } from './choose-prompt.ts'
import { toPath } from '../store/store.ts'

/** In ms, for a call by hand; a call in a render has less time. */
const TOOL_CALL_TIMEOUT = 10_000

export type TryTool = (request: {
  readonly generation: Generation
  readonly id: string
  /** By name, or a list in the order that the tool declares, as a template would give them. */
  readonly arguments: JsonObject | readonly Json[]
  readonly requestId: string
  readonly activity?: Activity | undefined
  readonly signal: AbortSignal
}) => Promise<ToolOutcome>

export function createToolTrial (tools: ToolCaller, timeout = TOOL_CALL_TIMEOUT): TryTool {
  return async function tryTool ({ generation, id, arguments: given, requestId, activity, signal }) {
    const tool = callableTool(generation, id)
    const values = Array.isArray(given) ? tool.mapArguments(given, {}) : tool.mapArguments([], given as JsonObject)
    const violations = checkArguments(tool.definition.parameters, values)
    if (violations.length > 0) throw toolArgumentsInvalid(tool.id, violations)
    const deadline = new Deadline(timeout, performance.now(), signal)
    try {
      const outcome = await tools.call(tool, values, { signal: deadline.toAbortSignal(), requestId, activity, time: { deadline: deadline.at, whole: timeout } })
      // Some wrong arguments are noticed only when the request is built, such as a placeholder of the URL for which there is no text.
      if (outcome.error?.code === 'ARGUMENTS_INVALID') throw toolArgumentsInvalid(tool.id, [{ path: 'arguments', message: outcome.error.message }])
      return outcome
    } finally {
      deadline.abandon()
    }
  }
}

/** @throws TOOL_NOT_FOUND with near matches, or the reason why it is unusable; STORE_UNAVAILABLE before the store was first read */
export function findTool (generation: Generation, id: string): Tool {
  const tool = generation.tools.get(toPath(id))
  if (tool === undefined) throw missingTool(generation, id)
  return tool
}

function callableTool (generation: Generation, id: string): CallableTool {
  const tool = findTool(generation, id)
  if (tool.callable === undefined) throw toolNotCallable(tool.id, whyNotCallable(tool, generation))
  return tool.callable
}

function whyNotCallable ({ id, definition }: Tool, { tools }: Generation): string {
  if (definition.standsFor === undefined) return `its server does not offer "${definition.tool ?? definition.id}"`
  const offered = [...tools.keys()].filter(each => each.startsWith(`${id}.`))
  return `it stands for ${definition.standsFor}, which offers ${offered.length === 0 ? 'nothing so far' : offered.join(', ')}`
}
