import { contentHash } from '../base/json.ts'
import { type Effect } from './model.ts'

/**
 * What must be equal in every fold of a log, beside the kind of an effect. Of what a model is sent there is none: it would
 * hash the whole dialogue at every step, and a repeated question changes nothing.
 */
export function digestOf (effect: Effect): string {
  switch (effect.kind) {
    case 'llm': return effect.purpose
    case 'tool': return contentHash({ tool: effect.tool, arguments: effect.arguments })
    case 'exec': return contentHash({ target: effect.target, command: effect.command })
    case 'check': return contentHash({ workspace: effect.workspace, check: effect.check })
    case 'apply': return contentHash({ workspace: effect.workspace, change: effect.change })
    case 'remember': return contentHash({ workspace: effect.workspace, patch: effect.patch })
    default: return ''
  }
}
