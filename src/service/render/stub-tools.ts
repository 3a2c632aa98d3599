import { type Generation } from '../../registry/generation/generation.ts'
import { NOTHING } from '../../template/value.ts'
import { defaultOf } from '../../tool/call/outcome.ts'
import { type CallTool } from './call-tool.ts'

/** Makes the function that answers each tool call with the default of the tool's registration, and calls no tool. */
export function stubTools (generation: Generation): CallTool {
  return async ({ tool }) => {
    const definition = generation.tools.get(tool.id)?.definition
    return { value: definition === undefined ? NOTHING : defaultOf(definition), outcome: 'stubbed', durationMs: 0 }
  }
}
