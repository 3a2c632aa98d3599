import { randomBytes } from 'node:crypto'
import { revealHidden } from '../../base/text.ts'
import { ExecutorError, refuseInvalid } from '../executor.ts'
import { Bell } from './bell.ts'
import { Marks, type Piece } from './marks.ts'
import { type Pty, type PtyEnd, type PtyOptions, type Size } from '../pty.ts'
import { type Recording } from './recording.ts'
import { ShellCommand, type ShellRan, type ShellRunOptions } from './shell-command.ts'
import { COMMAND_FILE, commandFile, NOTHING, PROMPT_FILE, RESTORE_PROMPT, runLine, setupLine } from './shell-lines.ts'
import { ShellState, type TerminalState } from './shell-state.ts'
import { ShownOutput } from './shown-output.ts'
import { ReaderSeat, type TerminalReader } from './terminal-reader.ts'

/** How a terminal ended. `exit`: its shell exited. `ended`: the service ended it. `lost`: the connection was lost, or the shell was killed. */
export interface TerminalEnd {
  readonly reason: 'exit' | 'ended' | 'lost'
  /** The exit code of the shell; null where nobody knows it. */
  readonly exitCode: number | null
}

export interface TerminalOptions {
  /** The beginning of the visible prompt. */
  readonly name: string
  readonly size: Size
  readonly open: (options: PtyOptions) => Promise<Pty>
  /** @default nothing is recorded */
  readonly recording?: Recording | undefined
  /** How long the terminal may be without a key, a command and a reader, in ms. @default half an hour */
  readonly idle?: number
  /** Called when the terminal has been unused for `idle` ms. */
  readonly onIdle?: () => void
  /** The shell with its arguments. @default bash without its files, else sh */
  readonly shell?: readonly string[]
  /** How long a command waits for an empty line, in ms. @default 10 min */
  readonly patience?: number
}

/** How long a shell's first output and its first prompts may take, in ms. */
const [FIRST_OUTPUT, FIRST_PROMPTS] = [1000, 15_000]

const IDLE = 30 * 60_000

const PATIENCE = 600_000

/** How long the begin mark of a command may take, in ms. It never comes where another program than the shell has read the line. */
const BEGIN = 5000

/** How long the begin mark may take after a prompt, where it comes next or never, in ms. */
const SOON = 500

/** The number of attempts to type a command whose line other programs read. */
const TRIES = 3

/** How long a command may take to end after Ctrl-C, in ms, before the whole terminal is ended. */
const GRACE = 2000

/** The largest kept part of a greeting, and of the output between a typed line and its begin mark, in UTF-16 units. */
const MAX_ECHO = 64 * 1024

/** A shell that a person types into, and in which commands of skills run. */
export class Terminal {
  /** Resolves when the terminal has ended. */
  readonly ended: Promise<TerminalEnd>
  readonly #pty: Pty
  readonly #options: TerminalOptions
  readonly #secret = randomBytes(16).toString('hex')
  readonly #marks = new Marks(this.#secret)
  readonly #decoder = new TextDecoder()
  readonly #shell: ShellState
  readonly #shown = new ShownOutput()
  readonly #seat: ReaderSeat
  /** The last part of the output before the first prompt. */
  #greeting = ''
  /** The output from the last line that was ended by Enter up to the next prompt. */
  #lastOutput = new ShownOutput()
  #isPrompting = false
  #command: ShellCommand | undefined
  /** Whether a command is about to be typed, or runs. */
  #isTaken = false
  /** Rings when the state has changed, so that a waiting command checks it again. */
  readonly #bell = new Bell()
  #idle: NodeJS.Timeout | undefined
  /** The reason for which the terminal is ended; undefined while nobody ends it. */
  #ending: string | undefined
  #isEnded = false
  /** The exit code that the shell itself has reported in a mark. */
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
    this.ended = pty.ended.then(end => this.#over(end))
  }

  get state (): TerminalState {
    return this.#shell.state
  }

  /** The folder in which the shell is, as its newest prompt reports. */
  get folder (): string {
    return this.#shell.prompt.folder
  }

  /** The output from the last line that was ended by Enter up to the next prompt. */
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

  /** Passes on keys that a person types. */
  keys (text: string): void {
    if (this.#shell.keys(text)) {
      this.#command?.renew()
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
   * @throws ExecutorError when nothing was run: TERMINAL_BUSY, TERMINAL_GONE, TERMINAL_MOVED where the command may not begin in the present folder
   */
  async run (text: string, options: ShellRunOptions): Promise<ShellRan> {
    refuseInvalid(text)
    const until = performance.now() + (this.#options.patience ?? PATIENCE)
    let wasTold = false
    let tries = 0
    for (;;) {
      if (this.state === 'closed') throw gone()
      if (options.signal.aborted) return { outcome: 'cancelled', exitCode: null, stdout: '', begunIn: this.folder, cwd: this.folder, durationMs: 0 }
      if (this.state === 'prompt' && !this.#isTaken) {
        if (tries++ === TRIES) throw new ExecutorError('TARGET_UNREACHABLE', 'the shell does not read the command')
        const ran = await this.#attempt(text, options)
        if (ran !== undefined) return ran
      } else {
        const rest = until - performance.now()
        if (rest <= 0) throw new ExecutorError('TERMINAL_BUSY', 'the line of the terminal was not empty for too long, and nothing was run')
        if (!wasTold && !this.#isTaken) {
          wasTold = true
          options.onWait?.()
        }
        await this.#bell.rung(rest, options.signal)
      }
    }
  }

  /** Sets the reason that the reader is told when the terminal is ended; the first reason counts. */
  endsFor (reason: string): void {
    this.#ending ??= reason
  }

  /** Ends the shell and all that runs in it. @param reason told to the reader @returns whether it is confirmed that no process of it runs any more */
  async end (reason: string): Promise<boolean> {
    this.endsFor(reason)
    this.#isEnded = true
    const isConfirmed = await this.#pty.kill()
    this.#command?.shellEnded(null, isConfirmed)
    return isConfirmed
  }

  /** Types the setup line, which makes the shell's prompts report its state. @throws ExecutorError */
  async #prepare (): Promise<void> {
    // A shell that begins prints a prompt of its own.
    await this.#bell.rung(FIRST_OUTPUT)
    this.#pty.write(setupLine(this.#options.name))
    const until = performance.now() + FIRST_PROMPTS
    while (this.state === 'opening' && performance.now() < until) await this.#bell.rung(until - performance.now())
    if (this.state !== 'opening' && this.state !== 'closed') return this.#touch()
    await this.end('it did not begin')
    throw new ExecutorError('TARGET_UNREACHABLE', `no shell was begun: ${this.#greeting.trim().slice(-200)}`)
  }

  /** Types a command at an empty prompt. @returns `undefined` where the command did not begin, so that it can be tried again */
  async #attempt (text: string, options: ShellRunOptions): Promise<ShellRan | undefined> {
    this.#isTaken = true
    const { number } = this.#shell.prompt
    const id = randomBytes(16).toString('hex')
    try {
      const line = runLine(await this.#put(COMMAND_FILE, commandFile(text, id)), await this.#put(PROMPT_FILE, RESTORE_PROMPT))
      // The person may have typed meanwhile.
      if (this.state !== 'prompt' || this.#shell.prompt.number !== number || options.signal.aborted) return undefined
      const { folder } = this
      if (options.mayBeginIn?.(folder) === false) throw new ExecutorError('TERMINAL_MOVED', `the terminal is in ${folder} by now, and nothing was run`)
      return await this.#type(line, new ShellCommand(text, id, folder, options))
    } finally {
      this.#isTaken = false
      this.#touch()
      this.#bell.ring()
    }
  }

  async #type (line: string, command: ShellCommand): Promise<ShellRan | undefined> {
    this.#command = command
    this.#shell.began()
    this.#pty.write(line)
    try {
      if (!await this.#begins(command, BEGIN) && await this.#takeBack(command)) return undefined
      const ran = await command.ended
      if (!command.hasBegun && ran.outcome === 'exited') throw gone()
      return ran
    } finally {
      this.#command = undefined
    }
  }

  /** Waits for the begin mark of a command. @param most in ms; behind a prompt it comes soon, or never */
  async #begins (command: ShellCommand, most: number): Promise<boolean> {
    const since = performance.now()
    const rest = (): number => (command.isPassed ? Math.min(most, SOON) : most) - (performance.now() - since)
    while (!command.hasBegun && this.state !== 'closed' && rest() > 0) await this.#bell.rung(rest())
    return command.hasBegun || this.state === 'closed'
  }

  /** Withdraws a command whose line the shell has not read in time; read later, the line does nothing. @returns whether the command has not begun */
  async #takeBack (command: ShellCommand): Promise<boolean> {
    await this.#put(COMMAND_FILE, NOTHING)
    if (await this.#begins(command, SOON)) return false
    this.#command = undefined
    this.#shell.misread(command.isPassed)
    this.#show(command.echo)
    return true
  }

  /** Ends a running command by Ctrl-C; ends the whole terminal when that does not help in time. */
  async #interrupt (command: ShellCommand): Promise<void> {
    this.#pty.write('\x03')
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<true>(resolve => { timer = setTimeout(() => { resolve(true) }, GRACE) })
    const isLate = await Promise.race([late, command.ended.then(() => false)])
    clearTimeout(timer)
    if (isLate) await this.end('a command did not end')
  }

  async #put (name: string, text: string): Promise<string> {
    try {
      return await this.#pty.putFile(name, text)
    } catch (error) {
      throw new ExecutorError('TARGET_UNREACHABLE', `the command could not be handed to the shell: ${(error as Error).message}`)
    }
  }

  #read (bytes: Buffer): void {
    for (const piece of this.#marks.read(this.#decoder.decode(bytes, { stream: true }))) this.#take(piece)
  }

  #take (piece: Piece): void {
    const command = this.#command
    switch (piece.kind) {
      case 'text': return this.#output(piece.text)
      case 'shown':
        this.#isPrompting = false
        return this.#shell.shown()
      case 'prompt':
        this.#isPrompting = true
        if (command !== undefined && !command.hasBegun) {
          if (!this.#shell.passed(piece)) break
          command.isPassed = true
          this.#bell.ring()
        } else if (this.#shell.mark(piece)) command?.finish(piece.status, piece.folder)
        break
      case 'asks':
        if (this.state === 'opening') this.#pty.write(`${this.#secret}\n`)
        break
      case 'exit':
        this.#exitCode = piece.code
        break
      case 'begin':
        if (command === undefined || command.hasBegun || command.id !== piece.id) break
        command.begin(() => { void this.#interrupt(command) })
        // Readers are shown the command itself in place of the line that was typed.
        this.#show(`${revealHidden(command.text).replaceAll('\n', '\r\n')}\r\n`)
        this.#bell.ring()
    }
  }

  #output (text: string): void {
    const command = this.#command
    if (this.state === 'opening') {
      this.#greeting = (this.#greeting + text).slice(-MAX_ECHO)
      this.#bell.ring()
    } else if (this.state === 'command' && command?.hasBegun === false) command.echo = (command.echo + text).slice(-MAX_ECHO)
    else {
      this.#shell.output(text)
      if (this.state === 'command') command?.output(text)
      this.#show(text)
    }
  }

  #show (text: string): void {
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

  /** Restarts the idle timer. */
  #touch (): void {
    clearTimeout(this.#idle)
    const { idle = IDLE, onIdle } = this.#options
    if (!this.#seat.isTaken && !this.#isTaken && this.state !== 'closed') this.#idle = setTimeout(() => onIdle?.(), idle).unref()
  }

  async #over (end: PtyEnd): Promise<TerminalEnd> {
    const exitCode = end.exitCode === null ? null : this.#exitCode ?? end.exitCode
    clearTimeout(this.#idle)
    this.#shell.close()
    const reason = this.#isEnded ? 'ended' : exitCode === null ? 'lost' : 'exit'
    // Where the service ends the terminal, `end` tells the command whether that is confirmed.
    if (reason !== 'ended') this.#command?.shellEnded(exitCode, true)
    this.#seat.leave(this.#ending ?? (exitCode === null ? 'the connection was lost' : `the shell has ended with code ${exitCode}`))
    await this.#options.recording?.close()
    return { reason, exitCode }
  }
}

function gone (): ExecutorError {
  return new ExecutorError('TERMINAL_GONE', 'the terminal has ended, and nothing was run')
}
