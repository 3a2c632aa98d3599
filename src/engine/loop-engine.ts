import { type Json, type JsonObject, objectOf, ownField, stringifyJson } from '../base/json.ts'
import type { Answer, AskedCall } from '../llm/answer.ts'
import {
  askedMessage, callsOf, contentOf, describeError, describeResult, loggedAnswer, NO_ANSWER, parseArguments, resultMessage, unknownFunction, wordsOf
} from '../llm/history.ts'
import type { ChildParameter } from '../registry/kinds/agent-setting.ts'
import type { Engine } from '../session/engine.ts'
import type { ChildEffect, ToolEffect } from '../session/model.ts'
import { clip } from './clip.ts'
import { type Ended, endedOf, renderText, Turn } from './reducer.ts'
import { alternating, endOfSummary, MAX_SUMMARY, sentHistory, tokensOf, transcriptOf, withShortResults } from './sent-history.ts'
import {
  addAnswer, addMessage, type DialogueStart, emitOutcome, emitTurnError, instruction, listen, MAX_TASK, mayCorrect, NOTHING_SAID, type OfferedChild,
  type OfferedTransfer, onInput, onSpent, onUnusable, outcomeOf, refuseAction, start, taskOf
} from './dialogue.ts'
import { cutMark, cutProblem, refusedText } from './texts.ts'
import { LOOP, type LoopCall, type LoopResult, type LoopState } from './dialogue-state.ts'

/** Per message of the user. */
const MAX_HANDOFFS = 5

const TOO_MANY_HANDOFFS = `the dialogue was handed over ${MAX_HANDOFFS} times for this message; answer it yourself`

/** Only texts, without function calls: an API may refuse calls of functions that the next agent does not offer. */
function wordsBefore (messages: readonly JsonObject[], from: number): readonly JsonObject[] {
  const before = messages.slice(0, from)
  // The former agent's texts after the user's last message do not answer it.
  const asked = before.findLastIndex(({ role }) => role === 'user')
  return [...before.slice(0, asked + 1).flatMap(plainWords), ...messages.slice(from)]
}

function plainWords (message: JsonObject): JsonObject[] {
  const { role } = message
  if (role === 'tool' || role === 'function') return []
  if (role !== 'assistant' || callsOf(message).length === 0) return [message]
  const content = contentOf(message)
  return content === '' ? [] : [{ role, content }]
}

/** Child sessions in one answer; further calls are refused. */
const MAX_CHILD_CALLS = 8

function childOf ({ name, child }: OfferedChild, values: JsonObject): Omit<ChildEffect, 'id' | 'kind'> | string {
  const { definition, parameters, input, budget, place } = child
  const problem = problemOf(parameters, values)
  if (problem !== undefined) return problem
  const text = clip(renderText(input, values).trim(), MAX_TASK)
  const isSkill = definition.startsWith('skills/')
  if (!isSkill && text === '') return 'it is asked for nothing'
  return {
    name,
    definition,
    input: { text, ...(isSkill ? { params: values } : {}) },
    ...(budget === undefined ? {} : { budget }),
    ...(place === undefined ? {} : { place })
  }
}

function problemOf (parameters: Readonly<Record<string, ChildParameter>>, values: JsonObject): string | undefined {
  const unknown = Object.keys(values).find(name => !Object.hasOwn(parameters, name))
  if (unknown !== undefined) return `there is no parameter ${JSON.stringify(clip(unknown, 100))}`
  for (const [name, parameter] of Object.entries(parameters)) {
    const problem = problemWith(Object.hasOwn(values, name) ? values[name] ?? null : null, parameter)
    if (problem !== undefined) return `${name}: ${problem}`
  }
  return undefined
}

function problemWith (value: Json, { type, maxLength = MAX_TASK, required }: ChildParameter): string | undefined {
  if (value === null || value === '') return required ? 'it is required' : undefined
  if (!isOfType(value, type)) return `expected ${type === 'integer' ? 'an integer' : `a ${type}`}`
  return typeof value === 'string' && Array.from(value).length > maxLength ? `expected at most ${maxLength} characters` : undefined
}

function isOfType (value: Json, type: string): boolean {
  switch (type) {
    case 'integer': return isNumber(value) && Number.isInteger(Number(value))
    case 'number': return isNumber(value)
    case 'boolean': return typeof value === 'boolean'
    default: return typeof value === 'string'
  }
}

/** A number with more digits than JavaScript keeps is an object that holds them. */
function isNumber (value: Json): boolean {
  return typeof value === 'number' || (typeof value === 'object' && value !== null && !Array.isArray(value) && Number.isFinite(Number(value)))
}

/** Calls in one answer; further ones are refused, so that no answer begins endless work. */
const MAX_CALLS = 32

/** Only the first calls are made: at most `MAX_CALLS`, and `MAX_CHILD_CALLS` that start a child. `problem` tells the model why the call is refused. */
function calledFunction (asked: readonly AskedCall[], index: number, { tools, setting }: LoopState):
  | { readonly tool: Omit<ToolEffect, 'id' | 'kind'> }
  | { readonly child: Omit<ChildEffect, 'id' | 'kind'> }
  | { readonly problem: string } {
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
  // `callTools` makes allowed handovers, so this is one too many.
  if ('transfer' in offered) return { problem: TOO_MANY_HANDOFFS }
  const before = asked.slice(0, index).filter(each => tools.some(tool => tool.name === each.name && 'child' in tool)).length
  if (before >= MAX_CHILD_CALLS) return { problem: `at most ${MAX_CHILD_CALLS} agents, skills and plans are called in one answer` }
  const child = childOf(offered, values)
  return typeof child === 'string' ? { problem: child } : { child }
}

function transferIn (asked: readonly AskedCall[], { tools }: Pick<LoopState, 'tools'>): OfferedTransfer | undefined {
  return asked.flatMap(({ name }) => tools.find((each): each is OfferedTransfer => each.name === name && 'transfer' in each) ?? [])[0]
}

/** Code points: the model reads the result again at every turn. */
const MAX_RESULT = 16_000

/** Nobody knows whether an interrupted call was done. */
const UNKNOWN_RESULT = stringifyJson({ error: 'interrupted', outcome: 'unknown', note: 'It may have happened. Do not repeat it without asking the user.' })

const NOT_CALLED = 'not called, since the dialogue was handed over in the same answer:'

const SECOND = 1000

const ABOUT = { step: 'answer', prefix: 'turn', retry: 'turn' } as const

type LoopTurn = Turn<LoopState>

function onEnded (turn: LoopTurn, effect: string, ended: Ended): void {
  const { asked, calls } = turn.state
  if (asked?.effect === effect) {
    turn.set({ asked: undefined })
    if ('failure' in ended && ended.isSpent === true) return onSpent(turn, ended.failure)
    return asked.purpose === 'compact' ? onCompacted(turn, ended, asked.upTo) : onAnswered(turn, ended, effect, asked.purpose)
  }
  const call = calls.find(each => each.effect === effect && each.content === undefined)
  if (call !== undefined) onCalled(turn, call, ended)
}

/** @param asked the user's question, or what failed and is tried again */
function ask (turn: LoopTurn, asked: ReturnType<typeof onInput>): void {
  if (asked === undefined) return
  if ('question' in asked) addMessage(turn, { role: 'user', content: asked.question })
  const { handover } = turn.state
  const renewed = handover === undefined ? {} : { handover: { ...handover, count: 0, isRefused: false } }
  turn.set({ hasCompacted: false, value: undefined, finishReason: undefined, ...renewed })
  askModel(turn, 'question' in asked ? 1 : Math.max(1, turn.state.turn))
}

/** @param count of the requests, from 1 */
function askModel (turn: LoopTurn, count: number): void {
  const { setting: { maxTurns, model, stream, returns, history: { compact } }, tools, lastInput } = turn.state
  const sent = sentMessages(turn)
  if (compact !== false && Math.max(lastInput, tokensOf(sent)) > compact.above && isCompacting(turn, count, compact.keep)) return
  const fields: JsonObject = {
    ...(model === '' ? {} : { model }),
    ...(tools.length === 0 ? {} : { tools: tools.map(({ declaration }) => declaration) }),
    // In its last turn the model has to answer with what it knows.
    ...(tools.length === 0 || count < maxTurns ? {} : { tool_choice: 'none' })
  }
  send(turn, 'turn', count, sent, { fields, ...(returns === undefined ? stream ? { live: true } : {} : { returns }) })
}

function close (turn: LoopTurn, content: string, problem: string): void {
  const { setting: { model, returns = {} }, turn: count, corrections } = turn.state
  const wrong = [
    { role: 'assistant', content: content.trim() === '' ? NO_ANSWER : clip(content, MAX_RESULT) },
    { role: 'user', content: `${instruction(turn, 'close')}${problem}` }
  ]
  turn.set({ corrections: [...corrections, ...wrong] })
  const format = { type: 'json_schema', json_schema: { name: 'answer', schema: returns } }
  send(turn, 'close', count, sentMessages(turn), { fields: { ...(model === '' ? {} : { model }), response_format: format }, returns })
}

function send (
  turn: LoopTurn,
  purpose: 'turn' | 'close',
  count: number,
  sent: readonly JsonObject[],
  request: { readonly fields: JsonObject, readonly live?: boolean, readonly returns?: JsonObject }
): void {
  const { setting: { system, returns, timeouts }, corrections } = turn.state
  const told = [...system === '' ? [] : [system], ...returns === undefined ? [] : [`${instruction(turn, 'returns')}${stringifyJson(returns)}`]]
  const messages = [...told.length === 0 ? [] : [{ role: 'system', content: told.join('\n\n') }], ...sent, ...corrections]
  const effect = turn.begin('llm', { purpose, messages, timeout: timeouts.model * SECOND, ...request })
  turn.set({ turn: count, asked: { effect, purpose }, calls: [], step: 'ask_model' })
}

function sentMessages (turn: LoopTurn): readonly JsonObject[] {
  const { setting: { history }, messages, summary, handover } = turn.state
  const upTo = summary?.upTo ?? 0
  const said = messages.slice(upTo)
  const sent = sentHistory(withShortResults(handover === undefined ? said : wordsBefore(said, Math.max(0, handover.from - upTo))), history)
  return summary === undefined ? sent : alternating([{ role: 'user', content: `${instruction(turn, 'before')}${summary.text}` }, ...sent])
}

/** @returns false when nothing is to summarise, the settings exclude it, or it was done since the user's last message */
function isCompacting (turn: LoopTurn, count: number, keep: number): boolean {
  const { setting: { model, timeouts, history: { compact, messages: most } }, messages, summary, hasCompacted } = turn.state
  if (compact === false || most !== undefined || hasCompacted) return false
  const upTo = endOfSummary(messages, summary, keep)
  if (upTo === undefined) return false
  const asked = compact.model ?? model
  const effect = turn.begin('llm', {
    purpose: 'compact',
    messages: [{ role: 'system', content: instruction(turn, 'compact') }, { role: 'user', content: transcriptOf(messages, summary, upTo) }],
    fields: asked === '' ? {} : { model: asked },
    timeout: timeouts.model * SECOND
  })
  turn.set({ turn: count, hasCompacted: true, asked: { effect, purpose: 'compact', upTo }, calls: [], step: 'ask_model' })
  return true
}

function onCompacted (turn: LoopTurn, ended: Ended, upTo: number): void {
  const answer = 'failure' in ended ? undefined : loggedAnswer(ended.value)
  const text = answer?.text.trim() ?? ''
  if (text === '') emitOutcome(turn, 'notCompacted', 'turn', { reason: 'failure' in ended ? ended.failure : 'the summary is empty' })
  else turn.set({ summary: { text: clip(text, MAX_SUMMARY), upTo }, lastInput: 0 })
  askModel(turn, turn.state.turn)
}

function onAnswered (turn: LoopTurn, ended: Ended, effect: string, purpose: 'turn' | 'close'): void {
  const { turn: count, setting: { maxTurns, returns, history: { compact } } } = turn.state
  if ('failure' in ended) {
    if (ended.code === 'INPUT_TOO_LONG' && compact !== false && (isCompacting(turn, count, compact.keep) || isCompacting(turn, count, 1))) return
    return onUnusable(turn, { ...ABOUT, cause: 'MODEL_FAILED', reason: ended.failure, code: ended.code })
  }
  turn.set({ lastInput: ended.usage?.input ?? 0 })
  const answer = loggedAnswer(ended.value)
  if (answer === undefined) return onUnreadable(turn, 'the answer has no message')
  const { text, finishReason } = answer
  const hasCalls = purpose === 'turn' && answer.calls.length > 0
  turn.set({ finishReason })
  if (hasCalls && answer.cut) return onUnreadable(turn, cutProblem(finishReason), wordsOf(answer))
  if (hasCalls && count < maxTurns) return callTools(turn, answer)
  if (returns !== undefined && answer.refusal === '') return onReturned(turn, ended.value, text, effect, purpose)
  if (hasCalls && text.trim() === '') return onNeverEnding(turn, count)
  onAnsweredInWords(turn, answer, effect)
}

function onAnsweredInWords (turn: LoopTurn, { text, refusal, cut, finishReason }: Answer, effect: string): void {
  const { setting: { language } } = turn.state
  if (refusal !== '') return emitAnswer(turn, refusedText(language, refusal), effect, { refusal })
  if (text.trim() === '') return onUnreadable(turn, cut ? cutProblem(finishReason) : 'its message is empty')
  emitAnswer(turn, cut ? text + cutMark(language, finishReason) : text, effect)
}

/** After an answer that does not fit the schema, the model is asked once more. */
function onReturned (turn: LoopTurn, checked: Json, content: string, effect: string, purpose: 'turn' | 'close'): void {
  const { value, problem = 'it calls tools' } = objectOf(checked)
  if (value !== undefined) {
    turn.set({ value, corrections: [] })
    return emitAnswer(turn, content, effect, { value })
  }
  if (purpose === 'close') return onUnusable(turn, { ...ABOUT, cause: 'MODEL_UNREADABLE', reason: String(problem) })
  emitOutcome(turn, 'answerRepaired', 'turn', { reason: String(problem) })
  close(turn, content, String(problem))
}

/** @param effect by this id a client recognises the whole of an answer that it showed in parts */
function emitAnswer (turn: LoopTurn, content: string, effect: string, more: JsonObject = {}): void {
  turn.emit('stdout', { text: content, effect })
  const { finishReason } = turn.state
  turn.emit('message', { role: 'assistant', content, effect, ...(finishReason === undefined ? {} : { finishReason }), ...more })
  addMessage(turn, { role: 'assistant', content })
  addAnswer(turn, content)
  listen(turn)
}

function onUnreadable (turn: LoopTurn, reason: string, words = ''): void {
  if (!mayCorrect(turn, words, `${instruction(turn, 'repairAnswer')}${reason}`)) return onUnusable(turn, { ...ABOUT, cause: 'MODEL_UNREADABLE', reason })
  emitOutcome(turn, 'answerRepaired', 'turn', { reason })
  askModel(turn, turn.state.turn)
}

function onNeverEnding (turn: LoopTurn, count: number): void {
  const reason = `it still calls tools after ${count} turns`
  emitOutcome(turn, 'noAnswer', 'turn', { reason })
  emitTurnError(turn, 'MODEL_UNREADABLE', reason)
  listen(turn)
}

function callTools (turn: LoopTurn, answer: Answer): void {
  const { calls: asked } = answer
  const transfer = transferIn(asked, turn.state)
  if (transfer !== undefined) {
    const { handover = { count: 0, isRefused: false } } = turn.state
    if (handover.count < MAX_HANDOFFS) return handOver(turn, answer, transfer)
    if (handover.isRefused) return onUnusable(turn, { ...ABOUT, cause: 'MODEL_UNREADABLE', reason: TOO_MANY_HANDOFFS })
  }
  addMessage(turn, askedMessage(answer))
  turn.set({ step: 'call_tools', corrections: [], calls: [] })
  const calls = asked.map((_, index) => begin(turn, asked, index))
  turn.set({ calls })
  proceed(turn)
}

/** Further calls of the answer are not made: the next agent perhaps does not offer their functions, and is told so. */
function handOver (turn: LoopTurn, { text: said, calls }: Answer, { name, transfer }: OfferedTransfer): void {
  const beside = calls.filter((_, index) => index !== calls.findIndex(each => each.name === name))
  const told = clip(wordsOf({ text: NOT_CALLED, calls: beside }), MAX_RESULT)
  for (const call of beside) emitOutcome(turn, 'callRefused', 'exec', { name: call.name, reason: NOT_CALLED })
  const { definitions = {}, handover, messages } = turn.state
  const next = ownField(definitions, transfer)
  if (next?.kind !== 'agents') throw new Error(`the dialogue has no agent ${transfer}`)
  if (said.trim() !== '') turn.emitText(said)
  emitOutcome(turn, 'handedOver', 'exec', { name: next.id })
  turn.set({
    setting: next.agent,
    tools: next.tools,
    corrections: beside.length === 0 ? [] : [{ role: 'assistant', content: NO_ANSWER }, { role: 'user', content: told }],
    lastInput: 0,
    handover: { active: transfer, from: messages.length, count: (handover?.count ?? 0) + 1, isRefused: false }
  })
  askModel(turn, 1)
}

function begin (turn: LoopTurn, asked: readonly AskedCall[], index: number): LoopCall {
  const { id, name, isOlder } = asked[index] as AskedCall
  const called = calledFunction(asked, index, turn.state)
  if ('problem' in called) {
    const { problem } = called
    const { handover } = turn.state
    if (problem === TOO_MANY_HANDOFFS && handover !== undefined) turn.set({ handover: { ...handover, isRefused: true } })
    emitOutcome(turn, 'callRefused', 'exec', { name, reason: problem })
    return { id, name, isOlder, content: describeError(problem) }
  }
  const effect = 'tool' in called ? turn.begin('tool', { ...called.tool, call: id }) : turn.begin('child', called.child)
  emitOutcome(turn, 'toolCalled', 'exec', { name })
  return { id, name, isOlder, effect }
}

function onCalled (turn: LoopTurn, call: LoopCall, ended: Ended): void {
  const { name } = call
  const isUnknown = 'failure' in ended && ended.code === 'UNKNOWN'
  if (isUnknown) emitTurnError(turn, 'TOOL_UNKNOWN', ended.failure)
  if ('failure' in ended) emitOutcome(turn, isUnknown ? 'callInterrupted' : 'toolRefused', 'exec', { name, reason: ended.failure, code: ended.code })
  else emitOutcome(turn, 'toolUsable', 'exec', { name })
  const content = isUnknown ? UNKNOWN_RESULT : clip('failure' in ended ? describeError(ended.failure) : describeResult(ended.value), MAX_RESULT)
  turn.set({ calls: turn.state.calls.map(each => each === call ? { ...each, content } : each) })
  proceed(turn)
}

/** In the order of the calls, once all have ended. */
function proceed (turn: LoopTurn): void {
  const { calls } = turn.state
  const results = calls.flatMap(call => call.content === undefined ? [] : [resultMessage(call, call.content)])
  if (results.length < calls.length) return
  for (const result of results) addMessage(turn, result)
  askModel(turn, turn.state.turn + 1)
}

/** The model calls tools as it likes until it has an answer. */
export const loopEngine: Engine<DialogueStart, LoopState, LoopResult> = {
  ...LOOP,
  begin ({ setting: { agent, tools, definitions }, ...started }, moment) {
    const turn = new Turn<LoopState>({
      ...NOTHING_SAID, setting: agent, tools, definitions, turn: 0, hasCompacted: false, lastInput: 0, calls: []
    }, moment)
    ask(turn, start(turn, taskOf(started)))
    return turn
  },
  next (state, fact, moment) {
    const turn = new Turn(state, moment)
    const ended = endedOf(fact)
    if (fact.kind === 'input') {
      ask(turn, onInput(turn, fact.text, fact.action))
      // Nothing of a dialogue that was cleared stays.
      if (turn.state.messages.length === 0) turn.set({ summary: undefined, lastInput: 0 })
    } else if (ended !== undefined && 'effect' in fact) onEnded(turn, fact.effect, ended)
    return turn
  },
  view (state) {
    const { step, messages, answer = null, value, finishReason, handover, error = null } = state
    const active = handover?.active
    const result = { last_state: step, messages, answer, value, finishReason, active, error }
    return { stateName: step, outcome: outcomeOf(state), definition: active, result }
  },
  refuses: (state, _text, action) => refuseAction(state, action)
}
