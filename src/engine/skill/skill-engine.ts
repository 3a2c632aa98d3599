import { type Json, type JsonObject, objectOf, objectsIn, textOf } from '../../base/json.ts'
import { NO_WORDS } from '../../llm/answer.ts'
import { loggedAnswer } from '../../llm/history.ts'
import type { Engine, Progress, Refused } from '../../session/engine.ts'
import type { Action, Fact } from '../../session/model.ts'
import { cleanOutputForAI, cutMiddle } from '../clip.ts'
import { endedOf, ranAs, Turn, unknownOutcome } from '../reducer.ts'
import { TERMINAL_TEXTS, type WhyAsked } from '../texts.ts'
import { askAbout, type Awaited, SKILL, type SkillResult, type SkillStart, type SkillState, verdictOf } from './skill-state.ts'
import { nextCall, type SkillCall } from './skill-calls.ts'
import type { ReadableReply } from './parse-skill-response.ts'
import {
  askModel, awaitUser, begin, fail, follow, goOnByTexts, goTo, log, onAnswered, onMessageSeen, propose, sendResult, type SkillTurn
} from './skill-turn.ts'

/** In ms. */
const READ_TIMEOUT = 5000

function start (turn: SkillTurn): void {
  const { setting: { target } } = turn.state
  log(turn, 'skill_start', {})
  if (target === '') return begin(turn, '')
  const effect = turn.begin('read', { from: { target }, requests: KNOWLEDGE_PATHS.map(path => ({ path })), timeout: READ_TIMEOUT })
  goTo(turn, 'idle', { kind: 'knowledge', effect })
}

/** Changes nothing where the skill does not wait for it. */
function onInput (turn: SkillTurn, text: string, action: Action | undefined): void {
  const { awaited } = turn.state
  const why = awaited.kind === 'verdict' ? awaited.why : undefined
  const name = action?.name ?? (why === undefined ? undefined : verdictOf(text, why)) ?? ''
  log(turn, 'skill_user_input', { action: name === '' ? 'answer' : name })
  switch (name) {
    case 'skip':
      if (awaited.kind === 'answer') return sendResult(turn, `User response: ${text}`)
      return onSkipped(turn, why === 'isInterrupted' ? `${unknownOutcome('It was interrupted before')}.` : '')
    case 'continue': return onMessageSeen(turn)
    case 'again': return runAgain(turn)
    case 'without':
      turn.set({ isWithoutTerminal: true })
      return runAgain(turn)
    // The working folder stays as it is, whatever the client reports.
    case 'command_result': return onRan(turn, action?.data ?? {}, turn.state.cwd)
    default:
      if (awaited.kind === 'answer') return sendResult(turn, `User response: ${text}`)
      if (why === 'isInterrupted') onToldOutput(turn, text)
      else if (why === 'isBusy') onSkipped(turn, text)
  }
}

type EffectFact = Extract<Fact, { readonly effect: string }>

/** Changes nothing where the skill does not wait for it. */
function onEnded (turn: SkillTurn, fact: EffectFact): void {
  const { awaited, protocol } = turn.state
  if (!('effect' in awaited) || awaited.effect !== fact.effect) return
  switch (awaited.kind) {
    case 'knowledge': return begin(turn, fact.kind === 'result' ? knowledgeOf(fact.result) : '')
    case 'result': return onCommandEnded(turn, fact)
    default:
      if (fact.kind === 'result') return onAnswered(turn, loggedAnswer(fact.result) ?? NO_WORDS, awaited.kind === 'repair')
      if (fact.kind !== 'failure' || fact.code !== 'TOOLS_REFUSED' || protocol === 'text') return fail(turn, ...whyOf(fact))
      goOnByTexts(turn)
      askModel(turn, 'model')
  }
}

/** Consent was for one run only, so the person is asked again. */
function runAgain (turn: SkillTurn): void {
  const { pendingCommand: command } = turn.state
  const proposed: ReadableReply = { type: 'CMD', content: `[CMD] ${command}`, command, ...(isFallback(turn) ? { fallback: true } : {}) }
  turn.set({ reply: proposed })
  follow(turn, proposed)
}

function onCommandEnded (turn: SkillTurn, fact: EffectFact): void {
  switch (fact.kind) {
    case 'result': {
      const result = objectOf(fact.result)
      return onRan(turn, result, textOf(result['cwd']), fact.effect)
    }
    case 'refused': return fact.by === 'person' ? onSkipped(turn, fact.reason) : onDenied(turn, fact)
    case 'unknown': return onInterrupted(turn, fact.command ?? turn.state.pendingCommand, fact.effect)
    case 'failure': return onNotRun(turn, fact)
    default: return fail(turn, ...whyOf(fact))
  }
}

/** What the terminal did not run is proposed again, or asked about. Every other failure ends the skill. */
function onNotRun (turn: SkillTurn, failure: Extract<Fact, { kind: 'failure' }>): void {
  const { pendingCommand, setting: { language } } = turn.state
  switch (failure.code) {
    case 'TERMINAL_GONE':
      turn.set({ isWithoutTerminal: true })
      turn.emit('message', { text: TERMINAL_TEXTS[language].terminalGone })
      return propose(turn, pendingCommand, isFallback(turn) ? 'fallback' : 'model')
    // The person allowed the command for one folder, and the terminal is in another by now.
    case 'TERMINAL_MOVED': return propose(turn, pendingCommand, isFallback(turn) ? 'fallback' : 'model')
    case 'TERMINAL_BUSY': return askVerdict(turn, pendingCommand, 'isBusy')
    default: return fail(turn, ...whyOf(failure))
  }
}

function askVerdict (turn: SkillTurn, command: string, why: WhyAsked): void {
  const question = askAbout(command, why, isFallback(turn), turn.state.setting.language)
  turn.emit('ask', { text: question.question, required: true })
  turn.set({ reply: question })
  awaitUser(turn, 'waiting_user', { kind: 'verdict', why })
}

function isFallback ({ state: { reply } }: SkillTurn): boolean {
  return reply !== undefined && 'fallback' in reply && reply.fallback === true
}

function onSkipped (turn: SkillTurn, reason: string): void {
  sendResult(turn, `User skipped the command.${reason === '' ? '' : `\n${reason}`}`)
}

function onDenied (turn: SkillTurn, { effect, reason, command = turn.state.pendingCommand }: Extract<Fact, { kind: 'refused' }>): void {
  turn.emit('command', { phase: 'denied', command, step: turn.state.step, effect, reason })
  sendResult(turn, `The command was not run. ${reason}`)
}

/** @param command that really began: a person may have edited the model's */
function onInterrupted (turn: SkillTurn, command: string, effect: string): void {
  turn.emit('command', { phase: 'ended', command, step: turn.state.step, exitCode: null, outcome: 'unknown', effect })
  turn.set({ pendingCommand: command, messages: messagesAsRan(turn.state, command) })
  askVerdict(turn, command, 'isInterrupted')
}

function onToldOutput (turn: SkillTurn, text: string): void {
  const { pendingCommand: command, calls } = turn.state
  const output = cleanOutputForAI(text, command)
  log(turn, 'skill_command_output', { command })
  turn.set({ output })
  sendResult(turn, `${inPlace(calls, command)}${describeSkillOutput(output, '[Command was interrupted: this is what the user says of it]')}`)
}

/** @param effect left out when the client ran the command */
function onRan (turn: SkillTurn, result: JsonObject, cwd: string, effect?: string): void {
  const { setting: { timeout }, step, pendingCommand, calls } = turn.state
  const ended = readCommandResult(result, pendingCommand, effect === undefined)
  const { command, exitCode, outcome, output, isGood } = ended
  const moved = describeSkillMove(turn.state, result)
  log(turn, 'skill_command_output', { command })
  turn.emit('command', { phase: 'ended', command, step, exitCode, outcome, ...ranAs(effect, result) })
  turn.set({ output, cwd, messages: messagesAsRan(turn.state, command) })
  sendResult(turn, `${inPlace(calls, command)}${describeSkillResult(ended, timeout)}${moved}`, isGood)
}

/** A command that a person edited replaces the model's tagged text; a function call stays. */
function messagesAsRan ({ messages, calls, pendingCommand }: SkillState, command: string): readonly JsonObject[] {
  return command === pendingCommand || calls.length > 0 ? messages : [...messages.slice(0, -1), { role: 'assistant', content: `[CMD] ${command}` }]
}

/** Tells the model that another command ran in place of its call's; else empty. */
function inPlace (calls: readonly SkillCall[], command: string): string {
  const says = nextCall(calls)?.says
  return says?.type !== 'CMD' || says.command === command ? '' : `The user ran another command in its place: ${command}\n`
}

/** Empty when the user has not changed the terminal's folder since. */
function describeSkillMove ({ cwd }: SkillState, result: JsonObject): string {
  const begunIn = textOf(result['begunIn'])
  return begunIn !== '' && cwd !== '' && begunIn !== cwd ? `\n[The user had changed the folder to ${begunIn}]` : ''
}

function whyOf (fact: EffectFact): [code: string, message: string] {
  if (fact.kind === 'failure') return [fact.code, fact.message]
  return fact.kind === 'refused' ? ['REFUSED', fact.reason] : ['UNKNOWN', unknownOutcome(fact.kind === 'unknown' ? fact.reason : undefined)]
}

/** The first that exists counts. The spelling comes from existing clients and stays. */
const KNOWLEDGE_PATHS = ['./.kosmos-panel/ai_system_promt.md', '~/.config/kosmos-panel/ai_system_promt.md'] as const

function knowledgeOf (result: Json): string {
  const files = objectsIn(result, 'files')
  for (const path of KNOWLEDGE_PATHS) {
    const text = files.find(file => file['path'] === path)?.['text']
    if (text !== undefined) return textOf(text).trim()
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
  begin ({ setting: { skill } }, moment) {
    const turn = new Turn<SkillState>({
      setting: skill,
      word: 'idle',
      awaited: { kind: 'nothing' },
      protocol: skill.protocol,
      knowledge: '',
      system: '',
      messages: [],
      calls: [],
      step: 0,
      pendingCommand: '',
      output: '',
      cwd: '',
      text: ''
    }, moment)
    start(turn)
    return turn
  },
  next (state, fact, moment) {
    const turn = new Turn(state, moment)
    if (fact.kind === 'input') onInput(turn, fact.text, fact.action)
    else if (endedOf(fact) !== undefined) onEnded(turn, fact as EffectFact)
    return turn
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
