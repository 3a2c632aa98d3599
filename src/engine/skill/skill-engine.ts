import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
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

/** The time limit for reading the knowledge file, a text on the target (the machine where commands run), in ms. */
const READ_TIMEOUT = 5000

const SECOND = 1000

/**
 * The rules of a skill's session. An instance takes one fact (an input of the user, or the end of a model request, a command or a read), and
 * computes the session's next state, the effects to begin, and the notices for clients.
 */
class SkillReducer extends SkillTurn {
  start (): Next<SkillState> {
    const { setting: { target } } = this.state
    this.log('skill_start', {})
    if (target === '') return this.begin('')
    const effect = this.outbox.readFrom({ from: { target }, requests: KNOWLEDGE_PATHS.map(path => ({ path })), timeout: READ_TIMEOUT })
    return this.goTo('idle', { kind: 'knowledge', effect })
  }

  /** Takes an input of the user. An input that the skill does not wait for changes nothing. */
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

  /** Handles the end of an effect (a model request, a command, a read). An effect that the skill does not wait for changes nothing. */
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

  /** Proposes the last command once more, after it was interrupted or not run. A person's consent was for one run only, so the person is asked again. */
  #runAgain (): Next<SkillState> {
    const { pendingCommand: command } = this.state
    const proposed: ReadableReply = { type: 'CMD', content: `[CMD] ${command}`, command, ...(this.#isFallback ? { fallback: true } : {}) }
    this.state = { ...this.state, reply: proposed }
    return this.follow(proposed)
  }

  #commandEnded (fact: Extract<Fact, { readonly effect: string }>): Next<SkillState> {
    switch (fact.kind) {
      case 'result': return this.#ran(isJsonObject(fact.result) ? fact.result : {}, fact.effect)
      case 'refused': return fact.by === 'person' ? this.#skipped(fact.reason) : this.#denied(fact)
      case 'unknown': return this.#interrupted(fact.command ?? this.state.pendingCommand, fact.effect)
      case 'failure': return this.#notRun(fact)
      default: return this.fail(...whyOf(fact))
    }
  }

  /**
   * Handles the failure of a command. If the terminal did not run the command, the command is proposed again, or the user is asked about it.
   * Every other failure ends the skill.
   */
  #notRun (failure: Extract<Fact, { kind: 'failure' }>): Next<SkillState> {
    switch (failure.code) {
      case 'TERMINAL_GONE':
        this.state = { ...this.state, isWithoutTerminal: true }
        this.outbox.notice('message', { text: TERMINAL_TEXTS[this.state.setting.language].terminalGone })
        return this.#proposeElsewhere()
      // The person allowed the command for one folder, and the terminal is in another folder by now.
      case 'TERMINAL_MOVED': return this.#proposeElsewhere()
      case 'TERMINAL_BUSY': return this.#askBusy()
      default: return this.fail(...whyOf(failure))
    }
  }

  /** Proposes the command again, since it would now run in another folder, or outside the terminal. */
  #proposeElsewhere (): Next<SkillState> {
    return this.#run(this.state.pendingCommand, this.#isFallback ? 'fallback' : 'model')
  }

  /** Asks the user about a command that was not run, because its terminal was busy for too long. */
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

  /** Handles the result of a command that the client ran. The working folder in the skill's state stays as it is, whatever the client reports. */
  #reported (result: JsonObject): Next<SkillState> {
    return this.#ended(result, this.state.cwd)
  }

  /** Whether the last proposed command is a text that the model had not marked as a command. */
  get #isFallback (): boolean {
    const { reply } = this.state
    return reply !== undefined && 'fallback' in reply && reply.fallback === true
  }

  /** Tells the model that a command was not run, or will not be run again. */
  #skipped (reason: string): Next<SkillState> {
    return this.tell(`User skipped the command.${reason === '' ? '' : `\n${reason}`}`)
  }

  /** Tells everybody that the operator's rules, or the session's budget, have kept a command from running. */
  #denied ({ effect, reason, command = this.state.pendingCommand }: Extract<Fact, { kind: 'refused' }>): Next<SkillState> {
    this.outbox.notice('command', { phase: 'denied', command, step: this.state.step, effect, reason })
    return this.tell(`The command was not run. ${reason}`)
  }

  /** Asks the user about an interrupted command. @param command the command that really began: a person may have edited the model's command */
  #interrupted (command: string, effect: string): Next<SkillState> {
    const { setting: { language }, step, pendingCommand } = this.state
    const question = askAbout(command, 'isInterrupted', this.#isFallback, language)
    this.outbox.notice('command', { phase: 'ended', command, step, exitCode: null, outcome: 'unknown', effect })
    this.outbox.notice('ask', { text: question.question, required: true })
    this.state = { ...this.state, reply: question, pendingCommand: command, messages: this.#messagesAsRan(pendingCommand, command) }
    return this.wait('waiting_user', { kind: 'verdict', why: 'isInterrupted' })
  }

  /** Passes to the model what the user says an interrupted command has printed. */
  #told (text: string): Next<SkillState> {
    const { pendingCommand: command } = this.state
    const output = cleanOutputForAI(text, command)
    this.log('skill_command_output', { command })
    this.state = { ...this.state, output }
    return this.tell(`${this.#inPlace(command)}${describeSkillOutput(output, '[Command was interrupted: this is what the user says of it]')}`)
  }

  /**
   * Handles the result of a command, and tells it to the model.
   * @param cwd folder in which the command ended
   * @param effect id of the effect that ran the command; left out when the client ran it
   */
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

  /**
   * The messages of the dialogue after a command ran. If a person edited the model's command, the model's tagged text is replaced by one with
   * the command that ran. A function call of the model stays unchanged.
   */
  #messagesAsRan (proposed: string, command: string): readonly JsonObject[] {
    const { messages, calls } = this.state
    return command === proposed || calls.length > 0 ? messages : [...messages.slice(0, -1), { role: 'assistant', content: `[CMD] ${command}` }]
  }

  /**
   * The remark that tells the model that another command ran in place of the command in its function call; empty when the same command ran,
   * or the model called no function.
   */
  #inPlace (command: string): string {
    const says = nextCall(this.state.calls)?.says
    return says?.type !== 'CMD' || says.command === command ? '' : `The user ran another command in its place: ${command}\n`
  }
}

/** The place where a command runs: in the skill's terminal, if it has one, else in the folder in which the last command ended. */
function placeOfCommand ({ setting: { inTerminal }, isWithoutTerminal, cwd }: SkillState): Pick<ExecEffect, 'terminal' | 'cwd'> {
  if (inTerminal !== undefined && isWithoutTerminal !== true) return { terminal: inTerminal }
  return cwd === '' ? {} : { cwd }
}

/** The remark that tells the model that the user has changed the terminal's folder since the last command; empty when the user has not. */
function describeSkillMove ({ cwd }: SkillState, result: JsonObject): string {
  const begunIn = textOf(result['begunIn'])
  return begunIn !== '' && cwd !== '' && begunIn !== cwd ? `\n[The user had changed the folder to ${begunIn}]` : ''
}

function whyOf (fact: Extract<Fact, { readonly effect: string }>): [code: string, message: string] {
  if (fact.kind === 'failure') return [fact.code, fact.message]
  return fact.kind === 'refused' ? ['REFUSED', fact.reason] : ['UNKNOWN', unknownOutcome(fact.kind === 'unknown' ? fact.reason : undefined)]
}

function textOf (value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/**
 * The paths of the knowledge file: a text on a target (the machine where commands run) that tells models about it. The first path that
 * exists counts. The spelling comes from existing clients and stays.
 */
const KNOWLEDGE_PATHS = ['./.kosmos-panel/ai_system_promt.md', '~/.config/kosmos-panel/ai_system_promt.md'] as const

/** The text of the target's knowledge file, from the result of reading it; empty when the target has none. */
function knowledgeOf (result: Json): string {
  const files = isJsonObject(result) && Array.isArray(result['files']) ? (result['files'] as readonly Json[]).filter(isJsonObject) : []
  for (const path of KNOWLEDGE_PATHS) {
    const text = files.find(file => file['path'] === path)?.['text']
    if (text !== undefined) return typeof text === 'string' ? text.trim() : ''
  }
  return ''
}

/** The largest length of a command's output in a message to the model, in UTF-16 units; a longer one loses its middle. */
const MAX_OUTPUT = 16_000

/** The result of a command, cleaned for the model. */
interface CommandResult {
  /** The command that ran. It differs from the model's command when a person has edited it. */
  readonly command: string
  readonly exitCode: Json
  readonly outcome: Json
  /** The output, without escape sequences. */
  readonly output: string
  /** Whether the command ended by itself with the exit code 0. */
  readonly isGood: boolean
}

/**
 * Reads the result of a command.
 * @param proposed the command that the model asked for
 * @param isReported whether a client reports it, perhaps copied from a shell with its prompts, and not the service's executor
 */
function readCommandResult (result: JsonObject, proposed: string, isReported: boolean): CommandResult {
  const command = textOf(result['command']) === '' ? proposed : textOf(result['command'])
  const { exitCode = 0, outcome = 'exited' } = result
  const printed = [textOf(result['stdout']).replace(/\r?\n$/, ''), textOf(result['stderr'])].filter(text => text !== '').join('\n')
  const output = cleanOutputForAI(printed, isReported ? command : '')
  return { command, exitCode, outcome, output, isGood: outcome === 'exited' && exitCode === 0 }
}

/** The message that tells the model the result of a command. @param timeout of the command, in seconds */
function describeSkillResult ({ exitCode, outcome, output }: CommandResult, timeout: number): string {
  const failure = exitCode === 0 ? '' : `[Exit code: ${String(exitCode)}]`
  const late = `[Command timed out after ${timeout}s]`
  return describeSkillOutput(output, outcome === 'cancelled' ? '[Command was interrupted]' : outcome === 'timeout' ? late : failure)
}

/** The message that tells the model the output of a command. @param remark how the command ended; empty when it ended with the exit code 0 */
function describeSkillOutput (output: string, remark: string): string {
  return `Command output:\n${cutMiddle(output, MAX_OUTPUT)}${remark === '' ? '' : `\n${remark}`}`
}

/** The number of lines of the last command's output that clients are shown. */
const SHOWN_LINES = 7

/**
 * The engine of skills. A skill is a file SKILL.md with instructions, carried out step by step: the model replies with commands, questions or messages, and
 * people decide about its commands.
 */
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

/** The actions that a user can send to a skill: for each, when it is allowed, and the message that refuses it at another time. */
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

/** The reason why a skill refuses a user's input now, in the words that existing clients know; `undefined` when it takes the input. */
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
