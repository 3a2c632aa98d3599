import { type Generation } from '../../registry/generation/generation.ts'
import { toolCallKey } from '../../template/run/tool-call.ts'
import { type RecordedCall } from '../render/bundle.ts'
import { type CallTool } from '../render/call-tool.ts'
import { recordedValue } from '../render/replay-environment.ts'
import { stubTools } from '../render/stub-tools.ts'

/**
 * Makes the function that answers tool calls in a preview without calling a tool: a recorded call gives its recorded result, any other call
 * the default result from its tool's registration.
 */
export function knownTools (generation: Generation, recorded: readonly RecordedCall[]): CallTool {
  const known = new Map(recorded.map(call => [toolCallKey(call.tool, call.arguments), call]))
  const stub = stubTools(generation)
  return async (call, options) => {
    const answer = known.get(call.key)
    return answer === undefined ? await stub(call, options) : { value: recordedValue(answer), outcome: 'recorded', durationMs: 0 }
  }
}
