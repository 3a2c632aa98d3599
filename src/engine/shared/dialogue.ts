import { type JsonObject } from '../../base/json.ts'
import { type Moment, type Next } from '../../session/engine.ts'
import { AGENT_TEXTS } from '../texts/agent-texts.ts'
import { COMMAND_WORDS } from '../texts/command-words.ts'
import { clip } from './clip.ts'
import { commandIn } from './commands.ts'
import { type DialogueSetting } from './dialogue-start.ts'
import { type Outcome, type Prefix } from './messages.ts'
import { MAX_MESSAGE, Outbox } from './outbox.ts'
import { type Ended, type Reducer } from './reducer.ts'

/** What the states of all dialogues have. */
export interface DialogueState {
  readonly setting: DialogueSetting
  /** The dialogue hears its user in `await_input` only. */
  readonly step: string
  readonly hasFailed: boolean
  readonly messages: readonly object[]
}

/** One fact of a session of an agent: greeting, commands of the user and the end are the same for every agent. */
export abstract class Dialogue<S extends DialogueState> implements Reducer<S> {
  protected readonly outbox: Outbox
  protected state: S

  constructor (state: S, moment: Moment) {
    this.state = state
    this.outbox = new Outbox(moment)
  }

  /** Shows the help, and waits for the user. */
  start (): Next<S> {
    this.showHelp()
    this.say('start', 'main')
    return this.listen()
  }

  /** The user says something; a dialogue that waits for no user does not hear it. */
  hear (text: string): Next<S> {
    const { step, setting: { language, commands } } = this.state
    if (step !== 'await_input') return this.next()
    switch (commandIn(text, { ...COMMAND_WORDS[language], ...commands })) {
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
        this.state = { ...this.state, messages: [] }
        this.say('clear', 'main')
        return this.listen()
      case 'retry':
      case undefined:
        return this.ask(clip(text.trim(), MAX_MESSAGE))
    }
  }

  abstract end (effect: string, ended: Ended): Next<S>

  next (): Next<S> {
    return { state: this.state, effects: this.outbox.effects, notices: this.outbox.notices }
  }

  /** Begins to answer a question. @param question without outer space, at most 4000 code points */
  protected abstract ask (question: string): Next<S>

  protected abstract showHelp (): void

  protected abstract goTo (step: 'await_input' | 'ended'): Next<S>

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

  protected listen (): Next<S> {
    this.outbox.wait()
    return this.goTo('await_input')
  }

  /** Ends the session as a failure: the model cannot be asked, or understood. */
  protected give (outcome: Outcome, prefix: Prefix, values: JsonObject): Next<S> {
    this.say(outcome, prefix, values)
    this.state = { ...this.state, hasFailed: true }
    return this.goTo('ended')
  }
}
