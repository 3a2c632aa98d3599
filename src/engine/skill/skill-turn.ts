import type { JsonObject } from '../../base/json.ts'
import type { Answer } from '../../llm/answer.ts'
import { askedMessage, callsOf, contentOf, NO_ANSWER, wordsOf } from '../../llm/history.ts'
import type { Moment, Next } from '../../session/engine.ts'
import { clip } from '../clip.ts'
import { MAX_MESSAGE, MODEL_TIMEOUT, Outbox } from '../reducer.ts'
import { cutProblem, refusedText } from '../texts.ts'
import { nextCall, notRun, parseSkillCalls, problemIn, resultsOf, SKILL_TOOLS, withResult } from './skill-calls.ts'
import { beginsWithTag, parseSkillResponse, type ReadableReply } from './parse-skill-response.ts'
import type { Awaited, SkillState } from './skill-state.ts'

/** Bytes of JSON: the log keeps all answers, and each step sends them again. */
const MAX_REPLY = 1024 * 1024

/** An answer with function calls may have several commands, so it may be longer. */
const MAX_TOKENS = { text: 512, tools: 2048 } as const

/** How many times as long the second answer may be after a cut one: a model's thoughts count among its tokens. */
const MORE_TOKENS = 4

const REPAIR = 'Your response did not start with a format tag. Answer again, and start with exactly one of [CMD], [ASK], [ASK:optional], [MESSAGE] or [DONE].'

const REPAIR_COMMAND = 'Nothing was run: your [CMD] is not one whole command. ' +
  'Answer again, with [CMD] and one line, or with [CMD] and the whole command in one fenced block. What is wrong: '

const REPAIR_CALLS = 'Nothing of your answer was done. Answer again, with calls of run_command, ask_user, tell_user or finish. What is wrong: '

const REPAIR_CUT = 'Answer again. What is wrong with your answer: '

/** Asks the model for the next step, and reads the answer: function calls or a tag such as `[CMD]`. */
export abstract class SkillTurn {
  protected readonly outbox: Outbox
  protected state: SkillState

  constructor (state: SkillState, moment: Moment) {
    this.state = state
    this.outbox = new Outbox(moment)
  }

  protected abstract follow (reply: ReadableReply): Next<SkillState>

  next (): Next<SkillState> {
    return { state: this.state, effects: this.outbox.effects, notices: this.outbox.notices }
  }

  protected begin (knowledge: string): Next<SkillState> {
    this.state = { ...this.state, knowledge }
    this.#writeSystem()
    return this.#say(buildInitialUserPrompt(this.state.setting))
  }

  #writeSystem (): void {
    const { setting: { base, baseOfCalls, name, body }, protocol, knowledge } = this.state
    this.state = { ...this.state, system: buildSkillSystemPrompt({ base: protocol === 'tools' ? baseOfCalls : base, knowledge, name, body }) }
  }

  /** For a model or a provider that does not take functions. */
  protected goOnByTexts (): void {
    this.state = { ...this.state, protocol: 'text', messages: pastAsTexts(this.state.messages) }
    this.#writeSystem()
  }

  #say (text: string): Next<SkillState> {
    return this.#nextStep(marked => [{ role: 'user', content: marked(text) }])
  }

  /** @param make `marked` appends the number of the step to the last message */
  #nextStep (make: (marked: (text: string) => string) => readonly JsonObject[]): Next<SkillState> {
    const step = this.state.step + 1
    const { maxSteps } = this.state.setting
    if (step > maxSteps) return this.finish('Maximum steps reached')
    const messages = [...this.state.messages, ...make(text => withStep(text, step, maxSteps))]
    this.state = { ...this.state, step, messages, calls: [], pendingCommand: '' }
    this.outbox.notice('step', { step, max: maxSteps })
    return this.ask('model')
  }

  /** Results of several calls are told together, once each has one. @param goesOn otherwise the remaining calls are told as not run */
  protected tell (text: string, goesOn = false): Next<SkillState> {
    const { calls } = this.state
    if (calls.length === 0) return this.#say(text)
    this.state = { ...this.state, calls: withResult(calls, text, goesOn), pendingCommand: '' }
    return this.#workOff()
  }

  #workOff (): Next<SkillState> {
    const { calls } = this.state
    const says = nextCall(calls)?.says
    if (says === undefined) {
      const results = resultsOf(calls)
      return this.#nextStep(marked => [...results.slice(0, -1), ...results.slice(-1).map(result => ({ ...result, content: marked(contentOf(result)) }))])
    }
    if (says.type === 'WRONG') return this.tell(notRun(says.problem))
    this.state = { ...this.state, reply: says }
    return this.follow(says)
  }

  /** @param corrections are sent once, and not kept @param times as long as other answers this may be */
  protected ask (kind: 'model' | 'repair', corrections: readonly JsonObject[] = [], times = 1): Next<SkillState> {
    const { setting: { model }, protocol } = this.state
    const offered: JsonObject = protocol === 'tools' ? { tools: SKILL_TOOLS } : {}
    const effect = this.outbox.askModel({
      purpose: kind,
      messages: [...sentMessages(this.state), ...corrections],
      fields: { ...(model === '' ? {} : { model }), temperature: 0.3, max_tokens: times * MAX_TOKENS[protocol], ...offered },
      timeout: MODEL_TIMEOUT,
      maxAnswer: MAX_REPLY
    })
    return this.goTo('idle', { kind, effect })
  }

  /** @param isRepaired the model is asked to correct an answer only once */
  protected answered (answer: Answer, isRepaired: boolean): Next<SkillState> {
    const { text, refusal, cut, finishReason } = answer
    if (refusal !== '') return this.fail('MODEL_REFUSED', refusedText(this.state.setting.language, refusal))
    if (cut) return this.#answerCut(answer, cutProblem(finishReason), isRepaired)
    if (this.state.protocol === 'text') return this.#answeredInText(text, isRepaired)
    const calls = parseSkillCalls(answer, this.state.setting.wholeCommands !== true)
    if (calls.length === 0 && beginsWithTag(text)) {
      this.goOnByTexts()
      return this.#answeredInText(text, isRepaired)
    }
    const problem = calls.length === 0 ? 'it calls no function' : problemIn(calls)
    if (problem !== undefined && !isRepaired) {
      const said = clip(wordsOf(answer).trim(), MAX_MESSAGE) || NO_ANSWER
      return this.ask('repair', [{ role: 'assistant', content: said }, { role: 'user', content: `${REPAIR_CALLS}${problem}` }])
    }
    if (calls.length === 0) return this.#answeredInWords(text.trim())
    this.state = { ...this.state, calls, messages: [...this.state.messages, askedMessage(answer)] }
    if (text.trim() !== '') this.outbox.notice('message', { text: text.trim() })
    return this.#workOff()
  }

  /** A half command is another command. */
  #answerCut (answer: Answer, problem: string, isRepaired: boolean): Next<SkillState> {
    if (isRepaired) return this.fail('ANSWER_CUT', `The answer was unusable: ${problem}`)
    const said = clip(wordsOf(answer).trim(), MAX_MESSAGE) || NO_ANSWER
    return this.ask('repair', [{ role: 'assistant', content: said }, { role: 'user', content: `${REPAIR_CUT}${problem}` }], MORE_TOKENS)
  }

  #answeredInWords (question: string): Next<SkillState> {
    if (question === '') return this.fail('EMPTY_RESPONSE', 'Empty or invalid AI response')
    const reply: ReadableReply = { type: 'ASK', content: `[ASK] ${question}`, question, required: true }
    this.state = { ...this.state, reply, messages: [...this.state.messages, { role: 'assistant', content: question }] }
    return this.follow(reply)
  }

  #answeredInText (text: string, isRepaired: boolean): Next<SkillState> {
    const reply = parseSkillResponse(text, this.state.setting.wholeCommands !== true)
    if (reply.type === 'UNKNOWN') return this.fail('EMPTY_RESPONSE', reply.error)
    const isUnclear = reply.type === 'UNCLEAR'
    if ((isUnclear || (reply.type === 'CMD' && reply.fallback === true)) && !isRepaired) {
      const repair = isUnclear && beginsWithTag(text) ? `${REPAIR_COMMAND}${reply.problem}` : REPAIR
      return this.ask('repair', [{ role: 'assistant', content: text }, { role: 'user', content: repair }])
    }
    if (isUnclear) return this.#answeredInWords(text.trim())
    this.state = { ...this.state, reply, messages: [...this.state.messages, { role: 'assistant', content: reply.content }] }
    return this.follow(reply)
  }

  protected messageSeen (): Next<SkillState> {
    return this.state.calls.length === 0 ? this.#say(MESSAGE_SEEN) : this.tell('The user was told.', true)
  }

  protected finish (text: string): Next<SkillState> {
    this.log('skill_complete', {})
    this.outbox.notice('message', { text, isFinal: true })
    const { messages, calls } = this.state
    this.state = { ...this.state, text, messages: [...messages, ...resultsOf(calls)], calls: [] }
    return this.goTo('done', { kind: 'nothing' })
  }

  protected fail (code: string, message: string): Next<SkillState> {
    this.outbox.notice('error', { code, message })
    this.state = { ...this.state, text: message }
    return this.goTo('failed', { kind: 'nothing' })
  }

  protected wait (word: SkillState['word'], awaited: Awaited): Next<SkillState> {
    this.outbox.wait()
    return this.goTo(word, awaited)
  }

  protected goTo (word: SkillState['word'], awaited: Awaited): Next<SkillState> {
    this.state = { ...this.state, word, awaited }
    return this.next()
  }

  protected log (event: string, data: JsonObject): void {
    const { step, setting: { name, target } } = this.state
    const of = {
      id: this.outbox.noticeId,
      skill_log_id: this.outbox.session,
      session_id: this.outbox.session,
      timestamp: new Date(this.outbox.at).toISOString(),
      skill_name: name,
      step,
      serverId: target,
      serverName: target
    }
    this.outbox.notice('log', { prefix: 'skill', level: 'info', text: `${event} step=${step}`, event, ...of, ...data })
  }
}

/** With functions, the first message, which has the task, is always included, and each result has its call. */
function sentMessages ({ system, messages, protocol, setting }: Pick<SkillState, 'system' | 'messages' | 'setting' | 'protocol'>): JsonObject[] {
  const { history, historyMax } = setting
  const most = history === 'full' ? messages.length : history === 'last_n' ? historyMax : 1
  const start = Math.max(0, messages.length - most)
  const sent = protocol === 'tools' ? withWholeCalls(messages, start) : fromUser(messages, start)
  return [{ role: 'system', content: system }, ...sent.map(message => ({ ...message }))]
}

/** APIs want the user's message after the system prompt. */
function fromUser (messages: readonly JsonObject[], start: number): readonly JsonObject[] {
  return messages.slice(messages.findIndex(({ role }, index) => index >= start && role === 'user'))
}

/** No result may stand without its call. */
function withWholeCalls (messages: readonly JsonObject[], start: number): readonly JsonObject[] {
  const answer = messages.findLastIndex(({ role }, index) => index <= start && role === 'assistant')
  return answer < 0 ? messages : [...messages.slice(0, 1), ...messages.slice(answer)]
}

interface SystemPromptParts {
  readonly base: string
  readonly knowledge: string
  readonly name: string
  readonly body: string
}

function buildSkillSystemPrompt ({ base, knowledge, name, body }: SystemPromptParts): string {
  const context = knowledge === '' ? [] : [`--- System Context ---\n${knowledge}`]
  return [base, ...context, `--- Active Skill: ${name} ---\n${body}`].join('\n\n')
}

interface FirstMessageParts {
  readonly name: string
  readonly prompt: string
  readonly parameters: ReadonlyArray<{ readonly name: string, readonly value: string }>
}

function buildInitialUserPrompt ({ name, prompt, parameters }: FirstMessageParts): string {
  const wish = prompt === '' ? `Execute skill: ${name}` : prompt
  return parameters.length === 0 ? wish : `${wish}\n\nParameters:\n${parameters.map(({ name, value }) => `- ${name}: ${value}`).join('\n')}`
}

/** So that the model can plan ahead. */
function withStep (text: string, step: number, most: number): string {
  return `${text}\n\n[Step ${step} of ${most}]`
}

const MESSAGE_SEEN = '[Continue after informational message]'

/** Each call must have its result. */
function pastAsTexts (messages: readonly JsonObject[]): JsonObject[] {
  const texts: JsonObject[] = []
  let asked: readonly string[] = []
  for (const message of messages) {
    const role = message['role']
    const isResult = role === 'tool' || role === 'function'
    if (role === 'assistant' && callsOf(message).length > 0) {
      const words = contentOf(message).trim()
      if (words !== '') texts.push({ role: 'assistant', content: `[MESSAGE] ${words}` }, { role: 'user', content: MESSAGE_SEEN })
      asked = textsOf(message)
    } else if (isResult) {
      const [words = '', ...rest] = asked
      asked = rest
      texts.push({ role: 'assistant', content: words }, { role: 'user', content: contentOf(message) })
    } else {
      texts.push({ ...message })
    }
  }
  return texts
}

function textsOf (message: JsonObject): string[] {
  const calls = callsOf(message)
  const given = calls.map(call => `${call.name} ${call.arguments}`.trim() || NO_ANSWER)
  return parseSkillCalls({ calls }).map(({ says }, index) => says.type === 'WRONG' ? given[index] ?? NO_ANSWER : says.content)
}
