import { randomBytes } from 'node:crypto'
import { ExecutorError, type Pty, type PtyEnd, type PtyOptions, refuseInvalid, shellEnd, type Size } from '../executor.ts'
import { Bell, type ShellRan, type ShellRunOptions, TypedCommands } from './typed-commands.ts'
import type { Recording } from './recording.ts'
import { cutFrom, SequenceFilter, TerminalModes } from './sequences.ts'
import { MARK, setupLine } from '../scripts.ts'
import { ReaderSeat, ShellState, type TerminalReader, type TerminalState } from './terminal-state.ts'

export type OutputPiece =
  | { readonly kind: 'text', readonly text: string }
  /** A redrawn prompt has the `number` of an earlier one. */
  | { readonly kind: 'prompt', readonly number: number, readonly status: number }
  | { readonly kind: 'shown' }
  /** The later marks contain the secret, which shows that they are genuine. */
  | { readonly kind: 'asks' }
  | { readonly kind: 'exit', readonly code: number }
  | { readonly kind: 'begin', readonly id: string }

/** In UTF-16 units. */
const MAX_MARK = 256

// eslint-disable-next-line no-control-regex
const REST = /([^\x07\x1b]*)(\x07|\x1b\\|\x1b|$)/y

/** A mark without the secret is forged: it is removed and ignored. Only asking for it, and a command's begin, need none. */
export class Marks {
  readonly #secret: string
  #held = ''

  constructor (secret: string) {
    this.#secret = secret
  }

  read (more: string): OutputPiece[] {
    const pieces: OutputPiece[] = []
    const text = this.#held + more
    this.#held = ''
    let from = 0
    for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, from)) {
      addText(pieces, text.slice(from, at))
      REST.lastIndex = at + MARK.length
      const [whole = '', said = '', end = ''] = REST.exec(text) ?? []
      if ((end === '' || (end === '\x1b' && REST.lastIndex === text.length)) && whole.length <= MAX_MARK) {
        this.#held = text.slice(at)
        return pieces
      }
      // An escape character that does not end this mark begins another sequence.
      from = at + MARK.length + whole.length - (end === '\x1b' ? 1 : 0)
      if (end === '\x07' || end === '\x1b\\') pieces.push(...this.#pieceOf(said))
    }
    const until = text.length - overlap(text, from)
    addText(pieces, text.slice(from, until))
    this.#held = text.slice(until)
    return pieces
  }

  #pieceOf (said: string): OutputPiece[] {
    const [head, kind, number = '', status = ''] = said.split(';', 5)
    if (said === 'k') return [{ kind: 'asks' }]
    if (head === 'b' && kind !== undefined) return [{ kind: 'begin', id: kind }]
    if (head !== this.#secret) return []
    if (kind === 'x') return /^\d{1,3}$/.test(number) ? [{ kind: 'exit', code: Number(number) }] : []
    if (kind === 'e') return [{ kind: 'shown' }]
    return kind === 'p' && /^\d{1,15}$/.test(number) ? [{ kind: 'prompt', number: Number(number), status: Number(status) }] : []
  }
}

function addText (pieces: OutputPiece[], text: string): void {
  if (text !== '') pieces.push({ kind: 'text', text })
}

function overlap (text: string, from: number): number {
  for (let length = Math.min(MARK.length - 1, text.length - from); length > 0; length--) {
    if (text.endsWith(MARK.slice(0, length))) return length
  }
  return 0
}

/** In UTF-16 units: the kept output, and how much is cut off at least at a time. */
export const [KEPT_OUTPUT, CUT] = [256 * 1024, 8 * 1024]

/** Kept for a client that attaches later. It is cut between sequences only, and never loses a mode. */
export class ShownOutput {
  #parts: string[] = []
  #length = 0
  readonly #cutModes = new TerminalModes()
  #isCut = false

  append (text: string): void {
    this.#parts.push(text)
    this.#length += text.length
    if (this.#length > KEPT_OUTPUT) this.#cut(Math.max(this.#length - KEPT_OUTPUT, CUT))
    // Output comes in many short parts, so they are joined now and then.
    if (this.#parts.length > 1000) this.#parts = [this.#parts.join('')]
  }

  /** Where the beginning was cut off, the modes of what is gone come first. */
  text (): string {
    if (!this.#isCut) return this.#parts.join('')
    const all = this.#parts.join('')
    const modes = new TerminalModes()
    const line = all.slice(0, CUT).indexOf('\n') + 1
    modes.see(this.#cutModes.text() + all.slice(0, line))
    return modes.text() + all.slice(line)
  }

  #cut (over: number): void {
    this.#isCut = true
    for (let left = over; left > 0;) {
      const [first = ''] = this.#parts
      const at = first.length <= left ? first.length : cutFrom(first, left)
      this.#cutModes.see(first.slice(0, at))
      this.#length -= at
      left -= at
      if (at === first.length) this.#parts.shift()
      else this.#parts[0] = first.slice(at)
    }
  }
}

export interface TerminalOptions {
  readonly name: string
  readonly size: Size
  readonly open: (options: PtyOptions) => Promise<Pty>
  readonly recording?: Recording | undefined
  /** In ms, without a key, a command and a reader. @default half an hour */
  readonly idle?: number
  readonly onIdle?: () => void
  /** @default bash without its startup files, or sh if there is no bash */
  readonly shell?: readonly string[]
  /** In ms, until the input line is empty. @default 10 min */
  readonly patience?: number
}

/** In ms. */
const [FIRST_OUTPUT, FIRST_PROMPTS] = [1000, 15_000]

/** In ms. */
const IDLE = 30 * 60_000

/** In UTF-16 units. */
const MAX_GREETING = 64 * 1024

/** A shell into which a person types, and in which commands of skills run. */
export class Terminal {
  /** `lost`: nobody knows whether the shell still runs. */
  readonly ended: Promise<PtyEnd & { readonly reason: 'exit' | 'ended' | 'lost' }>
  readonly #pty: Pty
  readonly #options: TerminalOptions
  readonly #secret = randomBytes(16).toString('hex')
  readonly #marks = new Marks(this.#secret)
  readonly #decoder = new TextDecoder()
  readonly #shell: ShellState
  readonly #filter = new SequenceFilter()
  readonly #shown = new ShownOutput()
  readonly #seat: ReaderSeat
  #greeting = ''
  #lastOutput = new ShownOutput()
  #isPrompting = false
  #folder = ''
  readonly #commands: TypedCommands
  readonly #bell = new Bell()
  #idle: NodeJS.Timeout | undefined
  #ending: string | undefined
  #isEnded = false
  #exitCode: number | undefined

  /** Resolves at the first prompt. @throws ExecutorError */
  static async open (options: TerminalOptions): Promise<Terminal> {
    const early: Buffer[] = []
    let read = (bytes: Buffer): void => { early.push(bytes) }
    const { size, shell, open } = options
    const pty = await open({ size, shell, onOutput (bytes) { read(bytes) } })
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
      patience: options.patience,
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

  get target (): string {
    return this.#options.name
  }

  /** As the kernel told it at the newest prompt; `''` where nobody knows it. */
  get folder (): string {
    return this.#folder
  }

  /** Since a person last pressed Enter, or a command began, up to the next prompt. */
  get lastOutput (): string {
    return this.#lastOutput.text()
  }

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

  /** @throws ExecutorError when nothing was run: TERMINAL_BUSY, TERMINAL_GONE, TERMINAL_MOVED */
  async run (text: string, options: ShellRunOptions): Promise<ShellRan> {
    refuseInvalid(text)
    return await this.#commands.run(text, options)
  }

  /** Only the first reason counts. */
  endsFor (reason: string): void {
    this.#ending ??= reason
  }

  /** @returns whether it is confirmed that no process of the shell runs any more */
  async end (reason: string): Promise<boolean> {
    this.endsFor(reason)
    this.#isEnded = true
    const isConfirmed = await this.#pty.kill()
    this.#commands.shellEnded(null, isConfirmed)
    return isConfirmed
  }

  /** @throws ExecutorError */
  async #prepare (): Promise<void> {
    // The setup line is typed after the shell's own first prompt.
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

  #take (piece: OutputPiece): void {
    switch (piece.kind) {
      case 'text': return this.#output(piece.text)
      case 'shown':
        this.#isPrompting = false
        return this.#shell.shown()
      case 'prompt':
        // The hangup of a terminal that is being ended can reach the program before the shell.
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

  /** Shows output to the reader, and keeps it, without the control sequences to which a terminal replies: the reply would be typed into the shell. */
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

  #touch (): void {
    clearTimeout(this.#idle)
    const { idle = IDLE, onIdle } = this.#options
    if (!this.#seat.isTaken && !this.#commands.isTaken && this.state !== 'closed') this.#idle = setTimeout(() => onIdle?.(), idle).unref()
  }

  async #over (end: PtyEnd): Promise<Awaited<Terminal['ended']>> {
    const { signal } = end
    const exitCode = end.exitCode === null ? null : this.#exitCode ?? end.exitCode
    clearTimeout(this.#idle)
    this.#shell.close()
    const reason = this.#isEnded ? 'ended' : exitCode === null && signal === undefined ? 'lost' : 'exit'
    // `end` tells the running command itself whether all processes have certainly ended.
    if (reason !== 'ended') this.#commands.shellEnded(exitCode, true)
    this.#seat.leave(this.#ending ?? (reason === 'lost' ? 'the connection was lost' : shellEnd({ exitCode, signal })))
    await this.#options.recording?.close()
    return { reason, exitCode, signal }
  }
}
