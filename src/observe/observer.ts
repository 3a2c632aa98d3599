import { type FastifyRequest } from 'fastify'
import { type RequestObserver } from '../http/base/request-observer.ts'
import { type Metrics } from './metrics.ts'
import { type SessionObserver } from '../service/sessions/perform/performer.ts'
import { ObservedEffect } from './observed-effect.ts'
import { ObservedRequest } from './observed-request.ts'
import { parseTraceparent, type Tracer } from './span.ts'
import { type Transition } from '../session/model.ts'

/**
 * Makes the observer of requests and sessions, which writes metrics and traces.
 * @param tracer `undefined` when traces are not exported: then there are no spans, and a caller's trace context is only passed on
 */
export function createObserver (metrics: Metrics, tracer: Tracer | undefined): RequestObserver & SessionObserver {
  return {
    begin (request: FastifyRequest) {
      const caller = parseTraceparent(request.headers.traceparent as string | undefined)
      return new ObservedRequest(metrics, caller, tracer && beginSpan(tracer, request, caller))
    },
    beginEffect ({ id, start: { definition } }, { kind }) {
      return new ObservedEffect(
        metrics,
        kind,
        tracer?.begin(`session ${kind}`, { 'prompt_shell.session.id': id, 'prompt_shell.session.definition': definition }, undefined)
      )
    },
    wrote (transition) {
      for (const decision of toolDecisionsIn(transition)) {
        const tool = metrics.tools.take(decision.tool)
        if (decision.kind === 'held') metrics.sessionToolsHeld.inc({ tool })
        else metrics.sessionToolsRefused.inc({ tool, by: decision.by })
      }
    },
    ended ({ start: { engine }, status }) {
      metrics.sessionsEnded.inc({ engine, status })
    },
    refused: () => { metrics.refused.inc() }
  }
}

function beginSpan (tracer: Tracer, { method, routeOptions: { url } }: FastifyRequest, caller: ReturnType<typeof parseTraceparent>) {
  return tracer.begin(
    url === undefined ? method : `${method} ${url}`,
    { 'http.request.method': method, ...(url === undefined ? {} : { 'http.route': url }) },
    caller
  )
}

/** A call of a tool that a session did not make at once, because it waits for an approval (`held`), or did not make at all (`refused`). */
type ToolDecision =
  | { readonly kind: 'held', readonly tool: string }
  | { readonly kind: 'refused', readonly tool: string, readonly by: 'person' | 'policy' | 'budget' }

/** Finds the tool calls that one transition (a change of a session's state) has held, so that they wait for an approval, or refused. */
function toolDecisionsIn ({ fact, held, denied, notices }: Pick<Transition, 'fact' | 'held' | 'denied' | 'notices'>): ToolDecision[] {
  const waiting = held.flatMap(({ effect }): ToolDecision[] => effect.kind === 'tool' ? [{ kind: 'held', tool: effect.tool }] : [])
  const refused = notices.flatMap(({ type, data: { phase, outcome, effect, tool } }): ToolDecision[] => {
    if (type !== 'tool' || phase !== 'ended' || outcome !== 'refused') return []
    const by = denied.find(({ id }) => id === effect)?.by ?? (fact.kind === 'refused' ? fact.by : 'person')
    return [{ kind: 'refused', tool: String(tool), by }]
  })
  return [...waiting, ...refused]
}
