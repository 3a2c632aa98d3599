import { type Activity } from '../../runtime/activity.ts'
import {
  renderFailed, renderTimeout, revisionMoved, ServiceError, templateCycle, templateLink, templateSyntax, variableMissing, variablesInvalid,
  type Violation
} from '../../base/errors.ts'
import { inWords } from '../../registry/diagnostic/diagnostic.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { diagnosticsOf } from '../../registry/lint/rejected-names.ts'
import { type Caller } from '../../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { inTurn } from '../../runtime/fairness.ts'
import { renderToFixpoint } from '../../template/run/fixpoint.ts'
import { RenderError } from '../../template/language.ts'
import { Run } from '../../template/run/run.ts'
import { ScopeRoot } from '../../template/run/scope.ts'
import { Trace } from '../../template/explain/trace.ts'
import { TracedRoot } from '../../template/explain/traced-root.ts'
import { type JsonObject } from '../../base/json.ts'
import { asksFor } from './asked-paths.ts'
import { type RecallTool } from './call-tool.ts'
import { Deadline } from '../../runtime/deadline.ts'
import { explain, type Explanation } from './explanation.ts'
import { missingPrompt } from '../missing-entries.ts'
import { type ChosenPrompt } from '../versions/choose-prompt.ts'
import { withParameters } from './missing-parameters.ts'
import { type Present, withNearNames } from './near-variables.ts'
import { assembleMessages, type RenderedMessage } from './rendered-messages.ts'
import { RenderOptions } from './render-options.ts'
import { type RenderEnvironment } from './render-environment.ts'
import { toPath } from '../../store/keys.ts'

/** The result of a render. */
export interface Rendering {
  readonly prompt: Prompt
  /** The rendered messages of the prompt, and those of the caller. */
  readonly messages: readonly RenderedMessage[]
  /** How many passes over the templates the render took: one more after each round of tool calls. */
  readonly passes: number
}

/** The parts of the service, and the settings, that a render needs. */
export interface RendererOptions {
  readonly environs: VisibleEnvirons
  readonly callTool: RenderEnvironment['callTool']
  readonly recallTool?: RecallTool
  /** The longest time of a render, in ms. */
  readonly timeout: number
}

/** A request to render a prompt. */
export interface RenderRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly id: string
  /** The version of the prompt, if it was chosen before, for example by a label. @default the prompt that is served when a request names no label */
  readonly chosen?: ChosenPrompt | undefined
  /** A valid prompt that is not stored, as in a preview. It is rendered in place of a registered one. */
  readonly candidate?: Prompt | undefined
  /** The revision that the prompt must have. @default any */
  readonly revision?: string | undefined
  readonly variables: JsonObject
  /** The conversation so far, as messages of the caller. They go where the prompt has a place for them, else to the end, and are not rendered. @default none */
  readonly history?: readonly JsonObject[] | undefined
  /** The whole body of the request. A missing variable is searched in it, since the caller perhaps sent the variable in the wrong place. */
  readonly body?: JsonObject | undefined
  readonly requestId: string
  /** The observer of the request (for logs, metrics and traces), which learns of the render and of its tool calls. */
  readonly activity?: Activity | undefined
  /**
   * The time at which the whole request had arrived, in ms of `performance.now()`. The time limit of the render counts from then, so any wait
   * before the render counts, too.
   * @default now
   */
  readonly arrivedAt?: number | undefined
  /** Called with the explanation of the messages. Without this function nothing is traced, which is faster. */
  readonly onExplained?: ((explanation: Explanation) => void) | undefined
  /** Called with the names of the functions whose tool calls failed, if any, so that defaults, or nothing, took the place of their results. */
  readonly onToolDefaults?: ((functions: readonly string[]) => void) | undefined
  /** Where shared variables, results of tools and the clock come from. @default the live service */
  readonly environment?: RenderEnvironment
}

export type RenderPrompt = (request: RenderRequest) => Promise<Rendering>

/** Makes the function that renders prompts: it turns a prompt and variables into messages. */
export function createPromptRenderer ({ environs, callTool, recallTool, timeout }: RendererOptions): RenderPrompt {
  return async function renderPrompt (request) {
    const { generation, caller, id, chosen, candidate, revision, variables: given, history = [], body } = request
    const { requestId, activity, arrivedAt, onExplained, onToolDefaults } = request
    const prompt = candidate ?? runnablePrompt(generation, id, revision, chosen?.prompt)
    const deadline = new Deadline(timeout, arrivedAt)
    const shared = visibleEnvirons(environs, caller)
    const environment = request.environment ?? { environs: shared, callTool, recallTool }
    const present: Present = { variables: given, body, environs: shared, isAskedFor: path => asksFor(prompt, path) }
    const { variables, missing, violations } = await fillVariables(prompt, given, () => {
      if (performance.now() > deadline.at) throw renderTimeout(timeout)
    })
    const trace = onExplained === undefined ? undefined : new Trace()
    const options = new RenderOptions({ environment, deadline, requestId, activity, trace, lacks: missing.length > 0 })
    const run = new Run(options)
    const declared = prompt.entry.parameters?.bareNames
    const root = trace === undefined
      ? new ScopeRoot(run, variables, caller.facts, declared)
      : new TracedRoot(run, trace, variables, caller.facts, declared, variables === given ? undefined : leftOut(variables, given))
    try {
      const texts = await renderToFixpoint(run, prompt.id, () => prompt.texts.map(({ where, template, links }) => {
        run.text = where
        const text = template(trace !== undefined).open(run, { links, root })(root)
        trace?.endText()
        return text
      }), options)
      const messages = assembleMessages(prompt, texts, history)
      if (trace !== undefined) onExplained?.(explain(trace, chosen ?? { prompt, version: undefined, label: undefined }, options.failedTools))
      if (options.failedTools.length > 0) onToolDefaults?.(options.failedTools)
      return { prompt, messages, passes: run.passes }
    } catch (error) {
      if (error instanceof RenderError) {
        const { message, syntax, line, column } = error
        throw renderFailed(prompt.id, message, { syntax, line, column, ...run.textName() })
      }
      if (error instanceof ServiceError && error.code === 'VARIABLE_MISSING') {
        const misses = withParameters(run.misses, missing, prompt, generation, shared)
        throw variableMissing(prompt.id, withNearNames(misses, present), prompt.entry.compiled, violations)
      }
      throw error
    } finally {
      deadline.abandon()
    }
  }
}

/** Finds a registered prompt by its id; `undefined` when there is none. */
export function lookUpPrompt ({ prompts }: Generation, id: string): Prompt | undefined {
  return prompts.get(id) ?? prompts.get(toPath(id))
}

/**
 * Finds a registered prompt.
 * @param revision the revision that the prompt must have. @default any
 * @throws PROMPT_NOT_FOUND with near matches, PROMPT_REVISION, STORE_UNAVAILABLE before anything was loaded
 */
export function findPrompt (generation: Generation, id: string, revision?: string): Prompt {
  const prompt = lookUpPrompt(generation, id)
  if (prompt === undefined) throw missingPrompt(generation, id)
  return requireRevision(prompt, id, revision)
}

/** Checks that a prompt has the expected revision (a hash). @param revision the expected one; `undefined` for any @throws PROMPT_REVISION */
export function requireRevision (prompt: Prompt, id: string, revision: string | undefined): Prompt {
  if (revision !== undefined && revision !== prompt.revision) throw revisionMoved(id, revision, prompt.revision)
  return prompt
}

/** The error for a prompt that cannot be rendered, as it has mistakes or its tools or partials are missing; `undefined` for a valid prompt. */
export function whyNotRunnable (prompt: Prompt, { findRejected }: Generation): ServiceError | undefined {
  if (prompt.state === 'valid') return undefined
  const mistakes = diagnosticsOf(prompt, findRejected).filter(diagnostic => diagnostic.severity === 'error')
  const isEndless = mistakes.every(({ code }) => code === 'PARTIAL_CYCLE')
  const problem = prompt.state === 'invalid' ? templateSyntax : isEndless ? templateCycle : templateLink
  return problem(prompt.id, mistakes.map(inWords), mistakes)
}

function runnablePrompt (generation: Generation, id: string, revision: string | undefined, chosen: Prompt | undefined): Prompt {
  const prompt = chosen === undefined ? findPrompt(generation, id, revision) : requireRevision(chosen, id, revision)
  const error = whyNotRunnable(prompt, generation)
  if (error !== undefined) throw error
  return prompt
}

/** The variables of a render, filled up with defaults, and what is wrong with them. */
interface FilledVariables {
  readonly variables: JsonObject
  /** The paths of required parameters that the caller has not sent and that have no default. */
  readonly missing: readonly string[]
  /** Errors in the values of variables. They are listed here only if a required parameter is missing, too; otherwise they are thrown. */
  readonly violations: readonly Violation[]
}

/**
 * Fills declared parameters with their defaults, and checks them. Both take milliseconds for tens of thousands of variables. A missing
 * parameter is no error yet: the templates run first, to find all other missing values and where each is used.
 * @throws VARIABLES_INVALID with all violations, if no parameter is missing
 */
async function fillVariables (prompt: Prompt, given: JsonObject, checkDeadline: () => void): Promise<FilledVariables> {
  const { parameters } = prompt.entry
  if (parameters === undefined) return { variables: given, missing: [], violations: [] }
  const { defaults } = parameters
  const variables = await inTurn(() => {
    checkDeadline()
    const isWhole = Object.keys(defaults).every(name => Object.hasOwn(given, name))
    return isWhole ? given : { ...defaults, ...given }
  })
  const violations = await inTurn(() => {
    checkDeadline()
    return parameters.validate(variables)
  })
  if (violations.length === 0) return { variables, missing: [], violations }
  const missing = parameters.missingFrom(variables)
  if (missing.length === 0) throw variablesInvalid(prompt.id, violations)
  return { variables, missing, violations: violations.filter(({ path }) => !missing.includes(path)) }
}

/** The names of the variables whose value is only a default. */
function leftOut (variables: JsonObject, given: JsonObject): ReadonlySet<string> {
  return new Set(Object.keys(variables).filter(name => !Object.hasOwn(given, name)))
}
