import type { Attributes } from '@opentelemetry/api'
import type { Caller } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/views.ts'
import type { RightsWatch } from '../../access/rights.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { ExecutorError } from '../../exec/executor.ts'
import { FileRefusal } from '../../files/workspace-files.ts'
import type { Generation } from '../../registry/generation.ts'
import { EffectActivity, type Observer } from '../../observe/activity.ts'
import type { Turn } from '../../observe/open-telemetry.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { type ActiveEffect, type Outcome, type Performer, rowOf, type ToolKnowledge } from '../../session/effects.ts'
import type { ToolEffect, LogEntry } from '../../session/model.ts'
import type { Session } from '../../session/session.ts'
import { toPath } from '../../store/store.ts'
import { NOTHING } from '../../template/value.ts'
import type { ToolCaller } from '../../tool/tool-caller.ts'
import { type EffectFailure, ownerGone, refusalOf } from './session-rights.ts'

/** Only tools that the session's owner is allowed to see. */
export function callToolsOf (registry: { readonly generation: Generation }, tools: Pick<ToolCaller, 'call'>): Perform<ToolEffect> {
  return async ({ session: { id }, effect: { id: effect, tool, call: callId, arguments: given, timeout }, caller, signal, activity }) => {
    const callable = visibleGeneration(registry.generation, caller).tools.get(toPath(tool))?.callable
    if (callable === undefined) return { kind: 'failure', code: 'TOOL_NOT_FOUND', message: `there is no tool "${tool}" that can be called` }
    const time = { deadline: performance.now() + timeout, whole: timeout }
    const options = { signal: timeLimit(signal, timeout), requestId: id, idempotencyKey: `${id}:${effect}`, activity, callId, time }
    const { value, error } = await tools.call(callable, callable.mapArguments([], given), options)
    // The value of a failed call is only a default, meant for templates: a session gets the failure.
    if (error === undefined) return { kind: 'result', result: value === NOTHING ? null : clipped(value as Json) }
    if (error.isInDoubt && !isRepeatableTool(registry.generation, tool)) return { kind: 'unknown', reason: error.message }
    return { kind: 'failure', code: error.code, message: error.message }
  }
}

/** The tool only reads, or its registration allows a repetition after a crash; never for an unregistered tool. */
export function isRepeatableTool ({ tools }: Generation, tool: string): boolean {
  return tools.get(toPath(tool))?.definition.policy.isRepeatable === true
}

/** Counts the calls of tools that a transition makes wait for an approval, or refuses. */
export function countDecisions ({ tools, sessionToolsHeld, sessionToolsRefused }: Metrics, { fact, held, denied, notices }: LogEntry): void {
  for (const { effect } of held) if (effect.kind === 'tool') sessionToolsHeld.inc({ tool: tools.take(effect.tool) })
  for (const { type, data: { phase, outcome, effect, tool } } of notices) {
    if (type !== 'tool' || phase !== 'ended' || outcome !== 'refused') continue
    const by = denied.find(({ id }) => id === effect)?.by ?? (fact.kind === 'refused' ? fact.by : 'person')
    sessionToolsRefused.inc({ tool: tools.take(String(tool)), by })
  }
}

export interface Performing<E extends ActiveEffect> {
  readonly session: Session
  readonly effect: E
  /** With the rights that the owner has now. */
  readonly caller: Caller
  readonly signal: AbortSignal
  readonly activity: EffectActivity | undefined
  /** The piece is not stored. */
  readonly publish: (live: JsonObject) => void
}

/** Expected failures are outcomes; an error that is thrown is a fault of the service. */
export type Perform<E extends ActiveEffect> = (performing: Performing<E>) => Promise<Outcome>

export type Performers = { readonly [K in ActiveEffect['kind']]: Perform<Extract<ActiveEffect, { readonly kind: K }>> }

export class RightsLost extends Error {
  override readonly name = 'RightsLost'
  readonly failure: EffectFailure

  constructor (failure: EffectFailure) {
    super(failure.message)
    this.failure = failure
  }
}

/** Checks the owner's present rights before an effect and once a second during it; an error of a performer is passed on. */
export function createPerformer ({ performers, tools, callerNamed, seek, rights, observer, load, stopOrphan }: {
  readonly performers: Performers
  readonly tools: ToolKnowledge
  /** With the rights that the token has now; `undefined` if it has been removed. */
  readonly callerNamed: (name: string) => Caller | undefined
  /** Where the session is new here, its owner may be, too. @default every owner is known */
  readonly seek?: ((name: string) => Promise<Caller | undefined>) | undefined
  readonly rights: RightsWatch
  readonly observer: Observer | undefined
  /** Of a session above another, whose trace it is in. @default each session has traces of its own */
  readonly load?: LoadSession
  /** Ends a child session if one above it has ended. @default no session has a parent */
  readonly stopOrphan?: (session: Session, signal: AbortSignal) => Promise<boolean>
}): Performer {
  async function whileAllowed (performing: Omit<Performing<ActiveEffect>, 'activity'>): Promise<Outcome> {
    const { session, effect, signal } = performing
    const refusalNow = (): EffectFailure | undefined => refusalOf(callerNamed(session.start.owner), session, effect)
    const refusal = refusalNow()
    if (refusal !== undefined) return refusal
    if (rowOf(effect).isWhole === true) return await observed(performing)
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
    const { session, effect } = given
    const turn = observer?.tracer && await turnOf(session, load)
    const performing = { ...given, activity: observer && new EffectActivity(observer, effect, session.id, session.start.definition, aboutOf(session), turn) }
    // TypeScript cannot tell that the function found under an effect's kind takes effects of that kind.
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
      const caller = callerNamed(session.start.owner) ?? await seek?.(session.start.owner)
      if (caller === undefined) return ownerGone(session.start.owner)
      if (session.start.parent !== undefined && await stopOrphan?.(session, signal) === true) {
        return { kind: 'failure', code: 'PARENT_ENDED', message: 'the session above it has ended' }
      }
      return await whileAllowed({ session, effect, caller, signal, publish })
    },
    isRepeatable: effect => rowOf(effect).isRepeatable(effect, tools)
  }
}

type LoadSession = (id: string) => Promise<Session | undefined>

/** For traces; `undefined` for a session without turns, such as a terminal. */
export async function turnOf ({ id, start, turn: { number, began } }: Session, load?: LoadSession): Promise<Turn | undefined> {
  const { definition, revision, parent } = start
  const [, kind, name] = KIND_AND_NAME.exec(definition) ?? []
  if (name === undefined) return undefined
  // A trace is not worth a failure of the session.
  const above = parent && await load?.(parent.session).catch(() => undefined)
  const turn = above && await turnOf(above, load)
  return {
    session: id,
    number,
    began,
    definition,
    revision,
    operation: kind === 'agents' ? 'invoke_agent' : 'invoke_workflow',
    name,
    about: { 'gen_ai.conversation.id': id, ...nameAttributes(definition) },
    above: parent && turn && { turn, effect: parent.effect }
  }
}

const KIND_AND_NAME = /^(agents|skills|plans)\/(.*)/s

/** For what is done now: another agent may have taken the dialogue over. */
function aboutOf ({ id, start, engine: { view } }: Session): Attributes {
  return { 'gen_ai.conversation.id': id, ...nameAttributes(view.definition ?? start.definition) }
}

function nameAttributes (definition: string): Attributes {
  const [, kind, name] = KIND_AND_NAME.exec(definition) ?? []
  return kind === 'agents' ? { 'gen_ai.agent.name': name } : { 'gen_ai.workflow.name': name }
}

/** Of what the operator's machines and workspaces refuse. @throws any other error unchanged */
export function failureOf (error: unknown): EffectFailure {
  if (error instanceof ExecutorError || error instanceof FileRefusal) return { kind: 'failure', code: error.code, message: error.message }
  throw error
}

/** In UTF-16 units of its JSON. */
const MAX_RESULT = 256 * 1024

/** A longer one becomes the beginning of its JSON; `most` is in UTF-16 units. */
export function clipped (value: Json, most = MAX_RESULT): Json {
  const text = stringifyJson(value)
  return text.length <= most ? value : `${text.slice(0, most)}…[truncated]`
}
