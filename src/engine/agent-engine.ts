import { isJsonObject, type Json, JsonError, type JsonObject, objectOf, parseJson, stringifyJson } from '../base/json.ts'
import { type Answer, withoutThoughts } from '../llm/answer.ts'
import { loggedAnswer, parseArguments, wordsOf } from '../llm/history.ts'
import { jsonIn } from '../llm/json-in.ts'
import type { AgentClassify, AgentParameter, AgentTool } from '../registry/kinds/agent-setting.ts'
import type { Engine } from '../session/engine.ts'
import { clip } from './clip.ts'
import { type Ended, endedOf, MAX_MESSAGE, renderText, type StepOutcome, Turn } from './reducer.ts'
import { sentHistory } from './sent-history.ts'
import {
  addAnswer, addMessage, type DialogueStart, emitHelp, emitOutcome, emitTurnError, goOn, instruction, mayCorrect, NOTHING_SAID, onInput, onSpent, onUnusable,
  outcomeOf, refuseAction, start, taskOf
} from './dialogue.ts'
import { cutProblem, refusedText } from './texts.ts'
import { AGENT, type AgentResult, type AgentState, type DialogueStep } from './dialogue-state.ts'

/** The model says whether a question concerns the agent, then selects a tool; the service checks the parameters and calls it. */
export const agentEngine: Engine<DialogueStart, AgentState, AgentResult> = {
  ...AGENT,
  begin ({ setting: { agent }, ...started }, moment) {
    const turn = new Turn<AgentState>({ ...NOTHING_SAID, setting: agent, codes: {} }, moment)
    ask(turn, start(turn, taskOf(started)))
    return turn
  },
  next (state, fact, moment) {
    const turn = new Turn(state, moment)
    const ended = endedOf(fact)
    if (fact.kind === 'input') ask(turn, onInput(turn, fact.text, fact.action))
    else if (ended !== undefined && 'effect' in fact) onEnded(turn, fact.effect, ended)
    if (turn.state.step === 'await_input' || turn.state.step === 'ended') turn.set({ pending: undefined })
    return turn
  },
  view: state => ({ stateName: state.step, outcome: outcomeOf(state), result: describe(state) }),
  refuses: (state, _text, action) => refuseAction(state, action)
}

function describe ({ step, codes, messages, pending, answer, error }: AgentState): AgentResult {
  return { last_state: step, codes, messages, pending: pending ?? null, answer: answer ?? null, error: error ?? null }
}

/** Code points that an answer is cut to in log lines. */
const MAX_SHOWN_ANSWER = 200

type AgentTurn = Turn<AgentState>

const CLASSIFYING = { step: 'classify', prefix: 'cls', retry: 'classify' } as const
const SELECTING = { step: 'select', prefix: 'select', retry: 'select' } as const

/** Changes nothing when the dialogue does not wait for this effect. */
function onEnded (turn: AgentTurn, effect: string, ended: Ended): void {
  const { awaits } = turn.state
  if (awaits?.effect !== effect) return
  turn.set({ awaits: undefined })
  if ('failure' in ended && ended.isSpent === true) return onSpent(turn, ended.failure)
  switch (awaits.purpose) {
    case 'classify': return onClassified(turn, ended)
    case 'select': return 'code' in ended && ended.code === 'TOOLS_REFUSED' ? askToSelect(turn, 'select-json') : onSelected(turn, ended, 'select')
    case 'select-json': return onSelected(turn, ended, 'select-json')
    case 'health': return onHealth(turn, ended)
    case 'call': return onCalled(turn, ended)
  }
}

/** @param asked the user's question, or the step that failed and is tried again */
function ask (turn: AgentTurn, asked: ReturnType<typeof onInput>): void {
  if (asked === undefined) return
  if ('question' in asked) addMessage(turn, { role: 'user', content: asked.question, kind: 'said' })
  if ('retry' in asked && asked.retry !== 'classify') select(turn)
  else classify(turn)
}

function classify (turn: AgentTurn): void {
  const { classify } = turn.state.setting
  if (classify === undefined) return select(turn)
  emitOutcome(turn, 'classify', 'cls')
  askToClassify(turn, classify)
}

function askToClassify (turn: AgentTurn, { prompt }: AgentClassify): void {
  askModel(turn, 'classify', 'classify', prompt, { temperature: 0 })
}

function onClassified (turn: AgentTurn, ended: Ended): void {
  const { classify } = turn.state.setting
  if (classify === undefined) throw new Error('a message is classified that nobody asked about')
  if ('failure' in ended) return onUnusable(turn, { ...CLASSIFYING, cause: 'MODEL_FAILED', reason: ended.failure, code: ended.code })
  const answer = loggedAnswer(ended.value)
  const words = answer?.text ?? ''
  if (answer !== undefined && answer.refusal !== '') return onRefused(turn, CLASSIFYING, answer)
  const isRelevant = answer?.cut === true ? undefined : classify.answers === 'exact' ? parseClassification(words) : parseLeniently(words)
  if (isRelevant !== undefined) return onJudged(turn, isRelevant)
  const unclear = answer?.cut === true ? cutProblem(answer.finishReason) : `neither yes nor no: "${clip(words, MAX_SHOWN_ANSWER)}"`
  const reason = answer === undefined ? 'the answer has no message' : unclear
  if (mayCorrect(turn, words, instruction(turn, 'repairClassify'))) {
    emitOutcome(turn, 'classifyRepaired', 'cls', { reason })
    return askToClassify(turn, classify)
  }
  if (classify.unclear === 'error') return onUnusable(turn, { ...CLASSIFYING, cause: 'MODEL_UNREADABLE', reason })
  emitOutcome(turn, 'classifyTaken', 'cls', { reason, taken: classify.unclear })
  onJudged(turn, classify.unclear === 'relevant')
}

function onJudged (turn: AgentTurn, isRelevant: boolean): void {
  turn.set({ repaired: 0, corrections: [] })
  if (isRelevant) {
    emitOutcome(turn, 'relevant', 'cls')
    return select(turn)
  }
  emitOutcome(turn, 'irrelevant', 'cls')
  emitHelp(turn)
  goOn(turn)
}

function select (turn: AgentTurn): void {
  emitOutcome(turn, 'select', 'select')
  askToSelect(turn, 'select')
}

function askToSelect (turn: AgentTurn, purpose: 'select' | 'select-json'): void {
  const tools = turn.state.setting.tools.map(declare)
  if (purpose === 'select') return askModel(turn, 'select', purpose, selectPrompt(turn), { temperature: 0, tools, tool_choice: 'auto' })
  askModel(turn, 'select', purpose, `${selectPrompt(turn)}\n\n${instruction(turn, 'choice')}${stringifyJson(tools)}`, { temperature: 0 })
}

function selectPrompt (turn: AgentTurn): string {
  return turn.state.setting.select?.prompt ?? instruction(turn, 'select')
}

function onSelected (turn: AgentTurn, ended: Ended, purpose: 'select' | 'select-json'): void {
  if ('failure' in ended) return onUnusable(turn, { ...SELECTING, cause: 'MODEL_FAILED', reason: ended.failure, code: ended.code })
  const answer = loggedAnswer(ended.value)
  if (answer !== undefined && answer.refusal !== '') return onRefused(turn, SELECTING, answer)
  const choice = answer === undefined ? 'the answer has no message' : answer.cut ? cutProblem(answer.finishReason) : CHOICES[purpose](answer)
  const isEmpty = answer === undefined || (answer.text.trim() === '' && answer.calls.length === 0)
  const reason = typeof choice === 'string' ? choice : choice === undefined && isEmpty ? 'its message is empty' : undefined
  if (reason !== undefined && mayCorrect(turn, answer === undefined ? '' : wordsOf(answer), `${instruction(turn, 'repairSelect')}${reason}`)) {
    emitOutcome(turn, 'selectRepaired', 'select', { reason })
    return askToSelect(turn, purpose)
  }
  if (typeof choice === 'string') return onUnusable(turn, { ...SELECTING, cause: 'MODEL_UNREADABLE', reason: choice })
  turn.set({ repaired: 0, corrections: [] })
  if (choice === undefined) {
    emitOutcome(turn, 'noTool', 'select')
    return goOn(turn)
  }
  const { tool: name, arguments: values } = choice
  turn.set({ pending: choice })
  emitOutcome(turn, 'selected', 'select', { name, params: Object.entries(values).map(([parameter, value]) => `${parameter}=${textOf(value)}`).join(', ') })
  validate(turn, name, values)
}

/** The model is not asked again: it would refuse again. */
function onRefused (turn: AgentTurn, about: typeof CLASSIFYING | typeof SELECTING, { refusal }: Answer): void {
  turn.emitText(refusedText(turn.state.setting.language, refusal))
  onUnusable(turn, { ...about, cause: 'MODEL_UNREADABLE', reason: `the model refuses: ${refusal}` })
}

function validate (turn: AgentTurn, name: string, values: JsonObject): void {
  turn.set({ step: 'validate' })
  emitOutcome(turn, 'validate', 'valid')
  const tool = turn.state.setting.tools.find(each => each.name === name)
  if (tool === undefined) {
    emitOutcome(turn, 'unknownTool', 'valid', { name })
    return goOn(turn)
  }
  const problem = findProblem(tool, values)
  if (problem !== undefined) {
    emitOutcome(turn, problem.reason, 'valid', { name: problem.name }, problem.text)
    return goOn(turn)
  }
  const chosen = chosenOf(tool, values)
  const ready = Object.entries(tool.parameters).flatMap(([parameter, { ready: text }]) => {
    return text !== undefined && Object.hasOwn(chosen, parameter) ? [text] : []
  })
  const shown = Object.fromEntries(Object.entries(chosen).map(([parameter, value]) => [parameter, textOf(value)]))
  emitOutcome(turn, 'valid', 'valid', shown, ready.join('\n'))
  turn.set({ pending: { tool: name, arguments: { ...chosen, ...tool.arguments } } })
  execute(turn, tool)
}

function execute (turn: AgentTurn, tool: AgentTool): void {
  turn.set({ step: 'execute' })
  emitOutcome(turn, 'execute', 'exec')
  if (tool.health === undefined) return call(turn, tool)
  const timeout = turn.state.setting.timeouts.health * SECOND
  awaitEffect(turn, 'health', turn.begin('tool', { tool: tool.health, arguments: {}, timeout }))
}

function onHealth (turn: AgentTurn, ended: Ended): void {
  const tool = pendingTool(turn)
  if ('failure' in ended) {
    const brief = 'check_health // Unexpected error: …'
    turn.log('exec', 'error', `check_health // Unexpected error: ${ended.failure}`, { brief, code: ended.code })
    return onToolFailed(turn, 'unhealthy', tool, { reason: ended.failure })
  }
  const isWell = isJsonObject(ended.value) && ended.value['status'] === 'ok'
  return isWell ? call(turn, tool) : onToolFailed(turn, 'unhealthy', tool, { reason: 'it says that it is not well' })
}

function call (turn: AgentTurn, tool: AgentTool): void {
  const { pending, setting: { timeouts } } = turn.state
  const call = { name: tool.name, tool: tool.tool, arguments: pending?.arguments ?? {}, timeout: timeouts.tool * SECOND }
  awaitEffect(turn, 'call', turn.begin('tool', call))
}

function onCalled (turn: AgentTurn, ended: Ended): void {
  const tool = pendingTool(turn)
  if ('failure' in ended && ended.code === 'UNKNOWN') {
    // The tool's own text for a failed call would invite the user to repeat it.
    emitTurnError(turn, 'TOOL_UNKNOWN', ended.failure)
    emitOutcome(turn, 'callUnknown', 'exec', { name: tool.name, label: tool.label, reason: ended.failure, code: ended.code })
    return goOn(turn)
  }
  if ('failure' in ended) return onToolFailed(turn, 'callFailed', tool, { reason: ended.failure, code: ended.code })
  const { value } = ended
  if (isJsonObject(value) && Object.hasOwn(value, 'error')) {
    return onToolFailed(turn, 'toolReported', tool, { errorLabel: tool.errorLabel, reason: textOf(value['error'] as Json) })
  }
  turn.set({ codes: { ...turn.state.codes, execute: 400 } })
  // In the text `{{count}}` is the call's argument, even if the result has a `count`, which may be smaller.
  const values = { result: value, ...objectOf(value), ...turn.state.pending?.arguments }
  for (const { to, text } of tool.show) showResult(turn, tool, to, renderText(text, values))
  goOn(turn)
}

function showResult (turn: AgentTurn, { label }: AgentTool, to: AgentTool['show'][number]['to'], text: string): void {
  if (to === 'log') return turn.log('exec', 'debug', text, { brief: `${label} // Result` })
  turn.emitText(text)
  if (to !== 'both') return
  addMessage(turn, { role: 'assistant', content: clip(text, MAX_MESSAGE), kind: 'said' })
  addAnswer(turn, text)
}

function onToolFailed (turn: AgentTurn, outcome: StepOutcome, tool: AgentTool, { reason, ...values }: JsonObject & { readonly reason: string }): void {
  emitTurnError(turn, 'TOOL_FAILED', reason)
  emitOutcome(turn, outcome, 'exec', { name: tool.name, label: tool.label, reason, ...values }, tool.failed)
  goOn(turn)
}

function pendingTool (turn: AgentTurn): AgentTool {
  const tool = turn.state.setting.tools.find(({ name }) => name === turn.state.pending?.tool)
  if (tool === undefined) throw new Error('a tool is called that is not pending')
  return tool
}

function askModel (turn: AgentTurn, step: DialogueStep, purpose: 'classify' | 'select' | 'select-json', system: string, fields: JsonObject): void {
  const { setting: { history, model, timeouts }, messages, corrections } = turn.state
  const sent = [{ role: 'system', content: system }, ...sentHistory(messages.map(message => ({ ...message })), history), ...corrections]
  turn.set({ step })
  const asked = model === '' ? fields : { ...fields, model }
  awaitEffect(turn, purpose, turn.begin('llm', { purpose, messages: sent, fields: asked, timeout: timeouts.model * SECOND }))
}

function awaitEffect (turn: AgentTurn, purpose: NonNullable<AgentState['awaits']>['purpose'], effect: string): void {
  turn.set({ awaits: { effect, purpose } })
}

const SECOND = 1000

function callInMessage ({ calls: [call] }: Answer) {
  if (call === undefined) return undefined
  const values = parseArguments(call.arguments)
  return typeof values === 'string' ? values : { tool: call.name, arguments: values }
}

function callInText ({ text }: Answer) {
  if (!text.includes('{')) return undefined
  const found = jsonIn(text)
  if ('reason' in found) return `the arguments are not JSON: ${found.reason}`
  if (!isJsonObject(found.value)) return 'the arguments are not a JSON object'
  const { tool, arguments: values } = found.value
  if (typeof tool !== 'string') return undefined
  if (values === undefined || values === null) return { tool, arguments: {} }
  return isJsonObject(values) ? { tool, arguments: values } : 'the arguments are not a JSON object'
}

const CHOICES = { select: callInMessage, 'select-json': callInText }

/** No parameter is required, so that the agent can ask the user in plain words for what is missing. */
function declare ({ name, description, parameters }: AgentTool): JsonObject {
  const properties = Object.entries(parameters).map(([parameter, { type, description: about }]) => {
    return [parameter, { type, description: about }]
  })
  const schema = { type: 'object', properties: Object.fromEntries(properties) as JsonObject }
  return { type: 'function', function: { name, ...(description === undefined ? {} : { description }), parameters: schema } }
}

interface ParameterProblem {
  readonly reason: 'absent' | 'empty' | 'tooLong'
  readonly name: string
  readonly text: string
}

/** Only the first problem, since the user is asked for one thing at a time. */
export function findProblem ({ name, parameters }: AgentTool, values: JsonObject): ParameterProblem | undefined {
  for (const [parameter, rules] of Object.entries(parameters)) {
    const reason = problemOf(Object.hasOwn(values, parameter) ? values[parameter] as Json : null, rules)
    if (reason !== undefined) return { reason, name: `${name}::${parameter}`, text: rules[reason] ?? rules.absent ?? '' }
  }
  return undefined
}

export function chosenOf ({ parameters }: AgentTool, values: JsonObject): JsonObject {
  const chosen = Object.entries(parameters).filter(([parameter]) => Object.hasOwn(values, parameter) && values[parameter] !== null)
  return Object.fromEntries(chosen.map(([parameter, { type }]) => {
    const value = values[parameter] as Json
    return [parameter, type === 'string' ? textOf(value) : value]
  }))
}

/** Length and display both use the trimmed form. */
export function textOf (value: Json): string {
  return (typeof value === 'string' ? value : stringifyJson(value)).trim()
}

function problemOf (value: Json, { absent, maxLength = Infinity }: AgentParameter): ParameterProblem['reason'] | undefined {
  // A parameter without a text for its absence is optional.
  if (value === null) return absent === undefined ? undefined : 'absent'
  const text = textOf(value)
  if (text === '' && absent !== undefined) return 'empty'
  // Counted in code points, as people count.
  return Array.from(text).length > maxLength ? 'tooLong' : undefined
}

/** UTF-16 units of a one-word answer that are read. */
const MAX_ANSWER = 100

/** UTF-16 units of a longer answer that are read, without the model's thoughts. */
const MAX_LENIENT = 4000

/** Exactly one word, in English or Russian, whatever its case and punctuation: "not relevant, yes?" is not a yes. */
export function parseClassification (answer: string): boolean | undefined {
  const [, word] = /^[\s\p{P}\p{S}]*(да|нет|yes|no)[\s\p{P}\p{S}]*$/iu.exec(answer.slice(0, MAX_ANSWER)) ?? []
  return meaningOf(word)
}

/** Also behind thoughts, in a fence, as JSON, or at a sentence's start. Safe enough: the answer filters questions, and protects nothing. */
export function parseLeniently (answer: string): boolean | undefined {
  const text = withoutFence(withoutThoughts(answer).slice(0, MAX_LENIENT))
  const known = parsedMeaning(text)
  if (known !== undefined) return known
  const [, word] = /^[\s\p{P}\p{S}]*([\p{L}\p{N}_]+)/u.exec(text) ?? []
  return meaningOf(word)
}

function meaningOf (word: string | undefined): boolean | undefined {
  if (word === undefined) return undefined
  if (/^(?:да|yes)$/iu.test(word)) return true
  return /^(?:нет|no)$/iu.test(word) ? false : undefined
}

function withoutFence (text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('```')) return trimmed
  const body = trimmed.slice(trimmed.indexOf('\n') + 1)
  const end = body.lastIndexOf('```')
  return (end < 0 ? body : body.slice(0, end)).trim()
}

/** A boolean, or an object with exactly one member that is a boolean, yes or no. */
function parsedMeaning (text: string): boolean | undefined {
  const value = lenientJson(text)
  if (typeof value === 'boolean') return value
  if (!isJsonObject(value)) return undefined
  const meanings = Object.values(value).flatMap(member => {
    const meaning = typeof member === 'boolean' ? member : typeof member === 'string' ? parseClassification(member) : undefined
    return meaning === undefined ? [] : [meaning]
  })
  return meanings.length === 1 ? meanings[0] : undefined
}

function lenientJson (text: string): Json {
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return null
  }
}
