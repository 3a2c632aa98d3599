import { type AskedCall } from '../../llm/answer.ts'
import { parseArguments, unknownFunction } from '../../llm/calls.ts'
import { type ChildEffect, type ToolEffect } from '../../session/model.ts'
import { type OfferedTransfer } from '../shared/dialogue-start.ts'
import { childOf, MAX_CHILD_CALLS } from './child-call.ts'
import { type LoopState } from './loop-state.ts'

/** The most function calls that the service makes for one answer of the model. Further calls are refused, so that no answer begins endless work. */
const MAX_CALLS = 32

const SECOND = 1000

/**
 * What a function call of the model leads to: a tool call, a child session, or a handover to another agent. `problem` tells the model why the
 * call is refused.
 */
export type CalledFunction =
  | { readonly tool: Omit<ToolEffect, 'id' | 'kind'> }
  | { readonly child: Omit<ChildEffect, 'id' | 'kind'> }
  | { readonly transfer: string }
  | { readonly problem: string }

/**
 * Decides what one function call in the model's answer leads to.
 * @param asked all calls of the answer
 * @param index of this call in `asked`. Only the first calls are made: at most `MAX_CALLS`, and at most `MAX_CHILD_CALLS` that start a child
 * session
 */
export function calledFunction (asked: readonly AskedCall[], index: number, { tools, setting }: Pick<LoopState, 'tools' | 'setting'>): CalledFunction {
  const { name, arguments: text } = asked[index] as AskedCall
  const offered = tools.find(each => each.name === name)
  if (offered === undefined) return { problem: unknownFunction(name) }
  const values = parseArguments(text)
  if (typeof values === 'string') return { problem: values }
  if (index >= MAX_CALLS) return { problem: `at most ${MAX_CALLS} calls are made at a time` }
  if ('tool' in offered) {
    const fixed = setting.tools.find(each => each.name === name)?.arguments ?? {}
    return { tool: { name, tool: offered.tool, arguments: { ...values, ...fixed }, timeout: setting.timeouts.tool * SECOND } }
  }
  if ('transfer' in offered) return { transfer: offered.transfer }
  const before = asked.slice(0, index).filter(each => tools.some(tool => tool.name === each.name && 'child' in tool)).length
  if (before >= MAX_CHILD_CALLS) return { problem: `at most ${MAX_CHILD_CALLS} agents, skills and plans are called in one answer` }
  const child = childOf(offered, values)
  return typeof child === 'string' ? { problem: child } : { child }
}

/** The first function call in the model's answer that hands the dialogue over to another agent; `undefined` when no call does. */
export function transferIn (asked: readonly AskedCall[], { tools }: Pick<LoopState, 'tools'>): OfferedTransfer | undefined {
  return asked.flatMap(({ name }) => tools.find((each): each is OfferedTransfer => each.name === name && 'transfer' in each) ?? [])[0]
}
