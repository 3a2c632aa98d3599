import { type JsonObject } from '../base/json.ts'
import { type Effect } from './model.ts'

/** What a person has to see of an effect to decide about it. */
export function contentOf (effect: Effect): JsonObject {
  switch (effect.kind) {
    case 'tool': return { kind: 'tool', tool: effect.tool, arguments: effect.arguments, timeoutMs: effect.timeout }
    case 'exec': return { kind: 'exec', target: effect.target, folder: effect.cwd ?? '', command: effect.command, origin: effect.origin, timeoutMs: effect.timeout }
    case 'apply': return { kind: 'apply', workspace: effect.workspace, change: effect.change, timeoutMs: effect.timeout }
    default: return { kind: effect.kind }
  }
}
