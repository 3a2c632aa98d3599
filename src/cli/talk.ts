import { createWriteStream } from 'node:fs'
import type { Command } from 'commander'
import { type JsonObject, listOf, objectOf, textOf } from '../base/json.ts'
import { revealHidden } from '../base/text.ts'
import { isConsent } from '../engine/texts.ts'
import { ENDED, type Status } from '../session/model.ts'
import { type ApiClient, ApiError } from './api-client.ts'
import { chooseCommand, CommandByHand } from './command-by-hand.ts'
import { askYesOrNo, type Cli, type Lines, openLines } from './context.ts'
import { type DecisionInput, type DialogueEvent, type DialogueInput, Dialogues, type DialogueView } from './dialogue.ts'
import { DIFF_ANSWERS, EventPrinter, showEvent, showMessage, ShownChange, type WriteLog } from './event-printer.ts'
import type { LocalService } from './local.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'

/** As the API names it: the user is to run a command by hand. */
const BY_HAND = 'waiting_cmd'

/** As the API names it. */
const DIFF_WAITS = 'awaiting_confirmation'

interface TerminalSessionOptions {
  readonly dialogues: Dialogues
  readonly lines: Lines
  readonly output: Output
  readonly cli: Cli
  readonly readLine: (line: string, word: string) => DialogueInput
  readonly writeLog: WriteLog
  /** What the user may type, shown before the first prompt. @default nothing */
  readonly hint?: string
  /** `--yes`: applies each diff unasked, once the whole diff was shown. @default false */
  readonly agrees?: boolean
}

interface WaitingState {
  readonly status: string
  readonly word: string
  /** Paths left as they were by the last undo or redo, because somebody else had changed them. */
  readonly missed: number
  /** `undefined` if there was none since the user's last input. */
  readonly failed: string | undefined
}

export class TalkSession {
  readonly #options: TerminalSessionOptions
  #id = ''
  #command = ''
  readonly #printer: EventPrinter
  readonly #byHand: CommandByHand
  readonly #change: ShownChange
  #missed = 0
  #failed: string | undefined
  #isHinted = false
  #turn: JsonObject = {}
  readonly #answered = new Set<string>()

  constructor (options: TerminalSessionOptions) {
    this.#options = options
    const { cli, dialogues, lines, output, writeLog } = options
    this.#change = new ShownChange(dialogues, output)
    this.#printer = new EventPrinter(output, writeLog, async place => await dialogues.printed(this.#id, place))
    this.#byHand = new CommandByHand({ cli, lines, output, printer: this.#printer })
  }

  /** @returns a session that waits after the user has left @throws CliError, also when it failed, or its events end too early */
  async hold ({ id, status, word, seq, asked }: DialogueView): Promise<WaitingState | undefined> {
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

  #left (status: string, word: string): WaitingState {
    return { status, word, missed: this.#missed, failed: this.#failed }
  }

  /** @returns false if the user does not answer a question */
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

  #keep ({ type, data }: DialogueEvent): void {
    if (type === 'files' && data['stage'] !== 'preview') this.#missed = listOf(data['conflicts']).length
    if (type === 'command' && data['phase'] === 'proposed') this.#command = textOf(data['command'])
  }

  /** An input of the user begins a new turn. */
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

  async #tellTurn (): Promise<void> {
    const { output } = this.#options
    if (output.wantsJson && Object.keys(this.#turn).length > 0) await output.jsonLine({ type: 'turn', data: this.#turn })
    this.#turn = {}
  }

  /** @returns false if the user does not answer */
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

  /** Without the right to decide the session waits for another; a changed effect is asked again. @returns false without an answer */
  async #sendDecision (effect: string, decided: DecisionInput, session: string): Promise<boolean> {
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

  /** @returns false if the user does not answer */
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

  async #recall (seq: number): Promise<void> {
    const { dialogues, output } = this.#options
    const past = (await dialogues.lastMessages(this.#id)).filter(message => Number(message['seq']) <= seq)
    for (const message of past.slice(Math.max(0, past.findLastIndex(({ role }) => role === 'user')))) {
      if (output.wantsJson) await output.jsonLine({ type: 'earlier', data: message })
      else await showMessage(message, output)
      if (message['role'] === 'assistant' && message['command'] !== undefined) this.#command = textOf(message['command'])
    }
  }

  async #recallDiff (): Promise<void> {
    const { output, agrees } = this.#options
    await this.#change.finish(this.#id)
    if (agrees !== true && !output.wantsJson) await output.words(DIFF_ANSWERS)
  }

  /** @returns false if the user does not answer */
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

  /** An input that accepts the shown diff has its digest. */
  #read (line: string, word: string): DialogueInput {
    const { digest } = this.#change
    return word === DIFF_WAITS && digest !== undefined && isConsent(line) ? this.#consent(digest) : this.#options.readLine(line, word)
  }

  #consent (digest: string | undefined): DialogueInput {
    return { action: { name: 'apply', data: digest === undefined ? {} : { digest } } }
  }

  async #answerCommand (): Promise<boolean> {
    for (;;) {
      const said = await this.#byHand.ask(this.#command)
      if (said === undefined) return false
      if (await this.#say(said)) return true
    }
  }

  /** @returns false if the session refuses the input and still waits for one */
  async #say (said: DialogueInput, session = this.#id): Promise<boolean> {
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

interface AskedBelow {
  readonly session: string
  readonly title: string
  /** As the events that the child session itself would send. */
  readonly approvals: readonly DialogueEvent[]
  readonly question: { readonly word: string, readonly text: string } | undefined
}

/** @param answered gets the keys of new questions @returns `undefined` if there is no new question */
function askBelow (data: JsonObject, answered: Set<string>): AskedBelow | undefined {
  const { session: id = '', definition = '', path = [], ask: given } = data
  if (given === undefined) return undefined
  const session = textOf(id)
  const ask = objectOf(given)
  const approvals = listOf(ask['approvals'] ?? []).map(objectOf).filter(({ id: approval = '' }) => !answered.has(textOf(approval)))
  for (const { id: approval = '' } of approvals) answered.add(textOf(approval))
  const place = `${session}:${String(ask['seq'])}`
  const isNew = ask['word'] !== undefined && !answered.has(place)
  if (isNew) answered.add(place)
  const question = isNew ? { word: textOf(ask['word']), text: textOf(ask['text']) } : undefined
  if (approvals.length === 0 && question === undefined) return undefined
  const line = listOf(path).map(textOf).join(' > ')
  return {
    session,
    title: `${line === '' ? textOf(definition) : line} (session ${session}) waits for you:`,
    approvals: approvals.map(({ id: approval = '', rule = '', digest = '', effect = {} }) => ({
      type: 'approval',
      data: { rule, digest, ...objectOf(effect), effect: textOf(approval).slice(session.length + 1) }
    })),
    question
  }
}

/** @returns `undefined` when the input has ended; `elsewhere` for a question that this command cannot answer */
async function answerBelow (
  session: string,
  { word, text }: NonNullable<AskedBelow['question']>,
  { dialogues, lines, output }: { readonly dialogues: Pick<Dialogues, 'preview'>, readonly lines: Lines, readonly output: Output }
): Promise<DialogueInput | 'elsewhere' | undefined> {
  if (word === 'waiting_cmd') {
    await output.words(`its commands are run by hand: aps skill resume ${session}`)
    return 'elsewhere'
  }
  const change = new ShownChange(dialogues, output)
  if (word === 'awaiting_confirmation') await change.finish(session)
  if (text !== '' && !output.wantsJson) await output.said(text)
  else if (word === 'awaiting_confirmation' && !output.wantsJson) await output.words(DIFF_ANSWERS)
  const line = await lines.next()
  if (line === undefined) return undefined
  const { digest } = change
  return digest !== undefined && isConsent(line) ? { action: { name: 'apply', data: { digest } } } : { text: line }
}

export interface SessionLaunch {
  /** Such as `agents/helper`; `plans/` stands for all plan profiles. */
  readonly definition: string
  /** @returns the id of the session @throws CliError */
  start (api: ApiClient): Promise<string>
  resume (id: string): string
  /** Whether the user may leave; else the session waits for an answer, and the command ends with an error. */
  isSettled (word: string): boolean
  /** With turns, a failed one is an error only for scripts: at a terminal the person has read it. @default false */
  readonly hasTurns?: boolean
  readonly hint: string
}

export interface TalkOptions { readonly resume?: string | boolean, readonly log?: string, readonly verbose?: boolean, readonly local?: boolean }

export function addTalkOptions (command: Command): Command {
  return addLogOption(command.option('--resume [session]', 'go on with a dialogue, the last one when none is named'))
}

export function addLogOption (command: Command): Command {
  return addLocalOption(command).option('--log <file>', 'write the detailed log there').option('--verbose', 'print the detailed log to stderr')
}

export function addLocalOption (command: Command): Command {
  return command.option('--local', 'ask no service, but do its work here, over STORE_DIR or REDIS_URL')
}

/** @throws CliError, also when the session is left with an open question */
export async function talk (beginning: SessionLaunch, { options, cli, command, readLine, agrees = false }: {
  options: TalkOptions
  cli: Cli
  command: Command
  readLine: TerminalSessionOptions['readLine']
  agrees?: TerminalSessionOptions['agrees']
}): Promise<void> {
  const { resume, log: file, verbose, local: isLocal = false } = options
  const { output } = cli.open(command)
  const place = placeOptions(command, isLocal)
  const log = openLog(file, verbose === true, output)
  const writeLog = (line: string, fields: object) => log.write(`${line} ${JSON.stringify(fields)}`)
  const { api, close } = isLocal ? await openLocal(cli, writeLog) : { api: cli.open(command).api, close: async () => {} }
  const dialogues = new Dialogues(beginning.definition, api)
  const lines = openLines(cli, output)
  try {
    const state = await (resume === undefined ? begin() : dialogues.find(typeof resume === 'string' ? resume : undefined)).catch((error: unknown) => {
      if (!isUnreachable(error)) throw error
      const held = error instanceof ApiError && error.code === 'SESSIONS_UNAVAILABLE'
      const hint = isLocal ? held ? '; a service that keeps its sessions there is asked with --url' : '' : '; --local does without one'
      throw new CliError(EXIT.UNREACHABLE, `${error.message}${hint}`)
    })
    if (isEnded(state)) throw new CliError(EXIT.NO, `session ${state.id} has ended: ${state.status}`)
    if (output.wantsJson) await output.jsonLine({ type: 'session', data: { id: state.id } })
    else await output.words(`session ${state.id}`)
    const onwards = `${beginning.resume(state.id)}${place}`
    const session = new TalkSession({ dialogues, lines, output, cli, readLine, writeLog: log.write, hint: beginning.hint, agrees })
    const left = await session.hold(state).catch((error: unknown) => {
      if (cli.signal.aborted) return undefined
      throw isUnreachable(error) ? new CliError(EXIT.UNREACHABLE, `${error.message}; to go on: ${onwards}`) : error
    })
    if (cli.signal.aborted) return await output.words(`to go on: ${onwards}`)
    if (left === undefined) return
    if (left.status !== 'waiting_input' || !beginning.isSettled(left.word)) throw new CliError(EXIT.NO, `the session waits for an answer; to go on: ${onwards}`)
    const missed = left.missed === 1 ? '1 path is as somebody else has left it' : `${left.missed} paths are as somebody else has left them`
    if (left.missed > 0) throw new CliError(EXIT.NO, `not all was done: ${missed}; to go on: ${onwards}`)
    // A person at a terminal has read the error of the failed turn; a script sees only the exit code.
    const isRead = beginning.hasTurns === true && (cli.stdin as { readonly isTTY?: boolean }).isTTY === true
    if (left.failed !== undefined && !isRead) throw new CliError(EXIT.NO, `the last turn has failed: ${left.failed}; to go on: ${onwards}`)
    await output.words(`to go on: ${onwards}`)
  } finally {
    lines.close()
    await close()
    log.close()
  }

  async function begin (): Promise<DialogueView> {
    return { id: await beginning.start(api), status: 'running', word: '', seq: 0, asked: [] }
  }
}

/** @throws CliError */
function placeOptions (command: Command, isLocal: boolean): string {
  const { url, at } = command.optsWithGlobals<{ readonly url?: string, readonly at?: string }>()
  if (isLocal && (url ?? at) !== undefined) throw usageError('expected --local, or a service by --url or --at: not both')
  return isLocal ? ' --local' : `${url === undefined ? '' : ` --url ${url}`}${at === undefined ? '' : ` --at ${at}`}`
}

/** The session itself may go on then. */
function isUnreachable (error: unknown): error is CliError {
  return error instanceof CliError && error.exitCode === EXIT.UNREACHABLE
}

function isEnded ({ status }: DialogueView): boolean {
  return ENDED.has(status as Status)
}

/** @param write gets warnings and errors of the service; all else is dropped */
export async function openLocal (cli: Cli, write: (line: string, fields: object) => void | Promise<void>): Promise<LocalService> {
  const local = await import('./local.ts')
  const at = (level: string) => (fields: object, message: string): void => { void write(`${level} ${message}`, fields) }
  return await local.openLocal(cli, { debug () {}, info () {}, warn: at('warning'), error: at('error') })
}

function openLog (file: string | undefined, isVerbose: boolean, output: Output): { readonly write: WriteLog, close (): void } {
  if (file === undefined) return { write: isVerbose ? line => output.words(line) : () => {}, close () {} }
  const stream = createWriteStream(file, { flags: 'a' })
  let problem: Error | undefined
  stream.on('error', error => { problem = error })
  return {
    write (line) {
      if (problem !== undefined) throw usageError(`--log: ${problem.message}`)
      stream.write(`${new Date().toISOString()} ${revealHidden(line)}\n`)
    },
    close () { stream.end() }
  }
}
