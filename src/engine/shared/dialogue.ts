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

/** Why a turn has not come to what its user wanted. */
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
  /** Whether another session asks, once. */
  readonly isChild?: true
  readonly messages: readonly object[]
  /** Of the last turn. */
  readonly error: TurnError | undefined
  /** What the model is asked for again when the user says so; only after the model has failed. */
  readonly retry: string | undefined
  /** How often the model was sent back an answer since it was last asked for something new. */
  readonly repaired: number
  /** What it was sent back: its words, and what is wrong with them. */
  readonly corrections: readonly JsonObject[]
  /** What the user was answered in the last turn. */
  readonly answer: string | undefined
}

/** What a dialogue begins with. */
export const NOTHING_SAID = {
  hasFailed: false,
  messages: [],
  error: undefined,
  retry: undefined,
  repaired: 0,
  corrections: [],
  answer: undefined
} as const satisfies Omit<DialogueState, 'setting' | 'step'>

/** How a turn fails that the model has spoilt. */
interface Spoilt {
  readonly step: 'classify' | 'select' | 'answer'
  readonly prefix: Prefix
  readonly cause: 'MODEL_FAILED' | 'MODEL_UNREADABLE'
  readonly reason: string
  /** Of the failure. */
  readonly code?: string
  /** See `DialogueState`. */
  readonly retry: string
}

/** One fact of a session of an agent: greeting, commands of the user and the end are the same for every agent. */
export abstract class Dialogue<S extends DialogueState> implements Reducer<S> {
  protected readonly outbox: Outbox
  protected state: S

  constructor (state: S, moment: Moment) {
    this.state = state
    this.outbox = new Outbox(moment)
  }

  /** Shows the help, and waits for the user. @param task what another session asks: that is answered, and nobody is waited for */
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
        // Where nothing has failed, it is a message as any other.
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
   * Says what a row of the table says.
   * @param own the text of the definition's tool
   * @returns what the user was shown, if anything
   */
  protected say (outcome: Outcome, prefix: Prefix, values: JsonObject = {}, own?: string): string | undefined {
    const { language, messages } = this.state.setting
    return this.outbox.say(outcome, prefix, { ...AGENT_TEXTS[language], ...messages }, values, own)
  }

  protected remember (message: S['messages'][number]): void {
    this.state = { ...this.state, messages: [...this.state.messages, message] }
  }

  /** Keeps what the user was answered. */
  protected reply (text: string): void {
    const { answer } = this.state
    this.state = { ...this.state, answer: answer === undefined ? text : `${answer}\n${text}` }
  }

  protected listen (): Next<S> {
    if (this.state.isChild === true) return this.#endOfChild()
    this.outbox.wait()
    return this.goTo('await_input')
  }

  /** A child answers once. What it says of a call that was interrupted is an answer: whoever has asked has to know it. */
  #endOfChild (): Next<S> {
    const { error, answer } = this.state
    return error === undefined || (error.code === 'TOOL_UNKNOWN' && answer !== undefined) ? this.goTo('ended') : this.fail()
  }

  /** In the words of the service, to the model. */
  protected instruction (name: Instruction): string {
    return INSTRUCTIONS[this.state.setting.language][name]
  }

  /**
   * Notes an answer that cannot be read, to be sent back.
   * @param words the answer
   * @param wrong what the model is told
   * @returns false when the model was told so often enough
   */
  protected correct (words: string, wrong: string): boolean {
    const { repaired, corrections, setting: { repairs } } = this.state
    if (repaired >= repairs) return false
    const said = clip(words.trim(), MAX_MESSAGE)
    const correction = [{ role: 'assistant', content: said === '' ? NO_ANSWER : said }, { role: 'user', content: wrong }]
    this.state = { ...this.state, repaired: repaired + 1, corrections: [...corrections, ...correction] }
    return true
  }

  /** Keeps and tells why the turn fails. */
  protected blame (code: TurnError['code'], message: string): void {
    this.state = { ...this.state, error: { code, message } }
    this.outbox.notice('error', { code, message })
  }

  /** The model cannot be asked, or understood: the turn has failed, or with it the session. */
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

/** Why an action of a user is of no use to a dialogue. */
export function refuseAction ({ step, retry }: DialogueState, action: Action | undefined): Refused | undefined {
  if (action === undefined) return undefined
  if (action.name !== 'retry') return { kind: 'invalid', message: `there is no action "${action.name}" here` }
  return step === 'await_input' && retry !== undefined ? undefined : { kind: 'busy', message: 'there is nothing to ask again: the model has not failed' }
}
