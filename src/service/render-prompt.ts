import type { Caller } from '../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../access/views.ts'
import {
  type MissingPath, renderBudget, renderFailed, renderTimeout, revisionMoved, ServiceError, templateCycle, templateLink, templateSyntax, variableMissing,
  variablesInvalid
} from '../base/errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { describeDiagnostic } from '../registry/diagnostic.ts'
import { isNearly } from '../base/near-matches.ts'
import type { Generation, Prompt } from '../registry/generation.ts'
import { diagnosticsOf } from '../registry/unknown-names.ts'
import type { EnvironNames } from '../registry/needs/variable-paths.ts'
import { collectNeeds } from '../registry/needs/prompt-needs.ts'
import type { Activity } from '../observe/activity.ts'
import { Deadline } from '../runtime/deadline.ts'
import { inTurn } from '../runtime/event-loop.ts'
import { type Link, type LinkedPartial, RenderError } from '../template/language.ts'
import type { TracedAnswer } from '../template/provenance.ts'
import { DEFAULT_LIMITS, type EnvironSource, renderToFixpoint, RenderRun, type RunOptions } from '../template/run.ts'
import { ScopeRoot } from '../template/scope.ts'
import type { ToolCall } from '../template/template-function.ts'
import { Trace } from '../template/trace.ts'
import { isObject, type Value } from '../template/value.ts'
import { type ToolCallOptions, type ToolOutcome, valueForRender } from '../tool/registered-tool.ts'
import type { ToolCaller } from '../tool/tool-caller.ts'
import type { ChosenPrompt } from './choose-prompt.ts'
import { assembleMessages, explain, type Explanation, type RenderedMessage } from './rendered-messages.ts'

export interface RenderEnvironment {
  readonly environs: EnvironSource
  readonly callTool: CallTool
  readonly recallTool?: RecallTool | undefined
  /** @default the time at which a template first asks for it */
  readonly now?: Date | undefined
}

/** Of one render or chat, in UTF-16 units of JSON: each of its hundred calls could give 1 MiB. */
const MAX_RESULTS_SIZE = 8 * 1024 * 1024

interface ToolAnswer extends TracedAnswer {
  /** The tool's result or, after a failure, the default in its place. */
  readonly value: Value
  readonly size?: number
}

/** Throws only when the render must end; any other failed call gives the default from the tool's registration. */
export type CallTool = (call: ToolCall, options: ToolCallOptions) => Promise<ToolAnswer>

type RecallTool = (call: ToolCall, activity?: Activity) => ToolAnswer | undefined

export function callWith (tools: ToolCaller): CallTool {
  return async ({ tool, arguments: values }, options) => toAnswer(tool.name, await tools.call(tool, values, options))
}

/** For a result that is found, the render needs no further pass over its templates. */
export function recallWith (tools: ToolCaller): RecallTool {
  return (call, activity) => {
    const outcome = tools.recall(call, activity)
    return outcome === undefined ? undefined : toAnswer(call.tool.name, outcome)
  }
}

function toAnswer (name: string, answer: ToolOutcome): ToolAnswer {
  const { outcome, durationMs, size, error } = answer
  return { value: valueForRender(name, answer), size, outcome, durationMs, error: error?.code }
}

interface RenderContext {
  readonly environment: RenderEnvironment
  readonly deadline: Deadline
  readonly requestId: string
  readonly activity: Activity | undefined
  readonly trace: Trace | undefined
  /** Required parameters are missing: the templates run only to find all other missing values. */
  readonly lacks: boolean
}

/** A class: a literal with a getter gets its own hidden class, which holds the render in memory (https://v8.dev/docs/hidden-classes). */
class RenderRunOptions implements RunOptions {
  readonly limits = DEFAULT_LIMITS
  readonly #context: RenderContext
  #signal: AbortSignal | undefined
  #results = 0
  #failed: Set<string> | undefined

  constructor (context: RenderContext) {
    this.#context = context
  }

  get environs (): RunOptions['environs'] {
    return this.#context.environment.environs
  }

  get now (): Date | undefined {
    return this.#context.environment.now
  }

  get trace (): Trace | undefined {
    return this.#context.trace
  }

  get lacks (): boolean {
    return this.#context.lacks
  }

  get deadline (): number {
    return this.#context.deadline.at
  }

  get timeout (): number {
    return this.#context.deadline.timeout
  }

  get signal (): AbortSignal {
    return (this.#signal ??= this.#context.deadline.toAbortSignal())
  }

  get failedTools (): readonly string[] {
    return [...this.#failed ?? []]
  }

  async callTool (call: ToolCall, signal: AbortSignal): Promise<Value> {
    const { environment, requestId, activity, deadline } = this.#context
    return this.#valueOf(call, await environment.callTool(call, { signal, requestId, activity, time: { deadline: deadline.at, whole: deadline.timeout } }))
  }

  recallTool (call: ToolCall): Value | undefined {
    const { environment, activity } = this.#context
    const answer = environment.recallTool?.(call, activity)
    return answer === undefined ? undefined : this.#valueOf(call, answer)
  }

  /** @throws RENDER_BUDGET when all results together are too large */
  #valueOf (call: ToolCall, answer: ToolAnswer): Value {
    this.#results += answer.size ?? 0
    if (this.#results > MAX_RESULTS_SIZE) throw renderBudget('characters of tool results', MAX_RESULTS_SIZE)
    if (answer.outcome === 'failed') (this.#failed ??= new Set()).add(call.tool.name)
    this.#context.trace?.answered(call, answer)
    return answer.value
  }
}

/** Bounds of paths, of names compared, and of a name's characters, so that a wrong request takes little time. */
const MOST_PATHS = 20
const MOST_NAMES = 100
const MAX_LENGTH = 100
const MOST_SHARED = 1000

const VARIABLES: ReadonlySet<string> = new Set(['variables', 'args'])

export interface AvailableNames {
  readonly variables: JsonObject
  readonly body?: JsonObject | undefined
  readonly environs: Pick<EnvironSource, 'cached' | 'hasBelow' | 'namesBelow'>
  /** The prompt or a partial reads the path or one below it, so that it is no suggestion for a missing path. */
  readonly isAskedFor: (path: string) => boolean
}

export function withNearNames (misses: readonly MissingPath[], present: AvailableNames): readonly MissingPath[] {
  return misses.map((miss, index) => {
    const near = index < MOST_PATHS ? nearName(miss.path, present) : undefined
    return near === undefined ? miss : { ...miss, near }
  })
}

function nearName (path: string, present: AvailableNames): string | undefined {
  const { variables, body = {} } = present
  const [root = '', first, ...others] = path.split('.')
  if (first === undefined) return undefined
  if (root !== 'variables') return nearShared(root, present, [first, ...others])
  const near = nearBelow(root, variables, present, [first, ...others])
  return near ?? (Object.hasOwn(variables, first) ? undefined : besideVariables(body, first))
}

function besideVariables (body: JsonObject, name: string): string | undefined {
  if (Object.hasOwn(body, name)) return name
  const holder = Object.keys(body).slice(0, MOST_NAMES).find(each => {
    const member = body[each] as Json
    return each.length <= MAX_LENGTH && !VARIABLES.has(each) && isObject(member) && Object.hasOwn(member, name)
  })
  return holder === undefined ? undefined : `${holder}.${name}`
}

/** Searches a variable's value only if it is in memory. */
function nearShared (way: string, present: AvailableNames, [name, ...others]: readonly string[]): string | undefined {
  if (name === undefined) return undefined
  const { environs } = present
  const names = environs.hasBelow(way) ? environs.namesBelow(way, MOST_SHARED) : []
  if (names === undefined) return undefined
  const members = new Set(names.map(each => each.slice(way.length + 1).split('.', 1)[0] as string))
  if (members.has(name)) return nearShared(`${way}.${name}`, present, others)
  return nearAmong(way, [...members], present, name) ?? nearBelow(way, environs.cached(way)?.value, present, [name, ...others])
}

function nearBelow (way: string, holder: Value | undefined, present: AvailableNames, [name, ...others]: readonly string[]): string | undefined {
  if (name === undefined || holder === undefined || !isObject(holder)) return undefined
  if (Object.hasOwn(holder, name)) return nearBelow(`${way}.${name}`, holder[name], present, others)
  return nearAmong(way, Object.keys(holder), present, name)
}

function nearAmong (way: string, names: readonly string[], { isAskedFor }: AvailableNames, wanted: string): string | undefined {
  if (wanted.length > MAX_LENGTH) return undefined
  const near = names.slice(0, MOST_NAMES).find(each => each.length <= MAX_LENGTH && isNearly(each, wanted) && !isAskedFor(`${way}.${each}`))
  return near === undefined ? undefined : `${way}.${near}`
}

export interface RenderResult {
  readonly prompt: Prompt
  readonly messages: readonly RenderedMessage[]
  readonly passes: number
}

export interface RenderRequest {
  readonly generation: Generation
  readonly caller: Caller
  /** As the caller has named it. */
  readonly id: string
  readonly chosen: ChosenPrompt
  /** @default any */
  readonly revision?: string | undefined
  readonly variables: JsonObject
  /** They go where the prompt has a place for them, else to the end, and are not rendered. @default none */
  readonly history?: readonly JsonObject[] | undefined
  /** Missing variables are searched in it: perhaps the caller sent them in the wrong place. */
  readonly body?: JsonObject | undefined
  readonly requestId: string
  readonly activity?: Activity | undefined
  /** In ms of `performance.now()`: the render's time limit counts from then, so any wait before counts. @default now */
  readonly arrivedAt?: number | undefined
  /** Without this function nothing is traced, which is faster. */
  readonly onExplained?: ((explanation: Explanation) => void) | undefined
  /** Called if any calls failed, so that defaults, or nothing, took the place of results. */
  readonly onToolDefaults?: ((functions: readonly string[]) => void) | undefined
  /** @default the live service */
  readonly environment?: RenderEnvironment
}

export type RenderPrompt = (request: RenderRequest) => Promise<RenderResult>

export function createPromptRenderer ({ environs, callTool, recallTool, timeout }: {
  readonly environs: VisibleEnvirons
  readonly callTool: RenderEnvironment['callTool']
  readonly recallTool?: RecallTool
  /** In ms. */
  readonly timeout: number
}): RenderPrompt {
  return async function renderPrompt (request) {
    const { generation, caller, id, chosen, revision, variables: given, history = [], body } = request
    const { requestId, activity, arrivedAt, onExplained, onToolDefaults } = request
    const prompt = requireRevision(chosen.prompt, id, revision)
    const unusable = whyNotRunnable(prompt, generation)
    if (unusable !== undefined) throw unusable
    const deadline = new Deadline(timeout, arrivedAt)
    const shared = visibleEnvirons(environs, caller)
    const environment = request.environment ?? { environs: shared, callTool, recallTool }
    const present: AvailableNames = { variables: given, body, environs: shared, isAskedFor: path => asksFor(prompt, path) }
    const { variables, missing, violations } = await fillVariables(prompt, given, () => {
      if (performance.now() > deadline.at) throw renderTimeout(timeout)
    })
    const trace = onExplained === undefined ? undefined : new Trace()
    const options = new RenderRunOptions({ environment, deadline, requestId, activity, trace, lacks: missing.length > 0 })
    const run = new RenderRun(options)
    const declared = prompt.entry.parameters?.bareNames
    const filled = trace === undefined || variables === given ? undefined : leftOut(variables, given)
    const root = new ScopeRoot(run, variables, caller.facts, declared, filled)
    try {
      const texts = await renderToFixpoint(run, prompt.id, () => prompt.texts.map(({ where, template, links }) => {
        run.text = where
        const text = template(trace !== undefined).open(run, { links, root })(root)
        trace?.endText()
        return text
      }), options)
      const messages = assembleMessages(prompt, texts, history)
      if (trace !== undefined) onExplained?.(explain(trace, chosen, options.failedTools))
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

/** @throws PROMPT_REVISION */
export function requireRevision (prompt: Prompt, id: string, revision: string | undefined): Prompt {
  if (revision !== undefined && revision !== prompt.revision) throw revisionMoved(id, revision, prompt.revision)
  return prompt
}

export function whyNotRunnable (prompt: Prompt, { findRejected }: Generation): ServiceError | undefined {
  if (prompt.state === 'valid') return undefined
  const mistakes = diagnosticsOf(prompt, findRejected).filter(diagnostic => diagnostic.severity === 'error')
  const isEndless = mistakes.every(({ code }) => code === 'PARTIAL_CYCLE')
  const problem = prompt.state === 'invalid' ? templateSyntax : isEndless ? templateCycle : templateLink
  return problem(prompt.id, mistakes.map(describeDiagnostic), mistakes)
}

/**
 * A missing parameter is no error yet, and violations are listed with it: the templates run first, to find all other missing values.
 * @throws VARIABLES_INVALID
 */
async function fillVariables (prompt: Prompt, given: JsonObject, checkDeadline: () => void) {
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

function leftOut (variables: JsonObject, given: JsonObject): ReadonlySet<string> {
  return new Set(Object.keys(variables).filter(name => !Object.hasOwn(given, name)))
}

const MOST_PARTIALS = 100

/** A name without `variables.` is taken for a variable. */
function asksFor (prompt: Prompt, path: string): boolean {
  const bare = path.startsWith('variables.') ? path.slice('variables.'.length) : path
  if (prompt.entry.parameters?.names.has(bare) === true) return true
  return readPaths(prompt).some(need => [path, bare].some(name => need === name || need.startsWith(`${name}.`)))
}

function readPaths ({ entry, texts }: Prompt): string[] {
  const partials = new Set(texts.flatMap(({ links }) => partialsAmong(links)))
  for (const partial of partials) {
    if (partials.size >= MOST_PARTIALS) break
    for (const each of partialsAmong(partial.links)) partials.add(each)
  }
  const needs = [...entry.compiled.texts, ...Array.from(partials, partial => partial.template(false))].flatMap(({ paths }) => paths)
  return needs.map(({ path }) => path)
}

function partialsAmong (links: ReadonlyArray<Link | undefined>): LinkedPartial[] {
  return links.filter(link => link?.kind === 'partial')
}

/** A render stops before it has read everything; each parameter gets the place where it is first read. */
function withParameters (
  misses: readonly MissingPath[],
  required: readonly string[],
  prompt: Prompt,
  { everyPrompt }: Generation,
  environs: EnvironNames
): readonly MissingPath[] {
  const unread = required.filter(path => !misses.some(miss => isWithin(miss.path, path)))
  if (unread.length === 0) return misses
  const { variables } = collectNeeds(prompt, everyPrompt, environs)
  return [...misses, ...unread.map((path): MissingPath => {
    const need = variables.find(each => each.line !== undefined && isWithin(each.path, path))
    if (need === undefined) return { path }
    const { use: _use, required: _required, default: _default, ...place } = need
    return { ...place, path }
  })]
}

function isWithin (path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`)
}

export function observeRenders (renderPrompt: RenderPrompt): RenderPrompt {
  return async request => {
    const { activity, chosen: { prompt, version, label } } = request
    if (activity === undefined) return await renderPrompt(request)
    const watch = activity.beginRender(prompt.id, prompt.revision, version, label)
    try {
      const rendering = await renderPrompt(request)
      watch.ended('ok', rendering.passes)
      return rendering
    } catch (error) {
      watch.ended(error instanceof ServiceError ? error.code : 'INTERNAL')
      throw error
    }
  }
}
