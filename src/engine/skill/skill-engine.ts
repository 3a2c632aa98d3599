import { isJsonObject, type Json, type JsonObject, listOf, objectOf, ownField, textOf } from '../../base/json.ts'
import { NO_WORDS } from '../../llm/answer.ts'
import { loggedAnswer } from '../../llm/history.ts'
import type { Engine, Next, Progress, Refused } from '../../session/engine.ts'
import type { Action, ExecEffect, Fact } from '../../session/model.ts'
import { cleanOutputForAI, cutMiddle } from '../clip.ts'
import { ranAs, unknownOutcome } from '../reducer.ts'
import { TERMINAL_TEXTS } from '../texts.ts'
import { askAbout, type Awaited, SKILL, type SkillResult, type SkillStart, type SkillState, verdictOf } from './skill-state.ts'
import { nextCall } from './skill-calls.ts'
import type { ReadableReply } from './parse-skill-response.ts'
import { SkillTurn } from './skill-turn.ts'

/** In ms. */
const READ_TIMEOUT = 5000

const SECOND = 1000

class SkillReducer extends SkillTurn {
  start (): Next<SkillState> {
    const { setting: { target } } = this.state
    this.log('skill_start', {})
    if (target === '') return this.begin('')
    const effect = this.outbox.readFrom({ from: { target }, requests: KNOWLEDGE_PATHS.map(path => ({ path })), timeout: READ_TIMEOUT })
    return this.goTo('idle', { kind: 'knowledge', effect })
  }

  /** Changes nothing where the skill does not wait for it. */
  hear (text: string, action: Action | undefined): Next<SkillState> {
    const { awaited } = this.state
    const why = awaited.kind === 'verdict' ? awaited.why : undefined
    const name = action?.name ?? (why === undefined ? undefined : verdictOf(text, why)) ?? ''
    this.log('skill_user_input', { action: name === '' ? 'answer' : name })
    switch (name) {
      case 'skip':
        if (awaited.kind === 'answer') return this.tell(`User response: ${text}`)
        return this.#skipped(why === 'isInterrupted' ? `${unknownOutcome('It was interrupted before')}.` : '')
      case 'continue': return this.messageSeen()
      case 'again': return this.#runAgain()
      case 'without':
        this.state = { ...this.state, isWithoutTerminal: true }
        return this.#runAgain()
      case 'command_result': return this.#reported(action?.data ?? {})
      default:
        if (awaited.kind === 'answer') return this.tell(`User response: ${text}`)
        return why === 'isInterrupted' ? this.#told(text) : why === 'isBusy' ? this.#skipped(text) : this.next()
    }
  }

  /** Changes nothing where the skill does not wait for it. */
  end (fact: Extract<Fact, { readonly effect: string }>): Next<SkillState> {
    const { awaited } = this.state
    if (!('effect' in awaited) || awaited.effect !== fact.effect) return this.next()
    switch (awaited.kind) {
      case 'knowledge': return this.begin(fact.kind === 'result' ? knowledgeOf(fact.result) : '')
      case 'result': return this.#commandEnded(fact)
      default:
        if (fact.kind === 'result') return this.answered(loggedAnswer(fact.result) ?? NO_WORDS, awaited.kind === 'repair')
        if (fact.kind !== 'failure' || fact.code !== 'TOOLS_REFUSED' || this.state.protocol === 'text') return this.fail(...whyOf(fact))
        this.goOnByTexts()
        return this.ask('model')
    }
  }

  protected override follow (reply: ReadableReply): Next<SkillState> {
    switch (reply.type) {
      case 'CMD': return this.#run(reply.command, reply.fallback === true ? 'fallback' : 'model')
      case 'DONE': return this.finish(reply.message)
      case 'ASK':
        this.log('skill_ask', {})
        this.outbox.notice('ask', { text: reply.question, required: reply.required })
        return this.wait('waiting_user', { kind: 'answer', required: reply.required })
      case 'MESSAGE':
        this.log('skill_message', {})
        this.outbox.notice('message', { text: reply.message })
        return this.state.setting.autoContinue ? this.messageSeen() : this.wait('idle', { kind: 'continue' })
    }
  }

  #run (command: string, origin: ExecEffect['origin']): Next<SkillState> {
    const { setting: { target, timeout }, step } = this.state
    this.state = { ...this.state, pendingCommand: command }
    this.log('skill_command', { command })
    this.outbox.notice('command', { phase: 'proposed', command, step, ...(origin === 'fallback' ? { fallback: true } : {}) })
    if (target === '') return this.wait('waiting_cmd', { kind: 'command' })
    const effect = this.outbox.runCommand({ target, command, origin, timeout: timeout * SECOND, ...placeOfCommand(this.state) })
    return this.goTo('waiting_cmd', { kind: 'result', effect })
  }

  /** Consent was for one run only, so the person is asked again. */
  #runAgain (): Next<SkillState> {
    const { pendingCommand: command } = this.state
    const proposed: ReadableReply = { type: 'CMD', content: `[CMD] ${command}`, command, ...(this.#isFallback ? { fallback: true } : {}) }
    this.state = { ...this.state, reply: proposed }
    return this.follow(proposed)
  }

  #commandEnded (fact: Extract<Fact, { readonly effect: string }>): Next<SkillState> {
    switch (fact.kind) {
      case 'result': return this.#ran(objectOf(fact.result), fact.effect)
      case 'refused': return fact.by === 'person' ? this.#skipped(fact.reason) : this.#denied(fact)
      case 'unknown': return this.#interrupted(fact.command ?? this.state.pendingCommand, fact.effect)
      case 'failure': return this.#notRun(fact)
      default: return this.fail(...whyOf(fact))
    }
  }

  /** What the terminal did not run is proposed again, or asked about. Every other failure ends the skill. */
  #notRun (failure: Extract<Fact, { kind: 'failure' }>): Next<SkillState> {
    switch (failure.code) {
      case 'TERMINAL_GONE':
        this.state = { ...this.state, isWithoutTerminal: true }
        this.outbox.notice('message', { text: TERMINAL_TEXTS[this.state.setting.language].terminalGone })
        return this.#proposeElsewhere()
      // The person allowed the command for one folder, and the terminal is in another by now.
      case 'TERMINAL_MOVED': return this.#proposeElsewhere()
      case 'TERMINAL_BUSY': return this.#askBusy()
      default: return this.fail(...whyOf(failure))
    }
  }

  #proposeElsewhere (): Next<SkillState> {
    return this.#run(this.state.pendingCommand, this.#isFallback ? 'fallback' : 'model')
  }

  #askBusy (): Next<SkillState> {
    const { setting: { language }, pendingCommand } = this.state
    const question = askAbout(pendingCommand, 'isBusy', this.#isFallback, language)
    this.outbox.notice('ask', { text: question.question, required: true })
    this.state = { ...this.state, reply: question }
    return this.wait('waiting_user', { kind: 'verdict', why: 'isBusy' })
  }

  #ran (result: JsonObject, effect: string): Next<SkillState> {
    return this.#ended(result, textOf(result['cwd']), effect)
  }

  /** The working folder stays as it is, whatever the client reports. */
  #reported (result: JsonObject): Next<SkillState> {
    return this.#ended(result, this.state.cwd)
  }

  get #isFallback (): boolean {
    const { reply } = this.state
    return reply !== undefined && 'fallback' in reply && reply.fallback === true
  }

  #skipped (reason: string): Next<SkillState> {
    return this.tell(`User skipped the command.${reason === '' ? '' : `\n${reason}`}`)
  }

  #denied ({ effect, reason, command = this.state.pendingCommand }: Extract<Fact, { kind: 'refused' }>): Next<SkillState> {
    this.outbox.notice('command', { phase: 'denied', command, step: this.state.step, effect, reason })
    return this.tell(`The command was not run. ${reason}`)
  }

  /** @param command that really began: a person may have edited the model's */
  #interrupted (command: string, effect: string): Next<SkillState> {
    const { setting: { language }, step, pendingCommand } = this.state
    const question = askAbout(command, 'isInterrupted', this.#isFallback, language)
    this.outbox.notice('command', { phase: 'ended', command, step, exitCode: null, outcome: 'unknown', effect })
    this.outbox.notice('ask', { text: question.question, required: true })
    this.state = { ...this.state, reply: question, pendingCommand: command, messages: this.#messagesAsRan(pendingCommand, command) }
    return this.wait('waiting_user', { kind: 'verdict', why: 'isInterrupted' })
  }

  #told (text: string): Next<SkillState> {
    const { pendingCommand: command } = this.state
    const output = cleanOutputForAI(text, command)
    this.log('skill_command_output', { command })
    this.state = { ...this.state, output }
    return this.tell(`${this.#inPlace(command)}${describeSkillOutput(output, '[Command was interrupted: this is what the user says of it]')}`)
  }

  /** @param effect left out when the client ran the command */
  #ended (result: JsonObject, cwd: string, effect?: string): Next<SkillState> {
    const { setting: { timeout }, step, pendingCommand } = this.state
    const ended = readCommandResult(result, pendingCommand, effect === undefined)
    const { command, exitCode, outcome, output, isGood } = ended
    const moved = describeSkillMove(this.state, result)
    this.log('skill_command_output', { command })
    this.outbox.notice('command', { phase: 'ended', command, step, exitCode, outcome, ...ranAs(effect, result) })
    this.state = { ...this.state, output, cwd, messages: this.#messagesAsRan(pendingCommand, command) }
    return this.tell(`${this.#inPlace(command)}${describeSkillResult(ended, timeout)}${moved}`, isGood)
  }

  /** A command that a person edited replaces the model's tagged text; a function call stays. */
  #messagesAsRan (proposed: string, command: string): readonly JsonObject[] {
    const { messages, calls } = this.state
    return command === proposed || calls.length > 0 ? messages : [...messages.slice(0, -1), { role: 'assistant', content: `[CMD] ${command}` }]
  }

  /** Tells the model that another command ran in place of its call's; else empty. */
  #inPlace (command: string): string {
    const says = nextCall(this.state.calls)?.says
    return says?.type !== 'CMD' || says.command === command ? '' : `The user ran another command in its place: ${command}\n`
  }
}

function placeOfCommand ({ setting: { inTerminal }, isWithoutTerminal, cwd }: SkillState): Pick<ExecEffect, 'terminal' | 'cwd'> {
  if (inTerminal !== undefined && isWithoutTerminal !== true) return { terminal: inTerminal }
  return cwd === '' ? {} : { cwd }
}

/** Empty when the user has not changed the terminal's folder since. */
function describeSkillMove ({ cwd }: SkillState, result: JsonObject): string {
  const begunIn = textOf(result['begunIn'])
  return begunIn !== '' && cwd !== '' && begunIn !== cwd ? `\n[The user had changed the folder to ${begunIn}]` : ''
}

function whyOf (fact: Extract<Fact, { readonly effect: string }>): [code: string, message: string] {
  if (fact.kind === 'failure') return [fact.code, fact.message]
  return fact.kind === 'refused' ? ['REFUSED', fact.reason] : ['UNKNOWN', unknownOutcome(fact.kind === 'unknown' ? fact.reason : undefined)]
}

/** The first that exists counts. The spelling comes from existing clients and stays. */
const KNOWLEDGE_PATHS = ['./.kosmos-panel/ai_system_promt.md', '~/.config/kosmos-panel/ai_system_promt.md'] as const

function knowledgeOf (result: Json): string {
  const files = listOf(ownField(result, 'files')).filter(isJsonObject)
  for (const path of KNOWLEDGE_PATHS) {
    const text = files.find(file => file['path'] === path)?.['text']
    if (text !== undefined) return typeof text === 'string' ? text.trim() : ''
  }
  return ''
}

/** UTF-16 units; longer output loses its middle. */
const MAX_OUTPUT = 16_000

interface CommandResult {
  /** A person may have edited the model's. */
  readonly command: string
  readonly exitCode: Json
  readonly outcome: Json
  readonly output: string
  readonly isGood: boolean
}

/** @param isReported by a client, perhaps copied from a shell with its prompts */
function readCommandResult (result: JsonObject, proposed: string, isReported: boolean): CommandResult {
  const command = textOf(result['command']) === '' ? proposed : textOf(result['command'])
  const { exitCode = 0, outcome = 'exited' } = result
  const printed = [textOf(result['stdout']).replace(/\r?\n$/, ''), textOf(result['stderr'])].filter(text => text !== '').join('\n')
  const output = cleanOutputForAI(printed, isReported ? command : '')
  return { command, exitCode, outcome, output, isGood: outcome === 'exited' && exitCode === 0 }
}

/** @param timeout in seconds */
function describeSkillResult ({ exitCode, outcome, output }: CommandResult, timeout: number): string {
  const failure = exitCode === 0 ? '' : `[Exit code: ${String(exitCode)}]`
  const late = `[Command timed out after ${timeout}s]`
  return describeSkillOutput(output, outcome === 'cancelled' ? '[Command was interrupted]' : outcome === 'timeout' ? late : failure)
}

/** @param remark empty when it ended with the exit code 0 */
function describeSkillOutput (output: string, remark: string): string {
  return `Command output:\n${cutMiddle(output, MAX_OUTPUT)}${remark === '' ? '' : `\n${remark}`}`
}

const SHOWN_LINES = 7

/** Carries out a SKILL.md step by step: the model replies with commands, questions or messages, and people decide. */
export const skillEngine: Engine<SkillStart, SkillState, SkillResult> = {
  ...SKILL,
  begin: ({ setting: { skill } }, moment) => new SkillReducer({
    setting: skill,
    word: 'idle',
    awaited: { kind: 'nothing' },
    protocol: skill.protocol,
    knowledge: '',
    system: '',
    messages: [],
    calls: [],
    step: 0,
    reply: undefined,
    pendingCommand: '',
    output: '',
    cwd: '',
    text: ''
  }, moment).start(),
  next (state, fact, moment) {
    const reducer = new SkillReducer(state, moment)
    switch (fact.kind) {
      case 'input': return reducer.hear(fact.text, fact.action)
      case 'result':
      case 'failure':
      case 'unknown':
      case 'refused': return reducer.end(fact)
      default: return reducer.next()
    }
  },
  view: state => ({
    stateName: state.word,
    outcome: state.word === 'done' ? 'completed' : state.word === 'failed' ? 'failed' : 'open',
    result: describe(state),
    progress: progressOf(state)
  }),
  refuses: refuseInput
}

function describe ({
  setting: { name, description, maxSteps, terminal, target },
  system,
  messages,
  step,
  reply,
  pendingCommand,
  output,
  text
}: SkillState): SkillResult {
  return { name, description, terminal, target, system, messages, step, maxSteps, pendingCommand, text, lastOutput: lastLines(output), reply: reply ?? null }
}

function progressOf ({ setting: { name, maxSteps }, step, output }: SkillState): Progress {
  return { title: name, step, maxSteps, lastOutput: lastLines(output) }
}

function lastLines (output: string): string {
  return output.split('\n').slice(-SHOWN_LINES).join('\n')
}

const ACTIONS: ReadonlyMap<string, { readonly fits: (awaited: Awaited) => boolean, readonly otherwise: (word: string) => string }> = new Map([
  ['command_result', { fits: ({ kind }) => kind === 'command' || kind === 'verdict', otherwise: () => 'Skill is not waiting for command result' }],
  [
    'skip',
    {
      fits: awaited => awaited.kind === 'command' || awaited.kind === 'verdict' || (awaited.kind === 'answer' && !awaited.required),
      otherwise: () => 'Skill is not waiting for command result'
    }
  ],
  ['again', { fits: ({ kind }) => kind === 'verdict', otherwise: () => 'Skill is not waiting for a decision about a command' }],
  ['without', { fits: awaited => awaited.kind === 'verdict' && awaited.why === 'isBusy', otherwise: () => 'Skill is not waiting for a terminal' }],
  ['continue', { fits: ({ kind }) => kind === 'continue', otherwise: word => `Skill is in state '${word}', not 'idle'` }]
])

/** In the words that existing clients know. */
function refuseInput ({ awaited, word }: SkillState, text: string, action: Action | undefined): Refused | undefined {
  if (action === undefined) return refuseWords(awaited, text)
  const known = ACTIONS.get(action.name)
  if (known === undefined) return { kind: 'invalid', message: `action.name: expected ${[...ACTIONS.keys()].join(', ')}, got "${action.name}"` }
  if (!known.fits(awaited)) return { kind: 'busy', message: known.otherwise(word) }
  return action.name === 'command_result' ? refuseResult(action.data) : undefined
}

function refuseWords (awaited: Awaited, text: string): Refused | undefined {
  if (awaited.kind !== 'answer' && awaited.kind !== 'verdict') return { kind: 'busy', message: 'Skill is not waiting for user input' }
  if (text.trim() !== '' || (awaited.kind === 'answer' && !awaited.required)) return undefined
  return { kind: 'invalid', message: 'text: expected an answer, got nothing: the question is required' }
}

function refuseResult ({ stdout = '', stderr = '', exitCode = 0 }: JsonObject): Refused | undefined {
  if (typeof stdout === 'string' && typeof stderr === 'string' && Number.isInteger(Number(exitCode))) return undefined
  return { kind: 'invalid', message: 'action.data: expected stdout and stderr as texts, and exitCode as a whole number' }
}
