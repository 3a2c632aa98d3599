import { type ChildEffect, type ToolEffect } from '../../session/model.ts'
import { type AskedCall, parseArguments, unknownFunction } from '../shared/choice.ts'
import { type OfferedTransfer } from '../shared/dialogue-start.ts'
import { childOf, MAX_CHILD_CALLS } from './child-call.ts'
import { type LoopState } from './loop-state.ts'

/** The number of calls that one answer may make; more are refused, so that no answer begins endless work. */
const MAX_CALLS = 32

const SECOND = 1000

/** The effect of a call: a tool, a child session, or a handover to another agent. `problem` tells the model why the call has none. */
export type CalledFunction =
  | { readonly tool: Omit<ToolEffect, 'id' | 'kind'> }
  | { readonly child: Omit<ChildEffect, 'id' | 'kind'> }
  | { readonly transfer: string }
  | { readonly problem: string }

/** Reads one call of an answer. @param index of the call in `asked`, all calls of the answer: only the first of them are made */
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

/** The first call of an answer that hands the dialogue over; `undefined` when no call does. */
export function transferIn (asked: readonly AskedCall[], { tools }: Pick<LoopState, 'tools'>): OfferedTransfer | undefined {
  return asked.flatMap(({ name }) => tools.find((each): each is OfferedTransfer => each.name === name && 'transfer' in each) ?? [])[0]
}
