import { isJsonObject, type Json, JsonError, type JsonObject, objectOf, parseJson, stringifyJson } from '../base/json.ts'
import { type Answer, withoutThoughts } from '../llm/answer.ts'
import { loggedAnswer, parseArguments, wordsOf } from '../llm/history.ts'
import { jsonIn } from '../llm/json-in.ts'
import type { AgentClassify, AgentParameter, AgentTool } from '../registry/kinds/agent-setting.ts'
import type { Engine, Next } from '../session/engine.ts'
import { clip } from './clip.ts'
import { type Ended, MAX_MESSAGE, type StepOutcome, type Prefix, renderText, type OutcomeRow, ROWS, takeFact } from './reducer.ts'
import { sentHistory } from './sent-history.ts'
import { Dialogue, type DialogueStart, NOTHING_SAID, refuseAction, taskOf } from './dialogue.ts'
import { cutProblem, refusedText } from './texts.ts'
import { AGENT, type AgentResult, type AgentState, type DialogueStep } from './dialogue-state.ts'

/** The model says whether a question concerns the agent, then selects a tool; the service checks the parameters and calls it. */
export const agentEngine: Engine<DialogueStart, AgentState, AgentResult> = {
  ...AGENT,
  begin: ({ setting: { agent }, ...started }, moment) => {
    const state: AgentState = { ...NOTHING_SAID, setting: agent, step: 'await_input', pending: undefined, awaits: undefined, codes: {} }
    return new AgentReducer(state, moment).start(taskOf(started))
  },
  next: (state, fact, moment) => takeFact(new AgentReducer(state, moment), fact),
  view: state => ({ stateName: state.step, outcome: state.step === 'ended' ? state.hasFailed ? 'failed' : 'completed' : 'open', result: describe(state) }),
  refuses: (state, _text, action) => refuseAction(state, action)
}

function describe ({ step, codes, messages, pending, answer, error }: AgentState): AgentResult {
  return { last_state: step, codes, messages, pending: pending ?? null, answer: answer ?? null, error: error ?? null }
}

/** Code points that an answer is cut to in log lines. */
const MAX_SHOWN_ANSWER = 200

class AgentReducer extends Dialogue<AgentState> {
  /** Changes nothing when the dialogue does not wait for this effect. */
  end (effect: string, ended: Ended): Next<AgentState> {
    const { awaits } = this.state
    if (awaits?.effect !== effect) return this.next()
    this.state = { ...this.state, awaits: undefined }
    if ('failure' in ended && ended.isSpent === true) return this.spend(ended.failure)
    switch (awaits.purpose) {
      case 'classify': return this.#classified(ended)
      case 'select': return 'code' in ended && ended.code === 'TOOLS_REFUSED' ? this.#askToSelect('select-json') : this.#selected(ended, 'select')
      case 'select-json': return this.#selected(ended, 'select-json')
      case 'health': return this.#healthy(ended)
      case 'call': return this.#called(ended)
    }
  }

  protected override ask (question: string): Next<AgentState> {
    this.remember({ role: 'user', content: question, kind: 'said' })
    return this.#classify()
  }

  protected override askAgain (retry: string): Next<AgentState> {
    return retry === 'classify' ? this.#classify() : this.#select()
  }

  #classify (): Next<AgentState> {
    const { classify } = this.state.setting
    if (classify === undefined) return this.#select()
    this.say('classify', 'cls')
    return this.#askToClassify(classify)
  }

  #askToClassify ({ prompt }: AgentClassify): Next<AgentState> {
    return this.#askModel('classify', 'classify', prompt, { temperature: 0 })
  }

  #classified (ended: Ended): Next<AgentState> {
    const { classify } = this.state.setting
    if (classify === undefined) throw new Error('a message is classified that nobody asked about')
    const about = { step: 'classify', prefix: 'cls', retry: 'classify' } as const
    if ('failure' in ended) return this.give({ ...about, cause: 'MODEL_FAILED', reason: ended.failure, code: ended.code })
    const answer = loggedAnswer(ended.value)
    const words = answer?.text ?? ''
    if (answer !== undefined && answer.refusal !== '') return this.#refused(about, answer)
    const isRelevant = answer?.cut === true ? undefined : classify.answers === 'exact' ? parseClassification(words) : parseLeniently(words)
    if (isRelevant !== undefined) return this.#judged(isRelevant)
    const unclear = answer?.cut === true ? cutProblem(answer.finishReason) : `neither yes nor no: "${clip(words, MAX_SHOWN_ANSWER)}"`
    const reason = answer === undefined ? 'the answer has no message' : unclear
    if (this.correct(words, this.instruction('repairClassify'))) {
      this.say('classifyRepaired', 'cls', { reason })
      return this.#askToClassify(classify)
    }
    if (classify.unclear === 'error') return this.give({ ...about, cause: 'MODEL_UNREADABLE', reason })
    this.say('classifyTaken', 'cls', { reason, taken: classify.unclear })
    return this.#judged(classify.unclear === 'relevant')
  }

  #judged (isRelevant: boolean): Next<AgentState> {
    this.#beginStep()
    if (isRelevant) {
      this.say('relevant', 'cls')
      return this.#select()
    }
    this.say('irrelevant', 'cls')
    this.showHelp()
    return this.goOn()
  }

  #beginStep (): void {
    this.state = { ...this.state, repaired: 0, corrections: [] }
  }

  #select (): Next<AgentState> {
    this.say('select', 'select')
    return this.#askToSelect('select')
  }

  #askToSelect (purpose: 'select' | 'select-json'): Next<AgentState> {
    const tools = this.state.setting.tools.map(declare)
    if (purpose === 'select') return this.#askModel('select', purpose, this.#selectPrompt(), { temperature: 0, tools, tool_choice: 'auto' })
    return this.#askModel('select', purpose, `${this.#selectPrompt()}\n\n${this.instruction('choice')}${stringifyJson(tools)}`, { temperature: 0 })
  }

  #selectPrompt (): string {
    return this.state.setting.select?.prompt ?? this.instruction('select')
  }

  #selected (ended: Ended, purpose: 'select' | 'select-json'): Next<AgentState> {
    const about = { step: 'select', prefix: 'select', retry: 'select' } as const
    if ('failure' in ended) return this.give({ ...about, cause: 'MODEL_FAILED', reason: ended.failure, code: ended.code })
    const answer = loggedAnswer(ended.value)
    if (answer !== undefined && answer.refusal !== '') return this.#refused(about, answer)
    const choice = answer === undefined ? 'the answer has no message' : answer.cut ? cutProblem(answer.finishReason) : CHOICES[purpose](answer)
    const isEmpty = answer === undefined || (answer.text.trim() === '' && answer.calls.length === 0)
    const reason = typeof choice === 'string' ? choice : choice === undefined && isEmpty ? 'its message is empty' : undefined
    if (reason !== undefined && this.correct(answer === undefined ? '' : wordsOf(answer), `${this.instruction('repairSelect')}${reason}`)) {
      this.say('selectRepaired', 'select', { reason })
      return this.#askToSelect(purpose)
    }
    if (typeof choice === 'string') return this.give({ ...about, cause: 'MODEL_UNREADABLE', reason: choice })
    this.#beginStep()
    if (choice === undefined) {
      this.say('noTool', 'select')
      return this.goOn()
    }
    const { tool: name, arguments: values } = choice
    this.state = { ...this.state, pending: choice }
    this.say('selected', 'select', { name, params: Object.entries(values).map(([parameter, value]) => `${parameter}=${textOf(value)}`).join(', ') })
    return this.#validate(name, values)
  }

  /** The model is not asked again: it would refuse again. */
  #refused (about: { readonly prefix: 'cls' | 'select', readonly step: 'classify' | 'select', readonly retry: string }, { refusal }: Answer): Next<AgentState> {
    this.outbox.show(refusedText(this.state.setting.language, refusal))
    return this.give({ ...about, cause: 'MODEL_UNREADABLE', reason: `the model refuses: ${refusal}` })
  }

  #validate (name: string, values: JsonObject): Next<AgentState> {
    this.state = { ...this.state, step: 'validate' }
    this.say('validate', 'valid')
    const tool = this.state.setting.tools.find(each => each.name === name)
    if (tool === undefined) {
      this.say('unknownTool', 'valid', { name })
      return this.goOn()
    }
    const problem = findProblem(tool, values)
    if (problem !== undefined) {
      this.say(problem.reason, 'valid', { name: problem.name }, problem.text)
      return this.goOn()
    }
    const chosen = chosenOf(tool, values)
    const ready = Object.entries(tool.parameters).flatMap(([parameter, { ready: text }]) => {
      return text !== undefined && Object.hasOwn(chosen, parameter) ? [text] : []
    })
    const shown = Object.fromEntries(Object.entries(chosen).map(([parameter, value]) => [parameter, textOf(value)]))
    this.say('valid', 'valid', shown, ready.join('\n'))
    this.state = { ...this.state, pending: { tool: name, arguments: { ...chosen, ...tool.arguments } } }
    return this.#execute(tool)
  }

  #execute (tool: AgentTool): Next<AgentState> {
    this.state = { ...this.state, step: 'execute' }
    this.say('execute', 'exec')
    if (tool.health === undefined) return this.#call(tool)
    const timeout = this.state.setting.timeouts.health * SECOND
    return this.#await('health', this.outbox.callTool({ tool: tool.health, arguments: {}, timeout }))
  }

  #healthy (ended: Ended): Next<AgentState> {
    const tool = this.#pendingTool()
    if ('failure' in ended) {
      const brief = 'check_health // Unexpected error: …'
      this.outbox.log('exec', 'error', `check_health // Unexpected error: ${ended.failure}`, { brief, code: ended.code })
      return this.#fail('unhealthy', tool, { reason: ended.failure })
    }
    const isWell = isJsonObject(ended.value) && ended.value['status'] === 'ok'
    return isWell ? this.#call(tool) : this.#fail('unhealthy', tool, { reason: 'it says that it is not well' })
  }

  #call (tool: AgentTool): Next<AgentState> {
    const { pending, setting: { timeouts } } = this.state
    const call = { name: tool.name, tool: tool.tool, arguments: pending?.arguments ?? {}, timeout: timeouts.tool * SECOND }
    return this.#await('call', this.outbox.callTool(call))
  }

  #called (ended: Ended): Next<AgentState> {
    const tool = this.#pendingTool()
    if ('failure' in ended && ended.code === 'UNKNOWN') {
      // The tool's own text for a failed call would invite the user to repeat it.
      this.blame('TOOL_UNKNOWN', ended.failure)
      this.say('callUnknown', 'exec', { name: tool.name, label: tool.label, reason: ended.failure, code: ended.code })
      return this.goOn()
    }
    if ('failure' in ended) return this.#fail('callFailed', tool, { reason: ended.failure, code: ended.code })
    const { value } = ended
    if (isJsonObject(value) && Object.hasOwn(value, 'error')) {
      return this.#fail('toolReported', tool, { errorLabel: tool.errorLabel, reason: textOf(value['error'] as Json) })
    }
    this.state = { ...this.state, codes: { ...this.state.codes, execute: 400 } }
    // In the text `{{count}}` is the call's argument, even if the result has a `count`, which may be smaller.
    const values = { result: value, ...objectOf(value), ...this.state.pending?.arguments }
    for (const { to, text } of tool.show) this.#showResult(tool, to, renderText(text, values))
    return this.goOn()
  }

  #showResult ({ label }: AgentTool, to: AgentTool['show'][number]['to'], text: string): void {
    if (to === 'log') return this.outbox.log('exec', 'debug', text, { brief: `${label} // Result` })
    this.outbox.show(text)
    if (to !== 'both') return
    this.remember({ role: 'assistant', content: clip(text, MAX_MESSAGE), kind: 'said' })
    this.reply(text)
  }

  #fail (outcome: StepOutcome, tool: AgentTool, { reason, ...values }: JsonObject & { readonly reason: string }): Next<AgentState> {
    this.blame('TOOL_FAILED', reason)
    this.say(outcome, 'exec', { name: tool.name, label: tool.label, reason, ...values }, tool.failed)
    return this.goOn()
  }

  #pendingTool (): AgentTool {
    const tool = this.state.setting.tools.find(({ name }) => name === this.state.pending?.tool)
    if (tool === undefined) throw new Error('a tool is called that is not pending')
    return tool
  }

  protected override goOn (): Next<AgentState> {
    this.say('restart', 'main')
    return this.listen()
  }

  #askModel (step: DialogueStep, purpose: 'classify' | 'select' | 'select-json', system: string, fields: JsonObject): Next<AgentState> {
    const { setting: { history, model, timeouts }, messages, corrections } = this.state
    const sent = [{ role: 'system', content: system }, ...sentHistory(messages.map(message => ({ ...message })), history), ...corrections]
    this.state = { ...this.state, step }
    const asked = model === '' ? fields : { ...fields, model }
    return this.#await(purpose, this.outbox.askModel({ purpose, messages: sent, fields: asked, timeout: timeouts.model * SECOND }))
  }

  #await (purpose: NonNullable<AgentState['awaits']>['purpose'], effect: string): Next<AgentState> {
    this.state = { ...this.state, awaits: { effect, purpose } }
    return this.next()
  }

  protected override goTo (step: 'await_input' | 'ended'): Next<AgentState> {
    this.state = { ...this.state, step, pending: undefined }
    return this.next()
  }

  protected override showHelp (): void {
    this.outbox.show(this.state.setting.help)
  }

  protected override say (outcome: StepOutcome, prefix: keyof typeof STEPS, values: JsonObject = {}, own?: string): string | undefined {
    const row: OutcomeRow = ROWS[outcome]
    const shown = super.say(outcome, prefix, values, own)
    if (shown !== undefined && row.toHistory !== undefined) {
      const isStatus = row.toHistory === 'status'
      this.remember({ role: 'assistant', content: clip(shown, MAX_MESSAGE), kind: isStatus ? 'status' : 'said' })
      if (!isStatus) this.reply(shown)
    }
    if (row.code !== undefined) this.state = { ...this.state, codes: { ...this.state.codes, [STEPS[prefix]]: row.code } }
    return shown
  }
}

const SECOND = 1000

const STEPS: Readonly<Record<Exclude<Prefix, 'turn'>, DialogueStep>> =
  { main: 'await_input', cls: 'classify', select: 'select', valid: 'validate', exec: 'execute' }

type Choice = { readonly tool: string, readonly arguments: JsonObject } | undefined | string

function callInMessage ({ calls: [call] }: Answer): Choice {
  if (call === undefined) return undefined
  const values = parseArguments(call.arguments)
  return typeof values === 'string' ? values : { tool: call.name, arguments: values }
}

function callInText ({ text }: Answer): Choice {
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
