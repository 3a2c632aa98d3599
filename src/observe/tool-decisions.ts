import { type Transition } from '../session/model.ts'

/** A call of a tool that a session did not make at once, or not at all. */
export type ToolDecision =
  | { readonly kind: 'held', readonly tool: string }
  | { readonly kind: 'refused', readonly tool: string, readonly by: 'person' | 'policy' | 'budget' }

/** What a transition says of calls that wait for people, and of those that are not allowed. */
export function toolDecisionsIn ({ fact, held, denied, notices }: Pick<Transition, 'fact' | 'held' | 'denied' | 'notices'>): ToolDecision[] {
  const waiting = held.flatMap(({ effect }): ToolDecision[] => effect.kind === 'tool' ? [{ kind: 'held', tool: effect.tool }] : [])
  const refused = notices.flatMap(({ type, data: { phase, outcome, effect, tool } }): ToolDecision[] => {
    if (type !== 'tool' || phase !== 'ended' || outcome !== 'refused') return []
    const by = denied.find(({ id }) => id === effect)?.by ?? (fact.kind === 'refused' ? fact.by : 'person')
    return [{ kind: 'refused', tool: String(tool), by }]
  })
  return [...waiting, ...refused]
}
