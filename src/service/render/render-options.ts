import { type Activity } from '../../runtime/activity.ts'
import { renderBudget } from '../../base/errors.ts'
import { DEFAULT_LIMITS } from '../../template/limits.ts'
import { type RunOptions } from '../../template/run/run.ts'
import { type ToolCall } from '../../template/run/tool-call.ts'
import { type Trace } from '../../template/explain/trace.ts'
import { type Value } from '../../template/value.ts'
import { MAX_RESULTS_SIZE, type ToolAnswer } from './call-tool.ts'
import { type Deadline } from '../../runtime/deadline.ts'
import { type RenderEnvironment } from './render-environment.ts'

/** What belongs to one render: its environment, its deadline, and the request for which it is made. */
export interface RenderContext {
  readonly environment: RenderEnvironment
  readonly deadline: Deadline
  readonly requestId: string
  readonly activity: Activity | undefined
  readonly trace: Trace | undefined
  /** Whether required parameters are missing. Then the templates run only to find all other missing values. */
  readonly lacks: boolean
}

/**
 * The options of one render for the template engine. They are a class, since an object literal with a getter gives each object a hidden
 * class of its own (https://v8.dev/docs/hidden-classes), which keeps the whole render in memory until the next full garbage collection.
 */
export class RenderOptions implements RunOptions {
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

  /** The names of the functions whose tool calls failed, so that a default, or nothing, took the place of the result. */
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

  /** Takes the value from the answer of a tool, and adds its size to the total. @throws RENDER_BUDGET when all results together are too large */
  #valueOf (call: ToolCall, answer: ToolAnswer): Value {
    this.#results += answer.size ?? 0
    if (this.#results > MAX_RESULTS_SIZE) throw renderBudget('characters of tool results', MAX_RESULTS_SIZE)
    if (answer.outcome === 'failed') (this.#failed ??= new Set()).add(call.tool.name)
    this.#context.trace?.answered(call, answer)
    return answer.value
  }
}
