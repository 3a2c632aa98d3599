import { isConsent } from '../../engine/texts/consent.ts'
import { chooseCommand } from '../choose-command.ts'
import { type Cli } from '../cli.ts'
import { type JsonObject } from '../../base/json.ts'
import { answerBelow, askBelow } from './ask-below.ts'
import { CommandByHand } from './command-by-hand.ts'
import { type Decided, type DialogueEvent, type Dialogues, type DialogueState, type Said } from './dialogue.ts'
import { EventPrinter, type WriteLog } from './event-printer.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { listOf, textOf } from '../json-members.ts'
import { askYesOrNo, type Lines } from '../lines.ts'
import { type Output } from '../output.ts'
import { DIFF_ANSWERS, ShownChange } from '../show-preview.ts'
import { showEvent, showMessage } from './show-event.ts'

/** The state, as the API names it, of a session that waits until its user has run a command by hand. */
const BY_HAND = 'waiting_cmd'

/** The state, as the API names it, of a plan that waits for its user's consent to a diff. */
const DIFF_WAITS = 'awaiting_confirmation'

export interface TerminalSessionOptions {
  readonly dialogues: Dialogues
  readonly lines: Lines
  readonly output: Output
  readonly cli: Cli
  /** Converts a line that the user has typed into an input for the session. @param word the state in which the session waits */
  readonly readLine: (line: string, word: string) => Said
  readonly writeLog: WriteLog
  /** What the user may type, shown before the first prompt. @default nothing */
  readonly hint?: string
  /** Whether the session applies each diff without asking the user, once the whole diff was shown (`--yes`). @default false */
  readonly agrees?: boolean
}

/** The state of a session that still waits after its user has left. */
export interface Left {
  readonly status: string
  readonly word: string
  /** How many paths the last undo or redo of the plan's change did not change, because somebody else had changed them. */
  readonly missed: number
  /** The code of the last error; `undefined` if there was none since the user's last input. */
  readonly failed: string | undefined
}

/**
 * A session on a terminal. It shows what the session says, and asks the user whenever the session waits, until the session ends or the user
 * leaves.
 */
export class TerminalSession {
  readonly #options: TerminalSessionOptions
  #id = ''
  /** The command that the session has proposed last, for the user to run by hand. */
  #command = ''
  readonly #printer: EventPrinter
  readonly #byHand: CommandByHand
  readonly #change: ShownChange
  /** How many paths the last undo or redo of the plan's change did not change, because somebody else had changed them. */
  #missed = 0
  /** The code of the last error; `undefined` if there was none since the user's last input. */
  #failed: string | undefined
  #isHinted = false
  /** The result of the current turn (the user's last input and all that followed), which is printed as JSON for programs. */
  #turn: JsonObject = {}
  /** The questions of child sessions that the user was asked already, each by the key that `askBelow` gives it. */
  readonly #answered = new Set<string>()

  constructor (options: TerminalSessionOptions) {
    this.#options = options
    const { cli, dialogues, lines, output, writeLog } = options
    this.#change = new ShownChange(dialogues, output)
    this.#printer = new EventPrinter(output, writeLog, async place => await dialogues.printed(this.#id, place))
    this.#byHand = new CommandByHand({ cli, lines, output, printer: this.#printer })
  }

  /**
   * Talks with the user until the session ends or the user leaves.
   * @returns the state of a session that still waits after the user has left; `undefined` for a session that has ended
   * @throws CliError, also when the session has failed, and when its events end before the session does
   */
  async hold ({ id, status, word, seq, asked }: DialogueState): Promise<Left | undefined> {
    this.#id = id
    try {
      if (seq > 0) await this.#recall(seq)
      for (const event of asked) if (!await this.#take(event)) return this.#left(status, word)
      if (status === 'waiting_input' && word === DIFF_WAITS) await this.#recallDiff()
      if (status === 'waiting_input' && seq > 0 && !await this.#answer(word)) return this.#left(status, word)
      for await (const event of this.#options.dialogues.events(id, seq)) {
        if (!await this.#take(event)) {
          const isDecision = event.type === 'approval' || event.type === 'live'
          return this.#left(isDecision ? 'waiting_approval' : 'waiting_input', textOf(event.data['word']))
        }
        if (event.type === 'done') return
      }
    } finally {
      await this.#byHand.close()
    }
    throw new CliError(EXIT.UNREACHABLE, `nobody tells of session ${id} any more; it may go on`)
  }

  #left (status: string, word: string): Left {
    return { status, word, missed: this.#missed, failed: this.#failed }
  }

  /** Handles one event of the session. @returns false if the session asks a question and the user does not answer */
  async #take (event: DialogueEvent): Promise<boolean> {
    const { type, data } = event
    if (type === 'files' && data['stage'] === 'preview') this.#change.begin(data)
    if ((type === 'approval' && data['kind'] === 'apply') || (type === 'state' && data['word'] === DIFF_WAITS)) await this.#change.finish(this.#id)
    this.#note(event)
    await this.#printer.show(event)
    if (type === 'live') return data['type'] !== 'child' || await this.#askedBelow(data)
    this.#keep(event)
    if (type === 'approval' && data['rule'] !== undefined) return await this.#decide(event)
    if (type === 'state' && data['status'] === 'waiting_input') {
      await this.#tellTurn()
      return await this.#answer(textOf(data['word']))
    }
    if (type === 'done' && data['status'] !== 'completed') {
      throw new CliError(EXIT.NO, `the dialogue has ${data['status'] === 'failed' ? 'failed' : `ended: ${textOf(data['status'])}`}`)
    }
    return true
  }

  /** Records the command that an event proposes, or the number of paths that an undo or redo of a plan's change left as they were. */
  #keep ({ type, data }: DialogueEvent): void {
    if (type === 'files' && data['stage'] !== 'preview') this.#missed = listOf(data['conflicts']).length
    if (type === 'command' && data['phase'] === 'proposed') this.#command = textOf(data['command'])
  }

  /** Adds the answer or the error in an event to the result of the turn (the user's input and the answer to it). An input of the user begins a new turn. */
  #note ({ type, data }: DialogueEvent): void {
    if (type === 'input') {
      this.#turn = {}
      this.#failed = undefined
    }
    const { content, value, finishReason } = data
    if (type === 'message' && content !== undefined) {
      this.#turn = { ...this.#turn, answer: content, ...(value === undefined ? {} : { value }), ...(finishReason === undefined ? {} : { finishReason }) }
    }
    if (type !== 'error') return
    this.#failed = textOf(data['code'])
    this.#turn = { ...this.#turn, error: { code: data['code'] ?? null, message: data['message'] ?? null } }
  }

  /** With `--json`, prints the result of the turn (the user's input and the answer to it) as one line; prints nothing for a turn without a result. */
  async #tellTurn (): Promise<void> {
    const { output } = this.#options
    if (output.wantsJson && Object.keys(this.#turn).length > 0) await output.jsonLine({ type: 'turn', data: this.#turn })
    this.#turn = {}
  }

  /**
   * Asks the user whether the session is allowed to perform an effect (a command or another action), and sends the decision. For a command
   * there are several choices.
   * @returns false if the user does not answer
   */
  async #decide ({ data }: DialogueEvent, session = this.#id): Promise<boolean> {
    const [effect, digest] = [textOf(data['effect']), textOf(data['digest'])]
    if (data['kind'] !== 'exec') {
      const isAllowed = await askYesOrNo(this.#options.lines, this.#options.output)
      return isAllowed !== undefined && await this.#sendDecision(effect, { decision: isAllowed ? 'approve' : 'reject', digest }, session)
    }
    const command = textOf(data['command'])
    const choice = await chooseCommand(command, 'run it?', ['run', 'edit', 'skip', 'cancel'], this.#options)
    switch (choice?.kind) {
      case undefined: return false
      case 'cancel': return await this.#say('cancel', session)
      case 'run': {
        const edited = choice.command === command ? {} : { command: choice.command }
        return await this.#sendDecision(effect, { decision: 'approve', digest, ...edited }, session)
      }
      default: return await this.#sendDecision(effect, { decision: 'reject', digest }, session)
    }
  }

  /**
   * Sends the user's decision about an effect (an action of the session that needs approval). If the user has no right to decide, the
   * session waits for somebody who has. If the effect has changed meanwhile, the user is asked about the changed effect.
   * @returns false if the user does not answer the new question
   */
  async #sendDecision (effect: string, decided: Decided, session: string): Promise<boolean> {
    const { dialogues, output } = this.#options
    this.#failed = undefined
    try {
      await dialogues.decide(session, effect, decided)
      return true
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode === EXIT.UNREACHABLE) throw error
      await output.words(error.message)
      if (error.exitCode === EXIT.TOKEN) {
        await output.words(`somebody else has to: aps skill approve ${session}`)
        return true
      }
      const changed = (await dialogues.find(session)).asked.find(({ type, data }) => type === 'approval' && data['effect'] === effect)
      if (changed === undefined) return true
      if (session === this.#id) return await this.#take(changed)
      await showEvent(changed, output)
      return await this.#decide(changed, session)
    }
  }

  /** Asks the user the open questions of a child session, and sends the answers to the child session. @returns false if the user does not answer */
  async #askedBelow (data: JsonObject): Promise<boolean> {
    const { dialogues, lines, output } = this.#options
    const asked = askBelow(data, this.#answered)
    if (asked === undefined) return true
    if (!output.wantsJson) await output.words(asked.title)
    for (const approval of asked.approvals) {
      if (!output.wantsJson) await showEvent(approval, output)
      if (!await this.#decide(approval, asked.session)) return false
    }
    if (asked.question === undefined) return true
    const said = await answerBelow(asked.session, asked.question, { dialogues, lines, output })
    return said !== undefined && (said === 'elsewhere' || await this.#say(said, asked.session))
  }

  /** Shows the last turn and everything since to a user who resumes a session. @param seq how many transitions (recorded steps) count as past */
  async #recall (seq: number): Promise<void> {
    const { dialogues, output } = this.#options
    const past = (await dialogues.lastMessages(this.#id)).filter(message => Number(message['seq']) <= seq)
    for (const message of past.slice(Math.max(0, past.findLastIndex(({ role }) => role === 'user')))) {
      if (output.wantsJson) await output.jsonLine({ type: 'earlier', data: message })
      else await showMessage(message, output)
      if (message['role'] === 'assistant' && message['command'] !== undefined) this.#command = textOf(message['command'])
    }
  }

  /** Shows the diff that waits for consent, and the possible answers, to a user who resumes a session. */
  async #recallDiff (): Promise<void> {
    const { output, agrees } = this.#options
    await this.#change.finish(this.#id)
    if (agrees !== true && !output.wantsJson) await output.words(DIFF_ANSWERS)
  }

  /**
   * Asks the user for the input for which the session waits, and sends it.
   * @param word the state in which the session waits
   * @returns false if the user does not answer
   */
  async #answer (word: string): Promise<boolean> {
    if (word === BY_HAND) return await this.#answerCommand()
    if (word === DIFF_WAITS) await this.#change.finish(this.#id)
    if (word === DIFF_WAITS && this.#options.agrees === true && await this.#say(this.#consent(this.#change.digest))) return true
    for (;;) {
      await this.#tellHint()
      const line = await this.#options.lines.next()
      if (line === undefined) return false
      if (await this.#say(this.#read(line, word))) return true
    }
  }

  async #tellHint (): Promise<void> {
    if (!this.#isHinted && this.#options.hint !== undefined) await this.#options.output.prompt(`${this.#options.hint}\n`)
    this.#isHinted = true
  }

  /** Converts a line that the user has typed into an input for the session. If the line accepts the shown diff, the input has the diff's digest. */
  #read (line: string, word: string): Said {
    const { digest } = this.#change
    return word === DIFF_WAITS && digest !== undefined && isConsent(line) ? this.#consent(digest) : this.#options.readLine(line, word)
  }

  #consent (digest: string | undefined): Said {
    return { action: { name: 'apply', data: digest === undefined ? {} : { digest } } }
  }

  async #answerCommand (): Promise<boolean> {
    for (;;) {
      const said = await this.#byHand.ask(this.#command)
      if (said === undefined) return false
      if (await this.#say(said)) return true
    }
  }

  /** Sends the user's input to the session. @returns false if the session refuses the input and still waits for one */
  async #say (said: Said, session = this.#id): Promise<boolean> {
    const { dialogues, output } = this.#options
    this.#failed = undefined
    try {
      await dialogues.say(session, said)
      return true
    } catch (error) {
      if (!(error instanceof CliError) || (error.exitCode !== EXIT.NO && error.exitCode !== EXIT.USAGE)) throw error
      await output.words(error.message)
      return session !== this.#id || (await dialogues.find(session)).status !== 'waiting_input'
    }
  }
}
