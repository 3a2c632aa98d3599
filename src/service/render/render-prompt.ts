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
  /** How many passes over the templates it took. */
  readonly passes: number
}

/** The services and settings that prompts are rendered with. */
export interface RendererOptions {
  readonly environs: VisibleEnvirons
  readonly callTool: RenderEnvironment['callTool']
  readonly recallTool?: RecallTool
  /** The whole time of a render, in ms. */
  readonly timeout: number
}

/** A request to render a prompt. */
export interface RenderRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly id: string
  /** The prompt, if a version or label has selected it already. @default the prompt that is served under `id` without a label */
  readonly chosen?: ChosenPrompt | undefined
  /** A linked and valid prompt that is not stored. It is rendered in place of the registered one. */
  readonly candidate?: Prompt | undefined
  /** The revision that the prompt must have. @default any */
  readonly revision?: string | undefined
  readonly variables: JsonObject
  /** The caller's messages. They go where the prompt has a place for them, else after its own, and are never rendered. @default none */
  readonly history?: readonly JsonObject[] | undefined
  /** The whole body of the request, in which a missing variable is searched for. */
  readonly body?: JsonObject | undefined
  readonly requestId: string
  /** Is told of the render, and of the calls that it makes. */
  readonly activity?: Activity | undefined
  /** When the request had arrived in full, on the clock of `performance.now()`. The deadline counts from then, waiting included. @default now */
  readonly arrivedAt?: number | undefined
  /** Called with the explanation of the messages. Without it, nothing is traced. */
  readonly onExplained?: ((explanation: Explanation) => void) | undefined
  /** Called with the functions of tools whose calls failed, if any: their defaults, or nothing, took the place of their results. */
  readonly onToolDefaults?: ((functions: readonly string[]) => void) | undefined
  /** The environment to render with. @default the live service */
  readonly environment?: RenderEnvironment
}

export type RenderPrompt = (request: RenderRequest) => Promise<Rendering>

/** Makes the use case of renders: a prompt and variables become messages. */
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
    const declared = prompt.entry.parameters?.names
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

/** The prompt of that id; `undefined` when there is none. */
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

/** Checks the revision of a prompt. @param revision the one that it must have; `undefined` for any @throws PROMPT_REVISION */
export function requireRevision (prompt: Prompt, id: string, revision: string | undefined): Prompt {
  if (revision !== undefined && revision !== prompt.revision) throw revisionMoved(id, revision, prompt.revision)
  return prompt
}

/** The error that an invalid or unlinked prompt answers with. */
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

/** The variables of a render with their defaults filled in, and what is wrong with them. */
interface FilledVariables {
  readonly variables: JsonObject
  /** Paths of required parameters that have not come and have no default. */
  readonly missing: readonly string[]
  /** Violations of the variables that were given. They are listed here only if a required parameter is missing, too; else they are thrown. */
  readonly violations: readonly Violation[]
}

/**
 * Fills declared parameters with their defaults and checks them. Both take milliseconds for tens of thousands of variables.
 * A missing parameter is no error yet: the templates are run first, to find all other missing values and where each is used.
 * @throws VARIABLES_INVALID with all violations, where nothing is missing
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

/** Names of variables that only a default gives. */
function leftOut (variables: JsonObject, given: JsonObject): ReadonlySet<string> {
  return new Set(Object.keys(variables).filter(name => !Object.hasOwn(given, name)))
}
