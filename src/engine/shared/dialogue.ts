import { type JsonObject } from '../../base/json.ts'
import { type Moment, type Next, type Refused } from '../../session/engine.ts'
import { type Action } from '../../session/model.ts'
import { AGENT_TEXTS } from '../texts/agent-texts.ts'
import { COMMAND_WORDS } from '../texts/command-words.ts'
import { INSTRUCTIONS, type Instruction } from '../texts/instructions.ts'
import { clip } from './clip.ts'
import { commandIn } from './commands.ts'
import { type DialogueSetting } from './dialogue-start.ts'
import { type Outcome, type Prefix } from './messages.ts'
import { MAX_MESSAGE, Outbox } from './outbox.ts'
import { type Ended, type Reducer } from './reducer.ts'
import { NO_ANSWER } from './sent-history.ts'

/** The error of a turn that did not give the user what was asked for. */
export interface TurnError {
  readonly code: 'MODEL_FAILED' | 'MODEL_UNREADABLE' | 'TOOL_FAILED' | 'TOOL_UNKNOWN' | 'BUDGET_USED'
  readonly message: string
}

/** What the states of all dialogues have. */
export interface DialogueState {
  readonly setting: DialogueSetting
  /** The dialogue hears its user in `await_input` only. */
  readonly step: string
  readonly hasFailed: boolean
  /** Whether the session is a child: its parent asks once, and no user is waited for. */
  readonly isChild?: true
  readonly messages: readonly object[]
  /** The error of the last turn. */
  readonly error: TurnError | undefined
  /** The step in which the model is asked again when the user says `retry`; set only after the model has failed. */
  readonly retry: string | undefined
  /** How many unreadable answers were sent back to the model since it was last asked for something new. */
  readonly repaired: number
  /** The messages that send unreadable answers back to the model: the words of each, then what is wrong with them. */
  readonly corrections: readonly JsonObject[]
  /** What the user was answered in the last turn. */
  readonly answer: string | undefined
}

/** The initial state of every dialogue. */
export const NOTHING_SAID = {
  hasFailed: false,
  messages: [],
  error: undefined,
  retry: undefined,
  repaired: 0,
  corrections: [],
  answer: undefined
} as const satisfies Omit<DialogueState, 'setting' | 'step'>

/** The failure of a turn whose model did not answer, or gave an unreadable answer. */
interface Spoilt {
  readonly step: 'classify' | 'select' | 'answer'
  readonly prefix: Prefix
  readonly cause: 'MODEL_FAILED' | 'MODEL_UNREADABLE'
  readonly reason: string
  /** The error code of the failure. */
  readonly code?: string
  /** The step in which the model is asked again; see `retry` of `DialogueState`. */
  readonly retry: string
}

/** The part of a reducer that all agents share: greeting, commands of the user, and the end. An instance takes one fact of a session. */
export abstract class Dialogue<S extends DialogueState> implements Reducer<S> {
  protected readonly outbox: Outbox
  protected state: S

  constructor (state: S, moment: Moment) {
    this.state = state
    this.outbox = new Outbox(moment)
  }

  /** Shows the help, and waits for the user. @param task the task of a child session: it is answered at once, without a help or a user */
  start (task?: string): Next<S> {
    if (task !== undefined) {
      this.state = { ...this.state, isChild: true }
      this.say('start', 'main')
      return this.ask(task)
    }
    this.showHelp()
    this.say('start', 'main')
    return this.listen()
  }

  /** The user says something; a dialogue that waits for no user does not hear it. */
  hear (text: string, action?: Action): Next<S> {
    const { step, retry, setting: { language, commands } } = this.state
    if (step !== 'await_input') return this.next()
    const command = action?.name === 'retry' ? 'retry' : commandIn(text, { ...COMMAND_WORDS[language], ...commands })
    this.state = { ...this.state, error: undefined }
    switch (command) {
      case 'nothing':
        return this.listen()
      case 'exit':
        this.say('end', 'main')
        return this.goTo('ended')
      case 'help':
        this.showHelp()
        this.say('help', 'main')
        return this.listen()
      case 'clear':
        this.forget()
        this.say('clear', 'main')
        return this.listen()
      case 'retry':
      case undefined:
        this.state = { ...this.state, retry: undefined, repaired: 0, corrections: [], answer: undefined }
        // Where nothing has failed, `retry` is a message like any other.
        return command === 'retry' && retry !== undefined ? this.askAgain(retry) : this.ask(clip(text.trim(), MAX_MESSAGE))
    }
  }

  abstract end (effect: string, ended: Ended): Next<S>

  next (): Next<S> {
    return { state: this.state, effects: this.outbox.effects, notices: this.outbox.notices }
  }

  /** Begins to answer a question. @param question without outer space, at most 4000 code points */
  protected abstract ask (question: string): Next<S>

  /** Asks the model again for what it has failed at; the user has said nothing new. */
  protected abstract askAgain (retry: string): Next<S>

  protected abstract showHelp (): void

  protected abstract goTo (step: 'await_input' | 'ended'): Next<S>

  /** Goes on with the dialogue after a turn that has failed. */
  protected goOn (): Next<S> {
    return this.listen()
  }

  protected forget (): void {
    this.state = { ...this.state, messages: [], retry: undefined }
  }

  /**
   * Shows the user and logs the texts that the table `ROWS` has for an outcome.
   * @param own the text in the definition of the tool, which replaces that of the row
   * @returns what the user was shown, if anything
   */
  protected say (outcome: Outcome, prefix: Prefix, values: JsonObject = {}, own?: string): string | undefined {
    const { language, messages } = this.state.setting
    return this.outbox.say(outcome, prefix, { ...AGENT_TEXTS[language], ...messages }, values, own)
  }

  protected remember (message: S['messages'][number]): void {
    this.state = { ...this.state, messages: [...this.state.messages, message] }
  }

  /** Adds a text to the answer that the user got in this turn. */
  protected reply (text: string): void {
    const { answer } = this.state
    this.state = { ...this.state, answer: answer === undefined ? text : `${answer}\n${text}` }
  }

  protected listen (): Next<S> {
    if (this.state.isChild === true) return this.#endOfChild()
    this.outbox.wait()
    return this.goTo('await_input')
  }

  /** Ends a child session after its one answer. A text about an interrupted call is an answer too: the parent has to know of the interruption. */
  #endOfChild (): Next<S> {
    const { error, answer } = this.state
    return error === undefined || (error.code === 'TOOL_UNKNOWN' && answer !== undefined) ? this.goTo('ended') : this.fail()
  }

  /** An instruction to the model in the service's own words, in the language of the agent. */
  protected instruction (name: Instruction): string {
    return INSTRUCTIONS[this.state.setting.language][name]
  }

  /**
   * Keeps an unreadable answer of the model, so that the next request sends it back.
   * @param words the answer
   * @param wrong what the model is told
   * @returns false when the repairs that the agent allows are used up
   */
  protected correct (words: string, wrong: string): boolean {
    const { repaired, corrections, setting: { repairs } } = this.state
    if (repaired >= repairs) return false
    const said = clip(words.trim(), MAX_MESSAGE)
    const correction = [{ role: 'assistant', content: said === '' ? NO_ANSWER : said }, { role: 'user', content: wrong }]
    this.state = { ...this.state, repaired: repaired + 1, corrections: [...corrections, ...correction] }
    return true
  }

  /** Keeps the error of the turn in the state, and reports it. */
  protected blame (code: TurnError['code'], message: string): void {
    this.state = { ...this.state, error: { code, message } }
    this.outbox.notice('error', { code, message })
  }

  /** Fails the turn, because the model did not answer or gave an unreadable answer. The session fails with it where `onError` is `end`. */
  protected give ({ step, prefix, cause, reason, code, retry }: Spoilt): Next<S> {
    const isEnd = this.state.setting.onError === 'end'
    const values = { reason, ...(code === undefined ? {} : { code }) }
    this.say(`${step}${OUTCOMES[cause][isEnd ? 'end' : 'listen']}`, prefix, values)
    this.blame(cause, reason)
    if (isEnd) return this.fail()
    this.state = { ...this.state, retry }
    return this.goOn()
  }

  /** Ends a session that has used up its budget. */
  protected spend (reason: string): Next<S> {
    this.say('budgetUsed', 'main', { reason })
    this.blame('BUDGET_USED', reason)
    return this.fail()
  }

  protected fail (): Next<S> {
    this.state = { ...this.state, hasFailed: true }
    return this.goTo('ended')
  }
}

const OUTCOMES = { MODEL_FAILED: { end: 'Failed', listen: 'Silent' }, MODEL_UNREADABLE: { end: 'Unreadable', listen: 'Unclear' } } as const

/** The reason why a dialogue refuses an action of a user; `undefined` for an action that it takes. */
export function refuseAction ({ step, retry }: DialogueState, action: Action | undefined): Refused | undefined {
  if (action === undefined) return undefined
  if (action.name !== 'retry') return { kind: 'invalid', message: `there is no action "${action.name}" here` }
  return step === 'await_input' && retry !== undefined ? undefined : { kind: 'busy', message: 'there is nothing to ask again: the model has not failed' }
}
