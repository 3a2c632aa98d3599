import { type JsonObject } from '../../base/json.ts'
import { type Ended } from '../shared/reducer.ts'
import { contextBlockOf } from './context-blocks.ts'
import { answersTo, keyOf } from './cycle-cache.ts'
import { memoryIn } from '../../files/memory/memory-rules.ts'
import { type ContextEntry, type PlanState } from './plan-state.ts'

/** Adds what was read to the state of a plan. For a request that failed, the model is told that the text is missing, and why. */
export function recordRead (state: PlanState, ended: Ended): PlanState {
  const requests = state.pending.flatMap(each => each.requests)
  const answers = 'failure' in ended
    ? requests.map((request): JsonObject => ({ type: 'missing', request, reason: ended.failure }))
    : answersTo(requests, ended.value)
  const context: ContextEntry[] = [...state.context]
  let recalled: Partial<PlanState> = {}
  let at = 0
  for (const { header, requests: candidates } of state.pending) {
    const own = answers.slice(at, at += candidates.length)
    const index = Math.max(0, own.findIndex(block => block !== undefined && block['type'] !== 'missing'))
    const [request, block] = [candidates[index], own[index]]
    if (request === undefined) continue
    if (request['type'] === 'memory') recalled = recall(state, block)
    else context.push({ key: keyOf(request), block: block === undefined ? undefined : contextBlockOf(block, header) })
  }
  return { ...state, pending: [], context, ...recalled }
}

/**
 * The fields of the plan's state that come from the stored memory. The user's `output_format` chooses the mode where neither the user's words
 * nor the request that started the session did.
 */
function recall ({ isRouted }: PlanState, block: JsonObject | undefined): Partial<PlanState> {
  const memory = memoryIn(block?.['user'], block?.['project'])
  const { output_format: format } = memory.user
  const wantsChange = !isRouted && (format === 'patch_first' || format === 'apply')
  const branch = block?.['branch']
  return { memory, branch: typeof branch === 'string' ? branch : undefined, isRouted: true, ...(wantsChange ? { mode: 'apply', isDirect: true } : {}) }
}
