import type { Caller } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import type { RightsWatch } from '../../access/rights.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import type { Generation } from '../../registry/generation.ts'
import type { Activity } from '../../runtime/telemetry.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { type ActiveEffect, isWhole, type Outcome, type Performer, rowOf, type ToolKnowledge } from '../../session/effects.ts'
import type { ToolEffect, Transition } from '../../session/model.ts'
import type { Session } from '../../session/session.ts'
import { toPath } from '../../store/store.ts'
import { NOTHING } from '../../template/value.ts'
import type { ToolCaller } from '../../tool/tool-caller.ts'
import { type Failure, ownerGone, refusalOf } from './session-rights.ts'

/** Makes the performer that calls registered tools for a session, but only tools that the session's owner is allowed to see. */
export function callToolsOf (registry: { readonly generation: Generation }, tools: Pick<ToolCaller, 'call'>): Perform<ToolEffect> {
  return async ({ session: { id }, effect: { id: effect, tool, arguments: given, timeout }, caller, signal, activity }) => {
    const callable = visibleGeneration(registry.generation, caller).tools.get(toPath(tool))?.callable
    if (callable === undefined) return { kind: 'failure', code: 'TOOL_NOT_FOUND', message: `there is no tool "${tool}" that can be called` }
    const time = { deadline: performance.now() + timeout, whole: timeout }
    const options = { signal: timeLimit(signal, timeout), requestId: id, idempotencyKey: `${id}:${effect}`, activity, time }
    const { value, error } = await tools.call(callable, callable.mapArguments([], given), options)
    // The value of a failed call is only a default, meant for templates: a session gets the failure.
    if (error === undefined) return { kind: 'result', result: value === NOTHING ? null : clipped(value as Json) }
    if (error.isInDoubt && !isRepeatableTool(registry.generation, tool)) return { kind: 'unknown', reason: error.message }
    return { kind: 'failure', code: error.code, message: error.message }
  }
}

/** Whether it is safe to call a tool twice, as after a crash: the tool only reads, or its registration allows that. Never for a tool that is not registered. */
export function isRepeatableTool ({ tools }: Generation, tool: string): boolean {
  return tools.get(toPath(tool))?.definition.policy.isRepeatable === true
}

/** The observer of the work on one effect (an action of a session), for logs, metrics and traces. */
export interface EffectActivity extends Activity {
  /** Reports that the work on the effect has ended. @param outcome `ok`, or the code of the failure */
  end (outcome: string): void
}

/** Is told what sessions do, so that metrics and traces can be made from this. */
export interface SessionObserver {
  beginEffect (session: Session, effect: ActiveEffect): EffectActivity
  /** Called with each transition (recorded step) of a session that this process has written. */
  wrote (transition: Transition): void
  ended (session: Session): void
}

/** An effect (an action that a session asks for), with everything that is needed to perform it. */
export interface Performing<E extends ActiveEffect> {
  readonly session: Session
  readonly effect: E
  /** The session's owner, with the rights that the owner has now. */
  readonly caller: Caller
  /** The signal that is aborted when nobody wants the outcome any more. */
  readonly signal: AbortSignal
  readonly activity: EffectActivity | undefined
  /** Sends a piece of the outcome to the clients that follow the session. The piece is not stored. */
  readonly publish: (live: JsonObject) => void
}

/** Performs effects (actions that sessions ask for) of one kind. Expected failures are outcomes; an error that is thrown is a fault of the service. */
export type Perform<E extends ActiveEffect> = (performing: Performing<E>) => Promise<Outcome>

/** The functions that perform the effects (actions) of sessions, one for each kind. */
export type Performers = { readonly [K in ActiveEffect['kind']]: Perform<Extract<ActiveEffect, { readonly kind: K }>> }

/** What is needed to perform the effects (actions) of sessions. */
interface PerformerOptions {
  readonly performers: Performers
  readonly tools: ToolKnowledge
  /** Finds a caller by the name of its token, with the rights that the token has now; `undefined` if the token has been removed. */
  readonly callerNamed: (name: string) => Caller | undefined
  readonly rights: RightsWatch
  readonly observer: SessionObserver | undefined
  /** Ends a child session if its parent, or a session further above, has ended, and tells whether one has. @default no session has a parent */
  readonly stopOrphan?: (session: Session, signal: AbortSignal) => Promise<boolean>
}

/** The reason with which an effect is aborted when its session's owner may not perform it any more. */
export class RightsLost extends Error {
  override readonly name = 'RightsLost'
  readonly failure: Failure

  constructor (failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/**
 * Makes the performer of all effects (actions) of sessions. Before it performs an effect, and once a second as long as the effect lasts, it checks
 * the present rights of the session's owner. An error that one of the `performers` throws is passed on to the runner of sessions.
 */
export function createPerformer ({ performers, tools, callerNamed, rights, observer, stopOrphan }: PerformerOptions): Performer {
  /** Performs an effect, and aborts it as soon as the session's owner may not do it any more. */
  async function whileAllowed (performing: Omit<Performing<ActiveEffect>, 'activity'>): Promise<Outcome> {
    const { session, effect, signal } = performing
    const refusalNow = (): Failure | undefined => refusalOf(callerNamed(session.start.owner), session, effect)
    const refusal = refusalNow()
    if (refusal !== undefined) return refusal
    if (isWhole(effect)) return await observed(performing)
    const ending = new AbortController()
    const leave = rights.watch(refusalNow, failure => { ending.abort(new RightsLost(failure)) })
    try {
      const outcome = await observed({ ...performing, signal: AbortSignal.any([signal, ending.signal]) })
      // What was done all the same is recorded; of what failed, the lost right is the reason.
      return outcome.kind === 'failure' && ending.signal.reason instanceof RightsLost ? ending.signal.reason.failure : outcome
    } finally {
      leave()
    }
  }

  async function observed (given: Omit<Performing<ActiveEffect>, 'activity'>): Promise<Outcome> {
    const performing = { ...given, activity: observer?.beginEffect(given.session, given.effect) }
    // TypeScript cannot tell that the function found under an effect's kind takes effects of that kind: hence the cast.
    const perform = performers[performing.effect.kind] as Perform<ActiveEffect>
    let ended = 'INTERNAL'
    try {
      const outcome = await perform(performing)
      ended = outcome.kind === 'result' ? 'ok' : outcome.kind === 'failure' ? outcome.code : 'UNKNOWN'
      return outcome
    } finally {
      performing.activity?.end(ended)
    }
  }

  return {
    async perform (session, effect, signal, publish) {
      const caller = callerNamed(session.start.owner)
      if (caller === undefined) return ownerGone(session.start.owner)
      if (session.start.parent !== undefined && await stopOrphan?.(session, signal) === true) {
        return { kind: 'failure', code: 'PARENT_ENDED', message: 'the session above it has ended' }
      }
      return await whileAllowed({ session, effect, caller, signal, publish })
    },
    isRepeatable: effect => rowOf(effect).isRepeatable(effect, tools)
  }
}

/** The longest result of a tool that is written whole, in UTF-16 units of its JSON. A longer one is cut. */
const MAX_RESULT = 256 * 1024

/** Shortens a result for the session's log: a result that is too long becomes the beginning of its JSON. @param most the longest JSON, in UTF-16 units */
export function clipped (value: Json, most = MAX_RESULT): Json {
  const text = stringifyJson(value)
  return text.length <= most ? value : `${text.slice(0, most)}…[truncated]`
}
