import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { isProblem, parsePlan } from '../../../engine/plan/parse-plan.ts'
import { PLAN } from '../../../engine/plan/plan-key.ts'
import { resultOf, startedAs } from '../../../session/engine.ts'
import { type Transition } from '../../../session/model.ts'
import { type Session } from '../../../session/session.ts'
import { maskJson } from './mask-secrets.ts'
import { answersOf, textOf } from './trace.ts'

/** A golden trace: a recorded plan that serves as a test case, with what went in and what came out, and without anything that differs from run to run. */
export interface Golden {
  readonly protocol: { readonly schema_version: number, readonly schema_hash: string }
  readonly request: Readonly<Record<'mode' | 'input_chars' | 'token_budget' | 'model', Json>> & { readonly strict_json: boolean, readonly provider: string }
  readonly context: { readonly context_stats: Json, readonly cache_stats: Json }
  readonly result: {
    readonly validated_json: Json
    readonly validation_outcome: 'ok' | 'error'
    readonly error_code: Json
    /**
     * The state of the plan. This member and the next two exist only with version 2 of the answer's schema. `mended` has the codes of faults that
     * the model had to correct, `check_rounds` the number of times that a check has failed.
     */
    readonly state?: string
    readonly mended?: readonly string[]
    readonly check_rounds?: number
  }
}

/** Makes the golden trace (test case) of a plan from its log. @param provider the type of the model's provider, such as `builtin` */
export function goldenOf (session: Session, transitions: readonly Transition[], provider: string): Golden {
  const { schemaVersion, schemaHash, isStrict, model } = startedAs(session.start, PLAN).setting
  const logged = transitions.flatMap(({ notices }) => notices.filter(({ type }) => type === 'log').map(({ data }) => data))
  const sent = logged.findLast(({ event }) => event === 'LLM_REQUEST_SENT') ?? {}
  const judged = logged.findLast(({ event }) => event === 'LLM_PLAN_OK' || event === 'VALIDATION_FAILED')
  const answer = answersOf(transitions).at(-1) ?? null
  const outcome = resultOf(session, PLAN)
  const { mode, context_stats: contextStats, cache_stats: cacheStats, error_code: code = null } = outcome
  const rounds = {
    state: outcome.state,
    mended: outcome.session_memory.recent_errors.map(error => error.split(':', 1)[0] ?? ''),
    check_rounds: logged.filter(({ event }) => event === 'CHECK_FAILED_ROUND').length
  }
  return {
    protocol: { schema_version: schemaVersion, schema_hash: schemaHash },
    request: {
      mode,
      input_chars: sent['input_chars'] ?? 0,
      token_budget: sent['token_budget'] ?? 0,
      strict_json: isStrict,
      provider,
      model: model === '' ? modelOf(answer) : model
    },
    context: { context_stats: contextStats, cache_stats: cacheStats },
    result: {
      validated_json: maskJson(jsonOf(answer, schemaVersion)),
      validation_outcome: judged?.['event'] === 'LLM_PLAN_OK' ? 'ok' : 'error',
      error_code: code,
      ...(schemaVersion === 1 ? {} : rounds)
    }
  }
}

/** The name of the model, as its answer gives it. */
function modelOf (answer: Json): Json {
  return (isJsonObject(answer) ? answer : {} as JsonObject)['model'] ?? null
}

/** The JSON in a model's answer; null if the answer has no JSON of the right form. */
function jsonOf (answer: Json, version: number): Json {
  const reply = parsePlan(textOf(answer), version)
  return isProblem(reply) ? null : reply.json
}
