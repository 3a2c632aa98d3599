import { type Transition } from '../session/model.ts'

/** A call of a tool that a session did not make at once, because it waits for an approval (`held`), or did not make at all (`refused`). */
export type ToolDecision =
  | { readonly kind: 'held', readonly tool: string }
  | { readonly kind: 'refused', readonly tool: string, readonly by: 'person' | 'policy' | 'budget' }

/** Finds the calls of tools that were held or refused, in one transition (a change of a session's state). */
export function toolDecisionsIn ({ fact, held, denied, notices }: Pick<Transition, 'fact' | 'held' | 'denied' | 'notices'>): ToolDecision[] {
  const waiting = held.flatMap(({ effect }): ToolDecision[] => effect.kind === 'tool' ? [{ kind: 'held', tool: effect.tool }] : [])
  const refused = notices.flatMap(({ type, data: { phase, outcome, effect, tool } }): ToolDecision[] => {
    if (type !== 'tool' || phase !== 'ended' || outcome !== 'refused') return []
    const by = denied.find(({ id }) => id === effect)?.by ?? (fact.kind === 'refused' ? fact.by : 'person')
    return [{ kind: 'refused', tool: String(tool), by }]
  })
  return [...waiting, ...refused]
}
