import { randomBytes } from 'node:crypto'
import { ExecutorError, refuseInvalid } from '../executor.ts'
import { Bell } from './bell.ts'
import { Marks, type Piece } from './marks.ts'
import { type Pty, type PtyEnd, type PtyOptions, type Size } from '../pty.ts'
import { type Recording } from './recording.ts'
import { type ShellRan, type ShellRunOptions } from './shell-command.ts'
import { setupLine } from './shell-lines.ts'
import { SequenceFilter } from './sequences.ts'
import { ShellState, type TerminalState } from './shell-state.ts'
import { ShownOutput } from './shown-output.ts'
import { ReaderSeat, type TerminalReader } from './terminal-reader.ts'
import { TypedCommands } from './typed-commands.ts'

/** How a terminal ended. `exit`: its shell exited. `ended`: the service ended it. `lost`: the connection was lost, or the shell was killed. */
export interface TerminalEnd {
  readonly reason: 'exit' | 'ended' | 'lost'
  /** The exit code of the shell; null when it is not known. */
  readonly exitCode: number | null
}

export interface TerminalOptions {
  /** The name with which the visible prompt begins. */
  readonly name: string
  readonly size: Size
  readonly open: (options: PtyOptions) => Promise<Pty>
  /** The recording of the terminal's output. @default nothing is recorded */
  readonly recording?: Recording | undefined
  /** The time, in ms, without a key, a command and a reader after which the terminal counts as unused. @default half an hour */
  readonly idle?: number
  /** Called when the terminal has been unused for `idle` ms. */
  readonly onIdle?: () => void
  /** The shell with its arguments. @default bash without its startup files, or sh if there is no bash */
  readonly shell?: readonly string[]
  /** The longest time, in ms, that a command waits until the shell's input line is empty. @default 10 min */
  readonly patience?: number
}

/** The longest waits, in ms: for the first output of a shell, and then for its first prompts. */
const [FIRST_OUTPUT, FIRST_PROMPTS] = [1000, 15_000]

/** The time, in ms, without a key, a command and a reader after which a terminal counts as unused. */
const IDLE = 30 * 60_000

/** The most output before the first prompt (the greeting) that is kept, in UTF-16 units. */
const MAX_GREETING = 64 * 1024

/** A shell in a terminal. A person types into it, and commands of skills run in it. */
export class Terminal {
  /** Resolves when the terminal has ended. */
  readonly ended: Promise<TerminalEnd>
  readonly #pty: Pty
  readonly #options: TerminalOptions
  readonly #secret = randomBytes(16).toString('hex')
  readonly #marks = new Marks(this.#secret)
  readonly #decoder = new TextDecoder()
  readonly #shell: ShellState
  readonly #filter = new SequenceFilter()
  readonly #shown = new ShownOutput()
  readonly #seat: ReaderSeat
  /** The last part of the output before the first prompt, such as a greeting or an error. */
  #greeting = ''
  /** The output since a person last pressed Enter, or since a command of a skill began, up to the next prompt. */
  #lastOutput = new ShownOutput()
  #isPrompting = false
  #folder = ''
  readonly #commands: TypedCommands
  /** Wakes waiting commands when the shell's state has changed, so that they look at the state again. */
  readonly #bell = new Bell()
  #idle: NodeJS.Timeout | undefined
  /** The reason why the service ends the terminal; `undefined` as long as the service does not end it. */
  #ending: string | undefined
  #isEnded = false
  /** The exit code that the shell itself has reported, in an escape sequence of its output. */
  #exitCode: number | undefined

  /** Begins a shell; resolves at its first prompt. @throws ExecutorError */
  static async open (options: TerminalOptions): Promise<Terminal> {
    const early: Buffer[] = []
    let read = (bytes: Buffer): void => { early.push(bytes) }
    const { size, shell, open } = options
    const pty = await open({ size, ...(shell === undefined ? {} : { shell }), onOutput (bytes) { read(bytes) } })
    const terminal = new Terminal(pty, options)
    read = bytes => { terminal.#read(bytes) }
    for (const bytes of early) terminal.#read(bytes)
    await terminal.#prepare()
    return terminal
  }

  private constructor (pty: Pty, options: TerminalOptions) {
    this.#pty = pty
    this.#options = options
    this.#shell = new ShellState(() => { this.#stateChanged() })
    this.#seat = new ReaderSeat(pty, () => this.#shell.state === 'command')
    this.#commands = new TypedCommands({
      pty,
      shell: this.#shell,
      bell: this.#bell,
      ...(options.patience === undefined ? {} : { patience: options.patience }),
      lookUpFolder: () => this.#lookUpFolder(),
      show: text => {
        // Half a sequence of a program would hide the beginning of this text.
        this.#filter.reset()
        this.#show(text)
      },
      onFree: () => { this.#touch() },
      onStuck: async () => { await this.end('a command did not end') }
    })
    this.ended = pty.ended.then(end => this.#over(end))
  }

  get state (): TerminalState {
    return this.#shell.state
  }

  /** The name of the target (the machine) on which the shell runs. */
  get target (): string {
    return this.#options.name
  }

  /** The folder in which the shell was at its newest prompt, as the kernel told it; `''` where nobody knows it. */
  get folder (): string {
    return this.#folder
  }

  /** The output since a person last pressed Enter, or since a command of a skill began, up to the next prompt. */
  get lastOutput (): string {
    return this.#lastOutput.text()
  }

  /** Attaches a reader, which gets the last output first. A reader that was attached before gets nothing more. */
  attach (reader: TerminalReader): void {
    this.#seat.take(reader)
    reader.state(this.state)
    const shown = this.#shown.text()
    if (shown !== '') this.#seat.data(shown)
    this.#touch()
  }

  detach (reader: TerminalReader): void {
    this.#seat.left(reader)
    this.#touch()
  }

  /** Sends the keys that a person types to the shell. */
  keys (text: string): void {
    if (this.#shell.keys(text)) {
      this.#commands.renew()
      this.#touch()
    }
    this.#pty.write(text)
  }

  resize (size: Size): void {
    this.#pty.resize(size)
    this.#options.recording?.resized(size)
  }

  /**
   * Runs a command in the shell as soon as the shell's input line is empty.
   * @throws ExecutorError when nothing was run: TERMINAL_BUSY, TERMINAL_GONE, TERMINAL_MOVED if the command is not allowed to begin in the shell's
   * folder
   */
  async run (text: string, options: ShellRunOptions): Promise<ShellRan> {
    refuseInvalid(text)
    return await this.#commands.run(text, options)
  }

  /** Sets the reason that the reader will be told when the terminal is ended. Only the first reason counts. */
  endsFor (reason: string): void {
    this.#ending ??= reason
  }

  /** Ends the shell and all that runs in it. @param reason told to the reader @returns whether it is confirmed that no process of the shell runs any more */
  async end (reason: string): Promise<boolean> {
    this.endsFor(reason)
    this.#isEnded = true
    const isConfirmed = await this.#pty.kill()
    this.#commands.shellEnded(null, isConfirmed)
    return isConfirmed
  }

  /** Types the setup line, which makes the shell's prompts report its state. @throws ExecutorError */
  async #prepare (): Promise<void> {
    // A shell prints its own prompt when it begins. The setup line is typed after that prompt.
    await this.#bell.rung(FIRST_OUTPUT)
    this.#pty.write(setupLine(this.#options.name))
    const until = performance.now() + FIRST_PROMPTS
    while (this.state === 'opening' && performance.now() < until) await this.#bell.rung(until - performance.now())
    if (this.state !== 'opening' && this.state !== 'closed') {
      await this.#lookUpFolder()
      return this.#touch()
    }
    await this.end('it did not begin')
    throw new ExecutorError('TARGET_UNREACHABLE', `no shell was begun: ${this.#greeting.trim().slice(-200)}`)
  }

  async #lookUpFolder (): Promise<string> {
    this.#folder = await this.#pty.folder() ?? ''
    return this.#folder
  }

  #read (bytes: Buffer): void {
    for (const piece of this.#marks.read(this.#decoder.decode(bytes, { stream: true }))) this.#take(piece)
  }

  #take (piece: Piece): void {
    switch (piece.kind) {
      case 'text': return this.#output(piece.text)
      case 'shown':
        this.#isPrompting = false
        return this.#shell.shown()
      case 'prompt':
        // The hangup of a terminal that is being ended can reach the program before it reaches the shell.
        if (this.#isEnded) return
        this.#isPrompting = true
        this.#filter.reset()
        return this.#commands.prompted(piece)
      case 'asks':
        if (this.state === 'opening') this.#pty.write(`${this.#secret}\n`)
        break
      case 'exit':
        this.#exitCode = piece.code
        break
      case 'begin': this.#commands.begun(piece.id)
    }
  }

  #output (text: string): void {
    if (this.state === 'opening') {
      this.#greeting = (this.#greeting + text).slice(-MAX_GREETING)
      this.#bell.ring()
    } else if (this.state !== 'command' || !this.#commands.tookEcho(text)) {
      this.#shell.output(text)
      if (this.state === 'command') this.#commands.output(text)
      this.#show(text)
    }
  }

  /** Shows a part of the output to the reader, and keeps it, without what a terminal would answer. */
  #show (output: string): void {
    const text = this.#filter.read(output)
    if (text === '') return
    this.#shown.append(text)
    if (!this.#isPrompting && (this.state === 'busy' || this.state === 'command')) this.#lastOutput.append(text)
    this.#options.recording?.output(text)
    this.#seat.data(text)
  }

  #stateChanged (): void {
    const { state } = this
    if (state === 'busy' || state === 'command') this.#lastOutput = new ShownOutput()
    this.#seat.state(state)
    this.#seat.hurry()
    this.#bell.ring()
  }

  /** Restarts the timer that measures how long the terminal has been unused. */
  #touch (): void {
    clearTimeout(this.#idle)
    const { idle = IDLE, onIdle } = this.#options
    if (!this.#seat.isTaken && !this.#commands.isTaken && this.state !== 'closed') this.#idle = setTimeout(() => onIdle?.(), idle).unref()
  }

  async #over (end: PtyEnd): Promise<TerminalEnd> {
    const exitCode = end.exitCode === null ? null : this.#exitCode ?? end.exitCode
    clearTimeout(this.#idle)
    this.#shell.close()
    const reason = this.#isEnded ? 'ended' : exitCode === null ? 'lost' : 'exit'
    // If the service has ended the terminal, the method `end` tells the running command whether all processes of the shell have certainly ended.
    if (reason !== 'ended') this.#commands.shellEnded(exitCode, true)
    this.#seat.leave(this.#ending ?? (exitCode === null ? 'the connection was lost' : `the shell has ended with code ${exitCode}`))
    await this.#options.recording?.close()
    return { reason, exitCode }
  }
}
