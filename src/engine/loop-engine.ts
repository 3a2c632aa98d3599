import { type Json, type JsonObject, objectOf, ownField, stringifyJson } from '../base/json.ts'
import type { Answer, AskedCall } from '../llm/answer.ts'
import {
  askedMessage, callsOf, contentOf, describeError, describeResult, loggedAnswer, NO_ANSWER, parseArguments, resultMessage, unknownFunction, wordsOf
} from '../llm/history.ts'
import type { ChildParameter } from '../registry/kinds/agent-setting.ts'
import type { Engine, Next } from '../session/engine.ts'
import type { ChildEffect, ToolEffect } from '../session/model.ts'
import { clip } from './clip.ts'
import { type Ended, renderText, takeFact } from './reducer.ts'
import { alternating, endOfSummary, MAX_SUMMARY, sentHistory, tokensOf, transcriptOf, withShortResults } from './sent-history.ts'
import { Dialogue, type DialogueStart, MAX_TASK, NOTHING_SAID, type OfferedChild, type OfferedTransfer, refuseAction, taskOf } from './dialogue.ts'
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

/** `problem` tells the model why the call is refused. */
type CalledFunction =
  | { readonly tool: Omit<ToolEffect, 'id' | 'kind'> }
  | { readonly child: Omit<ChildEffect, 'id' | 'kind'> }
  | { readonly transfer: string }
  | { readonly problem: string }

/** Only the first calls are made: at most `MAX_CALLS`, and `MAX_CHILD_CALLS` that start a child. */
function calledFunction (asked: readonly AskedCall[], index: number, { tools, setting }: Pick<LoopState, 'tools' | 'setting'>): CalledFunction {
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

class LoopReducer extends Dialogue<LoopState> {
  end (effect: string, ended: Ended): Next<LoopState> {
    const { asked } = this.state
    if (asked?.effect === effect) {
      this.state = { ...this.state, asked: undefined }
      if ('failure' in ended && ended.isSpent === true) return this.spend(ended.failure)
      return asked.purpose === 'compact' ? this.#compacted(ended, asked.upTo) : this.#answered(ended, effect, asked.purpose)
    }
    const call = this.state.calls.find(each => each.effect === effect && each.content === undefined)
    if (call === undefined) return this.next()
    return this.#called(call, ended)
  }

  protected override ask (question: string): Next<LoopState> {
    this.remember({ role: 'user', content: question })
    return this.#begin(1)
  }

  protected override askAgain (): Next<LoopState> {
    return this.#begin(Math.max(1, this.state.turn))
  }

  protected override forget (): void {
    super.forget()
    this.state = { ...this.state, summary: undefined, lastInput: 0 }
  }

  #begin (turn: number): Next<LoopState> {
    const { handover } = this.state
    const renewed = handover === undefined ? {} : { handover: { ...handover, count: 0, isRefused: false } }
    this.state = { ...this.state, hasCompacted: false, value: undefined, finishReason: undefined, ...renewed }
    return this.#askModel(turn)
  }

  /** @param turn from 1 */
  #askModel (turn: number): Next<LoopState> {
    const { setting: { maxTurns, model, stream, returns, history: { compact } }, tools } = this.state
    const sent = this.#history()
    if (compact !== false && Math.max(this.state.lastInput, tokensOf(sent)) > compact.above) {
      const compacting = this.#compact(turn, compact.keep)
      if (compacting !== undefined) return compacting
    }
    const fields: JsonObject = {
      ...(model === '' ? {} : { model }),
      ...(tools.length === 0 ? {} : { tools: tools.map(({ declaration }) => declaration) }),
      // In its last turn the model has to answer with what it knows.
      ...(tools.length === 0 || turn < maxTurns ? {} : { tool_choice: 'none' })
    }
    return this.#send('turn', turn, sent, { fields, ...(returns === undefined ? stream ? { live: true } : {} : { returns }) })
  }

  #close (content: string, problem: string): Next<LoopState> {
    const { setting: { model, returns = {} }, turn, corrections } = this.state
    const wrong = [
      { role: 'assistant', content: content.trim() === '' ? NO_ANSWER : clip(content, MAX_RESULT) },
      { role: 'user', content: `${this.instruction('close')}${problem}` }
    ]
    this.state = { ...this.state, corrections: [...corrections, ...wrong] }
    const format = { type: 'json_schema', json_schema: { name: 'answer', schema: returns } }
    return this.#send('close', turn, this.#history(), { fields: { ...(model === '' ? {} : { model }), response_format: format }, returns })
  }

  #send (
    purpose: 'turn' | 'close',
    turn: number,
    sent: readonly JsonObject[],
    request: { readonly fields: JsonObject, readonly live?: boolean, readonly returns?: JsonObject }
  ): Next<LoopState> {
    const { setting: { system, returns, timeouts }, corrections } = this.state
    const told = [...system === '' ? [] : [system], ...returns === undefined ? [] : [`${this.instruction('returns')}${stringifyJson(returns)}`]]
    const messages = [...told.length === 0 ? [] : [{ role: 'system', content: told.join('\n\n') }], ...sent, ...corrections]
    const effect = this.outbox.askModel({ purpose, messages, timeout: timeouts.model * SECOND, ...request })
    this.state = { ...this.state, turn, asked: { effect, purpose }, calls: [] }
    return this.goTo('ask_model')
  }

  #history (): readonly JsonObject[] {
    const { setting: { history }, messages, summary, handover } = this.state
    const upTo = summary?.upTo ?? 0
    const said = messages.slice(upTo)
    const sent = sentHistory(withShortResults(handover === undefined ? said : wordsBefore(said, Math.max(0, handover.from - upTo))), history)
    return summary === undefined ? sent : alternating([{ role: 'user', content: `${this.instruction('before')}${summary.text}` }, ...sent])
  }

  /** `undefined` when nothing is to summarise, the settings exclude it, or it was done since the user's last message. */
  #compact (turn: number, keep: number): Next<LoopState> | undefined {
    const { setting: { model, timeouts, history: { compact, messages: most } }, messages, summary, hasCompacted } = this.state
    if (compact === false || most !== undefined || hasCompacted) return undefined
    const upTo = endOfSummary(messages, summary, keep)
    if (upTo === undefined) return undefined
    const asked = compact.model ?? model
    const effect = this.outbox.askModel({
      purpose: 'compact',
      messages: [{ role: 'system', content: this.instruction('compact') }, { role: 'user', content: transcriptOf(messages, summary, upTo) }],
      fields: asked === '' ? {} : { model: asked },
      timeout: timeouts.model * SECOND
    })
    this.state = { ...this.state, turn, hasCompacted: true, asked: { effect, purpose: 'compact', upTo }, calls: [] }
    return this.goTo('ask_model')
  }

  #compacted (ended: Ended, upTo: number): Next<LoopState> {
    const answer = 'failure' in ended ? undefined : loggedAnswer(ended.value)
    const text = answer?.text.trim() ?? ''
    if (text === '') this.say('notCompacted', 'turn', { reason: 'failure' in ended ? ended.failure : 'the summary is empty' })
    else this.state = { ...this.state, summary: { text: clip(text, MAX_SUMMARY), upTo }, lastInput: 0 }
    return this.#askModel(this.state.turn)
  }

  #answered (ended: Ended, effect: string, purpose: 'turn' | 'close'): Next<LoopState> {
    const { turn, setting: { maxTurns, returns, history: { compact } } } = this.state
    if ('failure' in ended) {
      const compacting = ended.code === 'INPUT_TOO_LONG' && compact !== false ? this.#compact(turn, compact.keep) ?? this.#compact(turn, 1) : undefined
      return compacting ?? this.give({ ...ABOUT, cause: 'MODEL_FAILED', reason: ended.failure, code: ended.code })
    }
    this.state = { ...this.state, lastInput: ended.usage?.input ?? 0 }
    const answer = loggedAnswer(ended.value)
    if (answer === undefined) return this.#unreadable('the answer has no message')
    const { text, finishReason } = answer
    const hasCalls = purpose === 'turn' && answer.calls.length > 0
    this.state = { ...this.state, finishReason }
    if (hasCalls && answer.cut) return this.#unreadable(cutProblem(finishReason), wordsOf(answer))
    if (hasCalls && turn < maxTurns) return this.#callTools(answer)
    if (returns !== undefined && answer.refusal === '') return this.#returned(ended.value, text, effect, purpose)
    if (hasCalls && text.trim() === '') return this.#neverEnds(turn)
    return this.#answeredInWords(answer, effect)
  }

  #answeredInWords ({ text, refusal, cut, finishReason }: Answer, effect: string): Next<LoopState> {
    const { setting: { language } } = this.state
    if (refusal !== '') return this.#tell(refusedText(language, refusal), effect, { refusal })
    if (text.trim() === '') return this.#unreadable(cut ? cutProblem(finishReason) : 'its message is empty')
    return this.#tell(cut ? text + cutMark(language, finishReason) : text, effect)
  }

  /** After an answer that does not fit the schema, the model is asked once more. */
  #returned (checked: Json, content: string, effect: string, purpose: 'turn' | 'close'): Next<LoopState> {
    const { value, problem = 'it calls tools' } = objectOf(checked)
    if (value !== undefined) {
      this.state = { ...this.state, value, corrections: [] }
      return this.#tell(content, effect, { value })
    }
    if (purpose === 'close') return this.give({ ...ABOUT, cause: 'MODEL_UNREADABLE', reason: String(problem) })
    this.say('answerRepaired', 'turn', { reason: String(problem) })
    return this.#close(content, String(problem))
  }

  /** @param effect by this id a client recognises the whole of an answer that it showed in parts */
  #tell (content: string, effect: string, more: JsonObject = {}): Next<LoopState> {
    this.outbox.notice('stdout', { text: content, effect })
    const { finishReason } = this.state
    this.outbox.notice('message', { role: 'assistant', content, effect, ...(finishReason === undefined ? {} : { finishReason }), ...more })
    this.remember({ role: 'assistant', content })
    this.reply(content)
    return this.listen()
  }

  #unreadable (reason: string, words = ''): Next<LoopState> {
    if (!this.correct(words, `${this.instruction('repairAnswer')}${reason}`)) return this.give({ ...ABOUT, cause: 'MODEL_UNREADABLE', reason })
    this.say('answerRepaired', 'turn', { reason })
    return this.#askModel(this.state.turn)
  }

  #neverEnds (turn: number): Next<LoopState> {
    const reason = `it still calls tools after ${turn} turns`
    this.say('noAnswer', 'turn', { reason })
    this.blame('MODEL_UNREADABLE', reason)
    return this.listen()
  }

  #callTools (answer: Answer): Next<LoopState> {
    const { calls: asked } = answer
    const transfer = transferIn(asked, this.state)
    if (transfer !== undefined) {
      const { handover = { count: 0, isRefused: false } } = this.state
      if (handover.count < MAX_HANDOFFS) return this.#handOver(answer, transfer)
      if (handover.isRefused) return this.give({ ...ABOUT, cause: 'MODEL_UNREADABLE', reason: TOO_MANY_HANDOFFS })
    }
    this.remember(askedMessage(answer))
    this.state = { ...this.state, step: 'call_tools', corrections: [], calls: [] }
    const calls = asked.map((call, index) => this.#call(call, calledFunction(asked, index, this.state)))
    this.state = { ...this.state, calls }
    return this.#proceed()
  }

  /** Further calls of the answer are not made: the next agent perhaps does not offer their functions, and is told so. */
  #handOver ({ text: said, calls }: Answer, { name, transfer }: OfferedTransfer): Next<LoopState> {
    const beside = calls.filter((_, index) => index !== calls.findIndex(each => each.name === name))
    const told = clip(wordsOf({ text: NOT_CALLED, calls: beside }), MAX_RESULT)
    for (const call of beside) this.say('callRefused', 'exec', { name: call.name, reason: NOT_CALLED })
    const { definitions = {}, handover, messages } = this.state
    const next = ownField(definitions, transfer)
    if (next?.kind !== 'agents') throw new Error(`the dialogue has no agent ${transfer}`)
    if (said.trim() !== '') this.outbox.show(said)
    this.say('handedOver', 'exec', { name: next.id })
    this.state = {
      ...this.state,
      setting: next.agent,
      tools: next.tools,
      corrections: beside.length === 0 ? [] : [{ role: 'assistant', content: NO_ANSWER }, { role: 'user', content: told }],
      lastInput: 0,
      handover: { active: transfer, from: messages.length, count: (handover?.count ?? 0) + 1, isRefused: false }
    }
    return this.#askModel(1)
  }

  #call ({ id, name, isOlder }: AskedCall, called: CalledFunction): LoopCall {
    const as = { id, name, isOlder }
    const begun = this.#beginCall(called)
    if ('effect' in begun) {
      this.say('toolCalled', 'exec', { name })
      return { ...as, effect: begun.effect, content: undefined }
    }
    this.say('callRefused', 'exec', { name, reason: begun.problem })
    return { ...as, effect: undefined, content: describeError(begun.problem) }
  }

  #beginCall (called: CalledFunction): { readonly effect: string } | { readonly problem: string } {
    if ('tool' in called) return { effect: this.outbox.callTool(called.tool) }
    if ('child' in called) return { effect: this.outbox.startChild(called.child) }
    if ('problem' in called) return called
    // `#callTools` makes allowed handovers, so this transfer is one too many.
    if (this.state.handover !== undefined) this.state = { ...this.state, handover: { ...this.state.handover, isRefused: true } }
    return { problem: TOO_MANY_HANDOFFS }
  }

  #called (call: LoopCall, ended: Ended): Next<LoopState> {
    const { name } = call
    const isUnknown = 'failure' in ended && ended.code === 'UNKNOWN'
    if (isUnknown) this.blame('TOOL_UNKNOWN', ended.failure)
    if ('failure' in ended) this.say(isUnknown ? 'callInterrupted' : 'toolRefused', 'exec', { name, reason: ended.failure, code: ended.code })
    else this.say('toolUsable', 'exec', { name })
    const content = isUnknown ? UNKNOWN_RESULT : clip('failure' in ended ? describeError(ended.failure) : describeResult(ended.value), MAX_RESULT)
    this.state = { ...this.state, calls: this.state.calls.map(each => each === call ? { ...each, content } : each) }
    return this.#proceed()
  }

  /** In the order of the calls, once all have ended. */
  #proceed (): Next<LoopState> {
    const { calls } = this.state
    const results = calls.flatMap(call => call.content === undefined ? [] : [resultMessage(call, call.content)])
    if (results.length < calls.length) return this.next()
    for (const result of results) this.remember(result)
    return this.#askModel(this.state.turn + 1)
  }

  protected override goTo (step: LoopState['step']): Next<LoopState> {
    this.state = { ...this.state, step }
    return this.next()
  }

  protected override showHelp (): void {
    const { help } = this.state.setting
    if (help !== '') this.outbox.show(help)
  }
}

/** The model calls tools as it likes until it has an answer. */
export const loopEngine: Engine<DialogueStart, LoopState, LoopResult> = {
  ...LOOP,
  begin: ({ setting: { agent, tools, definitions }, ...started }, moment) => new LoopReducer({
    ...NOTHING_SAID,
    setting: agent,
    tools,
    definitions,
    step: 'await_input',
    turn: 0,
    asked: undefined,
    summary: undefined,
    hasCompacted: false,
    lastInput: 0,
    value: undefined,
    calls: []
  }, moment).start(taskOf(started)),
  next: (state, fact, moment) => takeFact(new LoopReducer(state, moment), fact),
  view: ({ step, hasFailed, messages, answer, value, finishReason, handover, error }) => ({
    stateName: step,
    outcome: step === 'ended' ? hasFailed ? 'failed' : 'completed' : 'open',
    definition: handover?.active,
    result: {
      last_state: step,
      messages,
      answer: answer ?? null,
      value,
      finishReason,
      active: handover?.active,
      error: error ?? null
    }
  }),
  refuses: (state, _text, action) => refuseAction(state, action)
}
