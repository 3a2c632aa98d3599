import type { JsonObject } from '../../base/json.ts'
import type { Answer } from '../../llm/answer.ts'
import { askedMessage, callsOf, contentOf, NO_ANSWER, wordsOf } from '../../llm/history.ts'
import type { ExecEffect } from '../../session/model.ts'
import { clip } from '../clip.ts'
import { MAX_MESSAGE, type Turn } from '../reducer.ts'
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

/** In ms. */
const MODEL_TIMEOUT = 30_000

const SECOND = 1000

/** Asks the model for the next step, reads the answer, function calls or a tag such as `[CMD]`, and does what it says. */
export type SkillTurn = Turn<SkillState>

export function begin (turn: SkillTurn, knowledge: string): void {
  turn.set({ knowledge })
  writeSystem(turn)
  addStep(turn, marked => [{ role: 'user', content: marked(buildInitialUserPrompt(turn.state.setting)) }])
}

function writeSystem (turn: SkillTurn): void {
  const { setting: { base, baseOfCalls, name, body }, protocol, knowledge } = turn.state
  const context = knowledge === '' ? [] : [`--- System Context ---\n${knowledge}`]
  turn.set({ system: [protocol === 'tools' ? baseOfCalls : base, ...context, `--- Active Skill: ${name} ---\n${body}`].join('\n\n') })
}

/** For a model or a provider that does not take functions. */
export function goOnByTexts (turn: SkillTurn): void {
  turn.set({ protocol: 'text', messages: pastAsTexts(turn.state.messages) })
  writeSystem(turn)
}

/** @param make `marked` appends the number of the step to the last message, so that the model can plan ahead */
function addStep (turn: SkillTurn, make: (marked: (text: string) => string) => readonly JsonObject[]): void {
  const { step: before, messages, setting: { maxSteps } } = turn.state
  const step = before + 1
  if (step > maxSteps) return finish(turn, 'Maximum steps reached')
  const added = make(text => `${text}\n\n[Step ${step} of ${maxSteps}]`)
  turn.set({ step, messages: [...messages, ...added], calls: [], pendingCommand: '' })
  turn.emit('step', { step, max: maxSteps })
  askModel(turn, 'model')
}

/** Results of several calls are sent together, once each has one. @param goesOn otherwise the results of the remaining calls say that they were not run */
export function sendResult (turn: SkillTurn, text: string, goesOn = false): void {
  const { calls } = turn.state
  if (calls.length === 0) return addStep(turn, marked => [{ role: 'user', content: marked(text) }])
  turn.set({ calls: withResult(calls, text, goesOn), pendingCommand: '' })
  doNextCall(turn)
}

function doNextCall (turn: SkillTurn): void {
  const { calls } = turn.state
  const says = nextCall(calls)?.says
  if (says === undefined) {
    const results = resultsOf(calls)
    return addStep(turn, marked => [...results.slice(0, -1), ...results.slice(-1).map(result => ({ ...result, content: marked(contentOf(result)) }))])
  }
  if (says.type === 'WRONG') return sendResult(turn, notRun(says.problem))
  turn.set({ reply: says })
  follow(turn, says)
}

/** @param corrections are sent once, and not kept @param times as long as other answers this may be */
export function askModel (turn: SkillTurn, kind: 'model' | 'repair', corrections: readonly JsonObject[] = [], times = 1): void {
  const { setting: { model }, protocol } = turn.state
  const offered: JsonObject = protocol === 'tools' ? { tools: SKILL_TOOLS } : {}
  const effect = turn.begin('llm', {
    purpose: kind,
    messages: [...sentMessages(turn.state), ...corrections],
    fields: { ...(model === '' ? {} : { model }), temperature: 0.3, max_tokens: times * MAX_TOKENS[protocol], ...offered },
    timeout: MODEL_TIMEOUT,
    maxAnswer: MAX_REPLY
  })
  goTo(turn, 'idle', { kind, effect })
}

function askToRepair (turn: SkillTurn, said: string, wrong: string, times?: number): void {
  askModel(turn, 'repair', [{ role: 'assistant', content: said }, { role: 'user', content: wrong }], times)
}

/** @param isRepaired the model is asked to correct an answer only once */
export function onAnswered (turn: SkillTurn, answer: Answer, isRepaired: boolean): void {
  const { text, refusal, cut, finishReason } = answer
  const { protocol, messages, setting: { language, wholeCommands } } = turn.state
  if (refusal !== '') return fail(turn, 'MODEL_REFUSED', refusedText(language, refusal))
  const said = clip(wordsOf(answer).trim(), MAX_MESSAGE) || NO_ANSWER
  if (cut) {
    // A half command is another command.
    const problem = cutProblem(finishReason)
    return isRepaired ? fail(turn, 'ANSWER_CUT', `The answer was unusable: ${problem}`) : askToRepair(turn, said, `${REPAIR_CUT}${problem}`, MORE_TOKENS)
  }
  if (protocol === 'text') return onAnsweredInText(turn, text, isRepaired)
  const calls = parseSkillCalls(answer, wholeCommands !== true)
  if (calls.length === 0 && beginsWithTag(text)) {
    goOnByTexts(turn)
    return onAnsweredInText(turn, text, isRepaired)
  }
  const problem = calls.length === 0 ? 'it calls no function' : problemIn(calls)
  if (problem !== undefined && !isRepaired) return askToRepair(turn, said, `${REPAIR_CALLS}${problem}`)
  if (calls.length === 0) return onAnsweredInWords(turn, text.trim())
  turn.set({ calls, messages: [...messages, askedMessage(answer)] })
  if (text.trim() !== '') turn.emit('message', { text: text.trim() })
  doNextCall(turn)
}

function onAnsweredInWords (turn: SkillTurn, question: string): void {
  if (question === '') return fail(turn, 'EMPTY_RESPONSE', 'Empty or invalid AI response')
  followSaid(turn, { type: 'ASK', content: `[ASK] ${question}`, question, required: true }, question)
}

function onAnsweredInText (turn: SkillTurn, text: string, isRepaired: boolean): void {
  const reply = parseSkillResponse(text, turn.state.setting.wholeCommands !== true)
  if (reply.type === 'UNKNOWN') return fail(turn, 'EMPTY_RESPONSE', reply.error)
  const isUnclear = reply.type === 'UNCLEAR'
  if ((isUnclear || (reply.type === 'CMD' && reply.fallback === true)) && !isRepaired) {
    return askToRepair(turn, text, isUnclear && beginsWithTag(text) ? `${REPAIR_COMMAND}${reply.problem}` : REPAIR)
  }
  if (isUnclear) onAnsweredInWords(turn, text.trim())
  else followSaid(turn, reply, reply.content)
}

function followSaid (turn: SkillTurn, reply: ReadableReply, content: string): void {
  turn.set({ reply, messages: [...turn.state.messages, { role: 'assistant', content }] })
  follow(turn, reply)
}

export function follow (turn: SkillTurn, reply: ReadableReply): void {
  switch (reply.type) {
    case 'CMD': return propose(turn, reply.command, reply.fallback === true ? 'fallback' : 'model')
    case 'DONE': return finish(turn, reply.message)
    case 'ASK':
      log(turn, 'skill_ask', {})
      turn.emit('ask', { text: reply.question, required: reply.required })
      return awaitUser(turn, 'waiting_user', { kind: 'answer', required: reply.required })
    case 'MESSAGE':
      log(turn, 'skill_message', {})
      turn.emit('message', { text: reply.message })
      return turn.state.setting.autoContinue ? onMessageSeen(turn) : awaitUser(turn, 'idle', { kind: 'continue' })
  }
}

export function propose (turn: SkillTurn, command: string, origin: ExecEffect['origin']): void {
  const { setting: { target, timeout, inTerminal }, step, isWithoutTerminal, cwd } = turn.state
  turn.set({ pendingCommand: command })
  log(turn, 'skill_command', { command })
  turn.emit('command', { phase: 'proposed', command, step, ...(origin === 'fallback' ? { fallback: true } : {}) })
  if (target === '') return awaitUser(turn, 'waiting_cmd', { kind: 'command' })
  const place = inTerminal !== undefined && isWithoutTerminal !== true ? { terminal: inTerminal } : cwd === '' ? {} : { cwd }
  const effect = turn.begin('exec', { target, command, origin, timeout: timeout * SECOND, ...place })
  goTo(turn, 'waiting_cmd', { kind: 'result', effect })
}

export function onMessageSeen (turn: SkillTurn): void {
  if (turn.state.calls.length === 0) sendResult(turn, MESSAGE_SEEN)
  else sendResult(turn, 'The user was told.', true)
}

function finish (turn: SkillTurn, text: string): void {
  log(turn, 'skill_complete', {})
  turn.emit('message', { text, isFinal: true })
  const { messages, calls } = turn.state
  turn.set({ text, messages: [...messages, ...resultsOf(calls)], calls: [] })
  goTo(turn, 'done', { kind: 'nothing' })
}

export function fail (turn: SkillTurn, code: string, message: string): void {
  turn.emitError(code, message)
  turn.set({ text: message })
  goTo(turn, 'failed', { kind: 'nothing' })
}

export function awaitUser (turn: SkillTurn, word: SkillState['word'], awaited: Awaited): void {
  turn.begin('wait', {})
  goTo(turn, word, awaited)
}

export function goTo (turn: SkillTurn, word: SkillState['word'], awaited: Awaited): void {
  turn.set({ word, awaited })
}

export function log (turn: SkillTurn, event: string, data: JsonObject): void {
  const { step, setting: { name, target } } = turn.state
  const of = {
    id: turn.noticeId,
    skill_log_id: turn.session,
    session_id: turn.session,
    timestamp: new Date(turn.at).toISOString(),
    skill_name: name,
    step,
    serverId: target,
    serverName: target
  }
  turn.emit('log', { prefix: 'skill', level: 'info', text: `${event} step=${step}`, event, ...of, ...data })
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

function buildInitialUserPrompt ({ name, prompt, parameters }: SkillState['setting']): string {
  const wish = prompt === '' ? `Execute skill: ${name}` : prompt
  return parameters.length === 0 ? wish : `${wish}\n\nParameters:\n${parameters.map(({ name, value }) => `- ${name}: ${value}`).join('\n')}`
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
