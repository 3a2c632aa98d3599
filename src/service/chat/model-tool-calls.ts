import { toolFailed } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { type AskedCall } from '../../llm/answer.ts'
import { describeError, describeResult, parseArguments, resultMessage, unknownFunction } from '../../llm/history.ts'
import { toAbortSignal } from '../../runtime/deadline.ts'
import { type CallableTool } from '../../registry/generation.ts'
import { NOTHING } from '../../template/value.ts'
import { withDeadline } from '../../tool/guard.ts'
import { type ToolOutcome } from '../../tool/registered-tool.ts'
import { type ToolCaller } from '../../tool/tool-caller.ts'
import { type ToolErrorCode } from '../../tool/tool-error.ts'
import { type CountedCall } from './models.ts'

/** The longest arguments of a tool call that a `ToolStep` shows, in UTF-16 units. Longer arguments are left out. */
const MAX_SHOWN_ARGUMENTS = 16 * 1024

/** One call of a tool that a model has made, after it is over. */
export interface ToolStep {
  /** The number of the model's turn in which it asked for the call, from 1. */
  readonly turn: number
  /** The tool's id. */
  readonly tool: string
  /** The arguments as the model gave them: a JSON object, else their text; left out when they are long. */
  readonly arguments?: JsonObject | string
  readonly outcome: ToolOutcome['outcome']
  readonly durationMs: number
  /** The code of the error, if the call failed. */
  readonly error?: ToolErrorCode
}

/** The settings for the tool calls that a model asks for in one turn, and the functions that get the result of each call. */
export interface TurnOptions {
  readonly turn: number
  readonly call: CountedCall
  readonly callTool: ToolCaller['call']
  readonly onStep: (step: ToolStep) => void
  /** Called with the message that answers a call as soon as the call is over. An error that it throws ends the turn. */
  readonly onAnswer: (message: JsonObject) => void
}

/**
 * Makes all tool calls that a model asks for in one turn. They run at the same time, each with the limits of its tool. A failed call gives a
 * message, too, so that the model can go on without its result.
 * @returns the messages with the results for the model, in the order of the calls
 * @throws TOOL_FAILED when a call fails and the tool's registration says that this ends the chat
 */
export function callForModel (calls: readonly AskedCall[], tools: ReadonlyMap<string, CallableTool>, options: TurnOptions): Promise<JsonObject[]> {
  const { turn, call, callTool, onStep, onAnswer } = options
  const timeLeft = Math.max(1, (call.deadline ?? Infinity) - performance.now())
  const answered = (asked: AskedCall, content: string): JsonObject => {
    const message = resultMessage(asked, content)
    onAnswer(message)
    return message
  }
  return withDeadline(toAbortSignal(call.signal), timeLeft, limit => together(limit, signal => calls.map(async asked => {
    const { name, arguments: text } = asked
    const tool = tools.get(name)
    if (tool === undefined) return answered(asked, describeError(unknownFunction(name)))
    const values = parseArguments(text)
    const step = { turn, tool: tool.id, ...(text.length > MAX_SHOWN_ARGUMENTS ? {} : { arguments: typeof values === 'string' ? text : values }) }
    if (typeof values === 'string') {
      onStep({ ...step, outcome: 'failed', durationMs: 0, error: 'ARGUMENTS_INVALID' })
      return answered(asked, describeError(values))
    }
    const { requestId, activity, deadline } = call
    const time = deadline === undefined ? {} : { time: { deadline, whole: timeLeft } }
    const outcome = await callTool(tool, tool.mapArguments([], values), { signal, requestId, activity, ...time })
    onStep({ ...step, outcome: outcome.outcome, durationMs: outcome.durationMs, ...(outcome.error === undefined ? {} : { error: outcome.error.code }) })
    if (outcome.abort) throw toolFailed(tool.name, outcome.error?.message ?? 'unknown')
    return answered(asked, describeOutcome(outcome))
  })))
}

/** Runs several pieces of work at the same time, and gives their results. When one fails, the others are aborted. */
async function together<T> (limit: AbortSignal, begin: (signal: AbortSignal) => ReadonlyArray<Promise<T>>): Promise<T[]> {
  const over = new AbortController()
  try {
    return await Promise.all(begin(AbortSignal.any([limit, over.signal])))
  } finally {
    over.abort()
  }
}

function describeOutcome ({ value, error }: ToolOutcome): string {
  if (value === NOTHING) return describeError(error?.message ?? 'the call failed')
  return describeResult(value)
}
