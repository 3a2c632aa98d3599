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

/** In UTF-16 units; longer arguments are left out. */
const MAX_SHOWN_ARGUMENTS = 16 * 1024

export interface ToolStep {
  readonly turn: number
  readonly tool: string
  /** A JSON object, else the model's text; left out when long. */
  readonly arguments?: JsonObject | string
  readonly outcome: ToolOutcome['outcome']
  readonly durationMs: number
  readonly error?: ToolErrorCode
}

/** A failed call gives a message, too; results are in the order of the calls. @throws TOOL_FAILED where the registration says so */
export function callForModel (calls: readonly AskedCall[], tools: ReadonlyMap<string, CallableTool>, options: {
  readonly turn: number
  readonly call: CountedCall
  readonly callTool: ToolCaller['call']
  readonly onStep: (step: ToolStep) => void
  /** Called as soon as the call is over; an error that it throws ends the turn. */
  readonly onAnswer: (message: JsonObject) => void
}): Promise<JsonObject[]> {
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
    const step = { turn, tool: tool.id, arguments: text.length > MAX_SHOWN_ARGUMENTS ? undefined : typeof values === 'string' ? text : values }
    if (typeof values === 'string') {
      onStep({ ...step, outcome: 'failed', durationMs: 0, error: 'ARGUMENTS_INVALID' })
      return answered(asked, describeError(values))
    }
    const { requestId, activity, deadline } = call
    const time = deadline === undefined ? {} : { time: { deadline, whole: timeLeft } }
    const outcome = await callTool(tool, tool.mapArguments([], values), { signal, requestId, activity, callId: asked.id, ...time })
    onStep({ ...step, outcome: outcome.outcome, durationMs: outcome.durationMs, error: outcome.error?.code })
    if (outcome.abort) throw toolFailed(tool.name, outcome.error?.message ?? 'unknown')
    return answered(asked, describeOutcome(outcome))
  })))
}

/** When one fails, the others are aborted. */
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
