import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type AgentTool } from '../../registry/kinds/agent/agent-setting.ts'
import { type Next } from '../../session/engine.ts'
import { callsOf, contentOf, messageOf, parseArguments } from '../shared/choice.ts'
import { clip } from '../shared/clip.ts'
import { Dialogue } from '../shared/dialogue.ts'
import { INSTRUCTIONS } from '../texts/instructions.ts'
import { type Outcome, type Prefix, type Row, ROWS } from '../shared/messages.ts'
import { renderText } from '../shared/render-text.ts'
import { type Ended } from '../shared/reducer.ts'
import { CALL_TIMEOUT, MAX_MESSAGE, MODEL_TIMEOUT } from '../shared/outbox.ts'
import { type AgentState, type Step } from './agent-state.ts'
import { parseClassification } from './parse-classification.ts'
import { chosenOf, findProblem, textOf } from './validate-params.ts'

/** In ms. */
const HEALTH_TIMEOUT = 5000

/** An answer that is neither yes nor no is logged up to this length, in code points. */
const MAX_SHOWN_ANSWER = 200

/** One fact of a dialogue: the state that it leads to, and what is said and done on the way. */
export class AgentReducer extends Dialogue<AgentState> {
  /** An effect has ended. */
  end (effect: string, ended: Ended): Next<AgentState> {
    const { awaits } = this.state
    if (awaits?.effect !== effect) return this.next()
    this.state = { ...this.state, awaits: undefined }
    switch (awaits.purpose) {
      case 'classify': return this.#classified(ended)
      case 'select': return 'code' in ended && ended.code === 'TOOLS_REFUSED' ? this.#selectByText() : this.#selected(ended, callInMessage)
      case 'select-json': return this.#selected(ended, callInText)
      case 'health': return this.#healthy(ended)
      case 'call': return this.#called(ended)
    }
  }

  protected override ask (question: string): Next<AgentState> {
    this.remember({ role: 'user', content: question, kind: 'said' })
    const { classify } = this.state.setting
    if (classify === undefined) return this.#select()
    this.say('classify', 'cls')
    return this.#askModel('classify', 'classify', classify.prompt, { temperature: 0 })
  }

  #classified (ended: Ended): Next<AgentState> {
    if ('failure' in ended) return this.give('classifyFailed', 'cls', { reason: ended.failure, code: ended.code })
    const message = messageOf(ended.value)
    const answer = message === undefined ? undefined : parseClassification(contentOf(message))
    if (answer === undefined) return this.give('classifyUnreadable', 'cls', { reason: message === undefined ? 'the answer has no message' : `neither yes nor no: "${clip(contentOf(message), MAX_SHOWN_ANSWER)}"` })
    if (answer) {
      this.say('relevant', 'cls')
      return this.#select()
    }
    this.say('irrelevant', 'cls')
    this.showHelp()
    return this.#again()
  }

  #select (): Next<AgentState> {
    this.say('select', 'select')
    const { tools } = this.state.setting
    return this.#askModel('select', 'select', this.#selectPrompt(), { temperature: 0, tools: tools.map(declare), tool_choice: 'auto' })
  }

  #selectByText (): Next<AgentState> {
    const { tools, language } = this.state.setting
    return this.#askModel('select', 'select-json', `${this.#selectPrompt()}\n\n${INSTRUCTIONS[language].choice}${stringifyJson(tools.map(declare))}`, { temperature: 0 })
  }

  #selectPrompt (): string {
    const { select, language } = this.state.setting
    return select?.prompt ?? INSTRUCTIONS[language].select
  }

  #selected (ended: Ended, choiceIn: (message: JsonObject) => Choice): Next<AgentState> {
    if ('failure' in ended) return this.give('selectFailed', 'select', { reason: ended.failure, code: ended.code })
    const message = messageOf(ended.value)
    const choice = message === undefined ? 'the answer has no message' : choiceIn(message)
    if (typeof choice === 'string') return this.give('selectUnreadable', 'select', { reason: choice })
    if (choice === undefined) {
      this.say('noTool', 'select')
      return this.#again()
    }
    const { tool: name, arguments: values } = choice
    this.state = { ...this.state, pending: choice }
    this.say('selected', 'select', { name, params: Object.entries(values).map(([parameter, value]) => `${parameter}=${textOf(value)}`).join(', ') })
    return this.#validate(name, values)
  }

  #validate (name: string, values: JsonObject): Next<AgentState> {
    this.state = { ...this.state, step: 'validate' }
    this.say('validate', 'valid')
    const tool = this.state.setting.tools.find(each => each.name === name)
    if (tool === undefined) {
      this.say('unknownTool', 'valid', { name })
      return this.#again()
    }
    const problem = findProblem(tool, values)
    if (problem !== undefined) {
      this.say(problem.reason, 'valid', { name: problem.name }, problem.text)
      return this.#again()
    }
    const chosen = chosenOf(tool, values)
    const ready = Object.entries(tool.parameters).flatMap(([parameter, { ready: text }]) => text !== undefined && Object.hasOwn(chosen, parameter) ? [text] : [])
    const shown = Object.fromEntries(Object.entries(chosen).map(([parameter, value]) => [parameter, textOf(value)]))
    this.say('valid', 'valid', shown, ready.join('\n'))
    this.state = { ...this.state, pending: { tool: name, arguments: { ...chosen, ...tool.arguments } } }
    return this.#execute(tool)
  }

  #execute (tool: AgentTool): Next<AgentState> {
    this.state = { ...this.state, step: 'execute' }
    this.say('execute', 'exec')
    return tool.health === undefined ? this.#call(tool) : this.#await('health', this.outbox.callTool({ tool: tool.health, arguments: {}, timeout: HEALTH_TIMEOUT }))
  }

  #healthy (ended: Ended): Next<AgentState> {
    const tool = this.#pendingTool()
    if ('failure' in ended) this.outbox.log('exec', 'error', `check_health // Unexpected error: ${ended.failure}`, { brief: 'check_health // Unexpected error: …', code: ended.code })
    if ('failure' in ended || !isJsonObject(ended.value) || ended.value['status'] !== 'ok') return this.#fail('unhealthy', tool, {})
    return this.#call(tool)
  }

  #call (tool: AgentTool): Next<AgentState> {
    return this.#await('call', this.outbox.callTool({ name: tool.name, tool: tool.tool, arguments: this.state.pending?.arguments ?? {}, timeout: CALL_TIMEOUT }))
  }

  #called (ended: Ended): Next<AgentState> {
    const tool = this.#pendingTool()
    if ('failure' in ended && ended.code === 'UNKNOWN') {
      // The definition's own text says that it failed, and invites to do it again.
      this.say('callUnknown', 'exec', { name: tool.name, label: tool.label, reason: ended.failure, code: ended.code })
      return this.#again()
    }
    if ('failure' in ended) return this.#fail('callFailed', tool, { reason: ended.failure, code: ended.code })
    const { value } = ended
    if (isJsonObject(value) && Object.hasOwn(value, 'error')) return this.#fail('toolReported', tool, { errorLabel: tool.errorLabel, reason: textOf(value['error'] as Json) })
    this.state = { ...this.state, codes: { ...this.state.codes, execute: 400 } }
    // What was asked for is shown as it was asked for, whatever the tool says of it (X9).
    const values = { result: value, ...(isJsonObject(value) ? value : {}), ...this.state.pending?.arguments }
    for (const { to, text } of tool.show) this.#showResult(tool, to, renderText(text, values))
    return this.#again()
  }

  #showResult ({ label }: AgentTool, to: AgentTool['show'][number]['to'], text: string): void {
    if (to === 'log') return this.outbox.log('exec', 'debug', text, { brief: `${label} // Result` })
    this.outbox.show(text)
    if (to === 'both') this.remember({ role: 'assistant', content: clip(text, MAX_MESSAGE), kind: 'said' })
  }

  #fail (outcome: Outcome, tool: AgentTool, values: JsonObject): Next<AgentState> {
    this.say(outcome, 'exec', { name: tool.name, label: tool.label, ...values }, tool.failed)
    return this.#again()
  }

  #pendingTool (): AgentTool {
    const tool = this.state.setting.tools.find(({ name }) => name === this.state.pending?.tool)
    if (tool === undefined) throw new Error('a tool is called that is not pending')
    return tool
  }

  #again (): Next<AgentState> {
    this.say('restart', 'main')
    return this.listen()
  }

  #askModel (step: Step, purpose: 'classify' | 'select' | 'select-json', system: string, fields: JsonObject): Next<AgentState> {
    const { setting: { historyLimit, model }, messages } = this.state
    const sent = [{ role: 'system', content: system }, ...messages.slice(-historyLimit).map(({ role, content }) => ({ role, content }))]
    this.state = { ...this.state, step }
    return this.#await(purpose, this.outbox.askModel({ purpose, messages: sent, fields: model === '' ? fields : { ...fields, model }, timeout: MODEL_TIMEOUT }))
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

  /** Keeps the row's code, and in the history what the row has there. */
  protected override say (outcome: Outcome, prefix: keyof typeof STEPS, values: JsonObject = {}, own?: string): string | undefined {
    const row: Row = ROWS[outcome]
    const shown = super.say(outcome, prefix, values, own)
    if (shown !== undefined && row.toHistory === true) this.remember({ role: 'assistant', content: clip(shown, MAX_MESSAGE), kind: 'status' })
    if (row.code !== undefined) this.state = { ...this.state, codes: { ...this.state.codes, [STEPS[prefix]]: row.code } }
    return shown
  }
}

const STEPS: Readonly<Record<Exclude<Prefix, 'turn'>, Step>> = { main: 'await_input', cls: 'classify', select: 'select', valid: 'validate', exec: 'execute' }

/** A call; nothing when the model chose none; or what is wrong with the answer. */
type Choice = { readonly tool: string, readonly arguments: JsonObject } | undefined | string

function callInMessage (message: JsonObject): Choice {
  const [call] = callsOf(message)
  if (call === undefined) return undefined
  const values = parseArguments(call.arguments)
  return typeof values === 'string' ? values : { tool: call.name, arguments: values }
}

function callInText (message: JsonObject): Choice {
  const [text] = /\{[\s\S]*\}/.exec(contentOf(message)) ?? ['']
  const choice = parseArguments(text)
  if (typeof choice === 'string') return choice
  const { tool, arguments: values } = choice
  if (typeof tool !== 'string') return undefined
  if (values === undefined || values === null) return { tool, arguments: {} }
  return isJsonObject(values) ? { tool, arguments: values } : 'the arguments are not a JSON object'
}

/** As the model sees it. Nothing is required, so that what is missing can be asked for in plain words. */
function declare ({ name, description, parameters }: AgentTool): JsonObject {
  const properties = Object.entries(parameters).map(([parameter, { type, description: about }]) => [parameter, { type, ...(about === undefined ? {} : { description: about }) }])
  return { type: 'function', function: { name, ...(description === undefined ? {} : { description }), parameters: { type: 'object', properties: Object.fromEntries(properties) as JsonObject } } }
}
