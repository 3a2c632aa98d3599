import { type JsonObject } from '../base/json.ts'
import { beginningOf } from '../base/text.ts'
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

/** A command is shown up to this length in an audit, in UTF-16 units. */
const MAX_COMMAND = 500

/** What an effect is about, in short: for the audit, which keeps it for each that was begun. */
export function subjectOf (effect: Effect): JsonObject | undefined {
  switch (effect.kind) {
    case 'llm': return { purpose: effect.purpose }
    case 'tool': return { tool: effect.tool }
    case 'exec': return { target: effect.target, command: beginningOf(effect.command, MAX_COMMAND) }
    case 'check': return { workspace: effect.workspace, check: effect.check }
    case 'read': return { ...effect.from, requests: effect.requests.length }
    case 'apply': return { workspace: effect.workspace, deletes: effect.deletes }
    case 'remember': return { workspace: effect.workspace }
    case 'wait': return undefined
  }
}
