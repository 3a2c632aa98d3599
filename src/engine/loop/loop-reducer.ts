import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type Next } from '../../session/engine.ts'
import { type AskedCall, askedMessage, callsOf, contentOf, describeError, describeResult, messageOf, parseArguments, resultMessage, unknownFunction } from '../shared/choice.ts'
import { clip } from '../shared/clip.ts'
import { Dialogue } from '../shared/dialogue.ts'
import { type Ended } from '../shared/reducer.ts'
import { sentHistory } from '../shared/sent-history.ts'
import { type LoopCall, type LoopState } from './loop-state.ts'

/** Calls of one answer; those beyond are refused, so that no answer begins work without end. */
const MAX_CALLS = 32

/** A result is cut at this length, in code points: the model reads it again at every turn. */
const MAX_RESULT = 16_000

/** What the model reads of a call that may have been done. */
const UNKNOWN_RESULT = stringifyJson({ error: 'interrupted', outcome: 'unknown', note: 'It may have happened. Do not repeat it without asking the user.' })

const SECOND = 1000

/** Of a turn that the model spoils. */
const ABOUT = { step: 'answer', prefix: 'turn', retry: 'turn' } as const

/** One fact of a free dialogue: the state that it leads to, and what is said and done on the way. */
export class LoopReducer extends Dialogue<LoopState> {
  /** An effect has ended: the model's answer is there, or one result that it waits for. */
  end (effect: string, ended: Ended): Next<LoopState> {
    if (this.state.asked === effect) {
      this.state = { ...this.state, asked: undefined }
      return this.#answered(ended)
    }
    const call = this.state.calls.find(each => each.effect === effect && each.content === undefined)
    if (call === undefined) return this.next()
    return this.#called(call, ended)
  }

  protected override ask (question: string): Next<LoopState> {
    this.remember({ role: 'user', content: question })
    return this.#askModel(1)
  }

  protected override askAgain (): Next<LoopState> {
    return this.#askModel(Math.max(1, this.state.turn))
  }

  /** @param turn how often the model is asked then since the user spoke; what it is sent back does not count */
  #askModel (turn: number): Next<LoopState> {
    const { setting: { system, history, maxTurns, model, timeouts }, tools, messages, corrections } = this.state
    const sent = [...system === '' ? [] : [{ role: 'system', content: system }], ...sentHistory(messages, history), ...corrections]
    const fields: JsonObject = {
      ...(model === '' ? {} : { model }),
      ...(tools.length === 0 ? {} : { tools: tools.map(({ declaration }) => declaration) }),
      // It has to answer with what it knows.
      ...(tools.length === 0 || turn < maxTurns ? {} : { tool_choice: 'none' })
    }
    const asked = this.outbox.askModel({ purpose: 'turn', messages: sent, fields, timeout: timeouts.model * SECOND })
    this.state = { ...this.state, turn, asked, calls: [] }
    return this.goTo('ask_model')
  }

  #answered (ended: Ended): Next<LoopState> {
    if ('failure' in ended) {
      if (ended.isSpent === true) return this.spend(ended.failure)
      return this.give({ ...ABOUT, cause: 'MODEL_FAILED', reason: ended.failure, code: ended.code })
    }
    const message = messageOf(ended.value)
    if (message === undefined) return this.#unreadable('the answer has no message')
    const { turn, setting: { maxTurns } } = this.state
    const calls = callsOf(message)
    if (calls.length > 0 && turn < maxTurns) return this.#callTools(message, calls)
    const content = contentOf(message)
    if (content.trim() === '') return calls.length > 0 ? this.#neverEnds(turn) : this.#unreadable('its message is empty')
    this.outbox.show(content)
    this.outbox.notice('message', { role: 'assistant', content })
    this.remember({ role: 'assistant', content })
    this.reply(content)
    return this.listen()
  }

  #unreadable (reason: string): Next<LoopState> {
    if (!this.correct('', `${this.instruction('repairAnswer')}${reason}`)) return this.give({ ...ABOUT, cause: 'MODEL_UNREADABLE', reason })
    this.say('answerRepaired', 'turn', { reason })
    return this.#askModel(this.state.turn)
  }

  #neverEnds (turn: number): Next<LoopState> {
    const reason = `it still calls tools after ${turn} turns`
    this.say('noAnswer', 'turn', { reason })
    this.blame('MODEL_UNREADABLE', reason)
    return this.listen()
  }

  #callTools (message: JsonObject, asked: readonly AskedCall[]): Next<LoopState> {
    this.remember(askedMessage(message))
    this.state = { ...this.state, step: 'call_tools', corrections: [], calls: asked.map((call, index) => this.#begin(call, index)) }
    return this.#proceed()
  }

  /** Begins a call, or answers at once one that nobody can make. */
  #begin ({ id, name, arguments: text, isOlder }: AskedCall, index: number): LoopCall {
    const as = { id, name, ...(isOlder === undefined ? {} : { isOlder }) }
    const offered = this.state.tools.find(each => each.name === name)
    const values = parseArguments(text)
    const problem = offered === undefined ? unknownFunction(name) : typeof values === 'string' ? values : index >= MAX_CALLS ? `at most ${MAX_CALLS} calls are made at a time` : undefined
    if (problem !== undefined || offered === undefined || typeof values === 'string') {
      const reason = problem ?? ''
      this.say('callRefused', 'exec', { name, reason })
      return { ...as, effect: undefined, content: describeError(reason) }
    }
    const fixed = this.state.setting.tools.find(each => each.name === name)?.arguments ?? {}
    const effect = this.outbox.callTool({ name, tool: offered.tool, arguments: { ...values, ...fixed }, timeout: this.state.setting.timeouts.tool * SECOND })
    this.say('toolCalled', 'exec', { name })
    return { ...as, effect, content: undefined }
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

  /** Gives the model its results, in its own order, once all are there. */
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
