import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type Moment, type Next } from '../../session/engine.ts'
import { type Action, type ExecEffect, type Fact } from '../../session/model.ts'
import { contentOf, messageOf } from '../shared/choice.ts'
import { cutMiddle } from '../shared/cut-middle.ts'
import { unknownOutcome } from '../shared/reducer.ts'
import { MODEL_TIMEOUT, ranAs, Outbox } from '../shared/outbox.ts'
import { TERMINAL_TEXTS } from '../texts/terminal-texts.ts'
import { cleanOutputForAI } from './clean-output.ts'
import { askAbout, verdictOf } from './interruption.ts'
import { parseSkillResponse, type ReadableReply } from './parse-skill-response.ts'
import { buildInitialUserPrompt, buildSkillSystemPrompt, withStep } from './prompt.ts'
import { sentMessages } from './sent-messages.ts'
import { type Awaited, type SkillMessage, type SkillState } from './skill-state.ts'

/** How long a command may run, in ms. */
const COMMAND_TIMEOUT = 30_000

/** How long the target's own file is waited for, in ms. */
const READ_TIMEOUT = 5000

/** Of an answer of the model, in bytes of its JSON: all of them are in the log, and are sent again with each step. */
const MAX_REPLY = 1024 * 1024

/** What the model reads of an output, in UTF-16 units. */
const MAX_OUTPUT = 16_000

/** Where the target's own file may be; the first that is there counts. The spelling is the protocol's. */
export const KNOWLEDGE_PATHS = ['./.kosmos-panel/ai_system_promt.md', '~/.config/kosmos-panel/ai_system_promt.md'] as const

const REPAIR = 'Your response did not start with a format tag. Answer again, and start with exactly one of [CMD], [ASK], [ASK:optional], [MESSAGE] or [DONE].'

/** One fact of a skill: the state that it leads to, and what is said and done on the way (the table of S-27 to S-30). */
export class SkillReducer {
  readonly #outbox: Outbox
  #state: SkillState

  constructor (state: SkillState, moment: Moment) {
    this.#state = state
    this.#outbox = new Outbox(moment)
  }

  start (): Next<SkillState> {
    const { setting: { target } } = this.#state
    this.#log('skill_start', {})
    if (target === '') return this.#begin('')
    const effect = this.#outbox.readFrom({ from: { target }, requests: KNOWLEDGE_PATHS.map(path => ({ path })), timeout: READ_TIMEOUT })
    return this.#await('idle', { kind: 'knowledge', effect })
  }

  /** The user sends something; what nobody has asked for is not heard. */
  hear (text: string, action: Action | undefined): Next<SkillState> {
    const { kind } = this.#state.awaited
    const name = action?.name ?? (kind === 'verdict' ? verdictOf(text) : undefined) ?? ''
    this.#log('skill_user_input', { action: name === '' ? 'answer' : name })
    switch (name) {
      case 'skip':
        if (kind === 'answer') return this.#say(`User response: ${text}`)
        return this.#skipped(kind === 'verdict' ? `${unknownOutcome('It was interrupted before')}.` : '')
      case 'continue': return this.#say('[Continue after informational message]')
      case 'again': return this.#runAgain()
      case 'command_result': return this.#reported(action?.data ?? {})
      default: return kind === 'answer' ? this.#say(`User response: ${text}`) : kind === 'verdict' ? this.#told(text) : this.next()
    }
  }

  /** Something that was begun has ended. */
  end (fact: Extract<Fact, { readonly effect: string }>): Next<SkillState> {
    const { awaited } = this.#state
    if (!('effect' in awaited) || awaited.effect !== fact.effect) return this.next()
    switch (awaited.kind) {
      case 'knowledge': return this.#begin(fact.kind === 'result' ? knowledgeOf(fact.result) : '')
      case 'result': return this.#commandEnded(fact)
      default: return fact.kind === 'result' ? this.#answered(fact.result, awaited.kind === 'repair') : this.#fail(...whyOf(fact))
    }
  }

  /** What came of it so far. */
  next (): Next<SkillState> {
    return { state: this.#state, effects: this.#outbox.effects, notices: this.#outbox.notices }
  }

  #begin (knowledge: string): Next<SkillState> {
    const { setting } = this.#state
    const { base, name, body } = setting
    this.#state = { ...this.#state, system: buildSkillSystemPrompt({ base, knowledge, name, body }) }
    return this.#say(buildInitialUserPrompt(setting))
  }

  /** Tells the model something, as the next step. */
  #say (text: string): Next<SkillState> {
    const step = this.#state.step + 1
    const { maxSteps } = this.#state.setting
    if (step > maxSteps) return this.#finish('Maximum steps reached')
    const messages: readonly SkillMessage[] = [...this.#state.messages, { role: 'user', content: withStep(text, step, maxSteps) }]
    this.#state = { ...this.#state, step, messages, pendingCommand: '' }
    this.#outbox.notice('step', { step, max: maxSteps })
    return this.#ask('model', sentMessages(this.#state))
  }

  #ask (kind: 'model' | 'repair', messages: readonly JsonObject[]): Next<SkillState> {
    const { model } = this.#state.setting
    const effect = this.#outbox.askModel({
      purpose: kind,
      messages,
      fields: { ...(model === '' ? {} : { model }), temperature: 0.3, max_tokens: 512 },
      timeout: MODEL_TIMEOUT,
      maxAnswer: MAX_REPLY
    })
    return this.#await('idle', { kind, effect })
  }

  /** @param isRepaired whether this is the answer to a demand for a tag, which comes once */
  #answered (completion: Json, isRepaired: boolean): Next<SkillState> {
    const text = contentOf(messageOf(completion) ?? {})
    const reply = parseSkillResponse(text)
    if (reply.type === 'UNKNOWN') return this.#fail('EMPTY_RESPONSE', reply.error)
    if (reply.type === 'CMD' && reply.fallback === true && !isRepaired) {
      return this.#ask('repair', [...sentMessages(this.#state), { role: 'assistant', content: text }, { role: 'user', content: REPAIR }])
    }
    this.#state = { ...this.#state, reply, messages: [...this.#state.messages, { role: 'assistant', content: reply.content }] }
    return this.#follow(reply)
  }

  #follow (reply: ReadableReply): Next<SkillState> {
    switch (reply.type) {
      case 'CMD': return this.#run(reply.command, reply.fallback === true ? 'fallback' : 'model')
      case 'DONE': return this.#finish(reply.message)
      case 'ASK':
        this.#log('skill_ask', {})
        this.#outbox.notice('ask', { text: reply.question, required: reply.required })
        return this.#wait('waiting_user', { kind: 'answer', required: reply.required })
      case 'MESSAGE':
        this.#log('skill_message', {})
        this.#outbox.notice('message', { text: reply.message })
        return this.#state.setting.autoContinue ? this.#say('[Continue after informational message]') : this.#wait('idle', { kind: 'continue' })
    }
  }

  #run (command: string, origin: ExecEffect['origin']): Next<SkillState> {
    const { setting: { target }, step } = this.#state
    this.#state = { ...this.#state, pendingCommand: command }
    this.#log('skill_command', { command })
    this.#outbox.notice('command', { phase: 'proposed', command, step, ...(origin === 'fallback' ? { fallback: true } : {}) })
    if (target === '') return this.#wait('waiting_cmd', { kind: 'command' })
    const effect = this.#outbox.runCommand({ target, command, origin, timeout: COMMAND_TIMEOUT, ...placeOfCommand(this.#state) })
    return this.#await('waiting_cmd', { kind: 'result', effect })
  }

  /** Proposes the command once more whose end nobody knows; who allowed it allowed it once. */
  #runAgain (): Next<SkillState> {
    const { pendingCommand: command } = this.#state
    const proposed: ReadableReply = { type: 'CMD', content: `[CMD] ${command}`, command, ...(this.#isFallback ? { fallback: true } : {}) }
    this.#state = { ...this.#state, reply: proposed }
    return this.#follow(proposed)
  }

  #commandEnded (fact: Extract<Fact, { readonly effect: string }>): Next<SkillState> {
    switch (fact.kind) {
      case 'result': return this.#ran(isJsonObject(fact.result) ? fact.result : {}, fact.effect)
      case 'refused': return this.#skipped(fact.reason)
      case 'unknown': return this.#interrupted(fact.command ?? this.#state.pendingCommand, fact.effect)
      default: {
        const isElsewhere = fact.kind === 'failure' && (fact.code === 'TERMINAL_GONE' || fact.code === 'TERMINAL_MOVED')
        return isElsewhere ? this.#proposeElsewhere(fact.code === 'TERMINAL_GONE') : this.#fail(...whyOf(fact))
      }
    }
  }

  /** Proposes a command once more that was not run: its terminal has ended, or is in another folder than the one that was allowed. */
  #proposeElsewhere (isGone: boolean): Next<SkillState> {
    if (isGone) {
      this.#state = { ...this.#state, isTerminalGone: true }
      this.#outbox.notice('message', { text: TERMINAL_TEXTS[this.#state.setting.language ?? 'en'].terminalGone })
    }
    return this.#run(this.#state.pendingCommand, this.#isFallback ? 'fallback' : 'model')
  }

  #ran (result: JsonObject, effect: string): Next<SkillState> {
    return this.#ended(result, textOf(result['cwd']), effect)
  }

  /** What the client tells of a command: where the next one begins is not its to say. */
  #reported (result: JsonObject): Next<SkillState> {
    return this.#ended(result, this.#state.cwd)
  }

  /** Whether the command that was proposed last is one of which the model did not say that it is one. */
  get #isFallback (): boolean {
    const { reply } = this.#state
    return reply !== undefined && 'fallback' in reply && reply.fallback === true
  }

  /** A command was not run, or is not to be run again. */
  #skipped (reason: string): Next<SkillState> {
    return this.#say(`User skipped the command.${reason === '' ? '' : `\n${reason}`}`)
  }

  /** @param command that began: a person may have edited it */
  #interrupted (command: string, effect: string): Next<SkillState> {
    const { step, pendingCommand, messages } = this.#state
    const question = askAbout(command, this.#isFallback)
    this.#outbox.notice('command', { phase: 'ended', command, step, exitCode: null, outcome: 'unknown', effect })
    this.#outbox.notice('ask', { text: question.question, required: true })
    this.#state = { ...this.#state, reply: question, pendingCommand: command, messages: asRan(messages, pendingCommand, command) }
    return this.#wait('waiting_user', { kind: 'verdict' })
  }

  /** A user says what came of a command that was interrupted. */
  #told (text: string): Next<SkillState> {
    const { pendingCommand: command } = this.#state
    const output = cleanOutputForAI(text, command)
    this.#log('skill_command_output', { command })
    this.#state = { ...this.#state, output }
    return this.#say(`Command output:\n${cutMiddle(output, MAX_OUTPUT)}\n[Command was interrupted: this is what the user says of it]`)
  }

  /** @param cwd where the command ended, as an executor has found @param effect that ran it; none where the client did */
  #ended (result: JsonObject, cwd: string, effect?: string): Next<SkillState> {
    const { step, pendingCommand } = this.#state
    // A person may have edited it: what really ran counts.
    const command = textOf(result['command']) === '' ? pendingCommand : textOf(result['command'])
    const { exitCode = 0, outcome = 'exited' } = result
    const output = cleanOutputForAI([textOf(result['stdout']), textOf(result['stderr'])].filter(text => text !== '').join('\n'), command)
    this.#log('skill_command_output', { command })
    this.#outbox.notice('command', { phase: 'ended', command, step, exitCode, outcome, ...ranAs(effect, result) })
    const moved = isMoved(this.#state, result) ? `\n[The user had changed the folder to ${textOf(result['begunIn'])}]` : ''
    this.#state = { ...this.#state, output, cwd, messages: asRan(this.#state.messages, pendingCommand, command) }
    const failure = exitCode === 0 ? '' : `\n[Exit code: ${String(exitCode)}]`
    const timeout = `\n[Command timed out after ${COMMAND_TIMEOUT / 1000}s]`
    const end = outcome === 'cancelled' ? '\n[Command was interrupted]' : outcome === 'timeout' ? timeout : failure
    return this.#say(`Command output:\n${cutMiddle(output, MAX_OUTPUT)}${end}${moved}`)
  }

  #finish (text: string): Next<SkillState> {
    this.#log('skill_complete', {})
    this.#outbox.notice('message', { text, isFinal: true })
    this.#state = { ...this.#state, text }
    return this.#await('done', { kind: 'nothing' })
  }

  #fail (code: string, message: string): Next<SkillState> {
    this.#outbox.notice('error', { code, message })
    this.#state = { ...this.#state, text: message }
    return this.#await('failed', { kind: 'nothing' })
  }

  #wait (word: SkillState['word'], awaited: Awaited): Next<SkillState> {
    this.#outbox.wait()
    return this.#await(word, awaited)
  }

  #await (word: SkillState['word'], awaited: Awaited): Next<SkillState> {
    this.#state = { ...this.#state, word, awaited }
    return this.next()
  }

  /** A word of the event log. */
  #log (event: string, data: JsonObject): void {
    const { step, setting: { name, target } } = this.#state
    const of = {
      id: this.#outbox.noticeId,
      skill_log_id: this.#outbox.session,
      session_id: this.#outbox.session,
      timestamp: new Date(this.#outbox.at).toISOString(),
      skill_name: name,
      step,
      serverId: target,
      serverName: target
    }
    this.#outbox.notice('log', { prefix: 'skill', level: 'info', text: `${event} step=${step}`, event, ...of, ...data })
  }
}

/** Where a command runs: in the terminal, while there is one, wherever that is; else where the last one ended. */
function placeOfCommand ({ setting: { inTerminal }, isTerminalGone, cwd }: SkillState): Pick<ExecEffect, 'terminal' | 'cwd'> {
  if (inTerminal !== undefined && isTerminalGone !== true) return { terminal: inTerminal }
  return cwd === '' ? {} : { cwd }
}

/** Whether a command in a terminal began in another folder than the one in which the last one ended. */
function isMoved ({ cwd }: SkillState, result: JsonObject): boolean {
  const begunIn = textOf(result['begunIn'])
  return begunIn !== '' && cwd !== '' && begunIn !== cwd
}

/** The dialogue with a command that a person has edited in place of the model's own. */
function asRan (messages: readonly SkillMessage[], proposed: string, command: string): readonly SkillMessage[] {
  return command === proposed ? messages : [...messages.slice(0, -1), { role: 'assistant', content: `[CMD] ${command}` }]
}

function knowledgeOf (result: Json): string {
  const files = isJsonObject(result) && Array.isArray(result['files']) ? (result['files'] as readonly Json[]).filter(isJsonObject) : []
  for (const path of KNOWLEDGE_PATHS) {
    const found = files.find(file => file['path'] === path)
    if (found !== undefined) return textOf(found['text']).trim()
  }
  return ''
}

function whyOf (fact: Extract<Fact, { readonly effect: string }>): [code: string, message: string] {
  if (fact.kind === 'failure') return [fact.code, fact.message]
  return fact.kind === 'refused' ? ['REFUSED', fact.reason] : ['UNKNOWN', unknownOutcome(fact.kind === 'unknown' ? fact.reason : undefined)]
}

function textOf (value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
