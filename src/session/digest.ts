import { contentHash } from '../base/json.ts'
import { type Effect } from './model.ts'

/**
 * What must be equal in every fold of a log, beside the kind of an effect. Of what a model is sent there is none: it would
 * hash the whole dialogue at every step, and a repeated question changes nothing.
 */
export function digestOf (effect: Effect): string {
  return effect.kind === 'tool' ? contentHash({ tool: effect.tool, arguments: effect.arguments }) : effect.kind === 'llm' ? effect.purpose : ''
}
