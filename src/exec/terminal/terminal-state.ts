/** A reader, such as the connection of a client, gets the output of a terminal. */
export interface TerminalReader {
  /** The size of what was sent to the reader and was not read yet, in bytes. */
  readonly unread: number
  data (text: string): void
  state (state: TerminalState): void
  /** Tells the reader that nothing more comes. @param reason why */
  closed (reason: string): void
  /** Tells the reader that it was cut off, because it is too slow. */
  cut (): void
}

/** The number of bytes that a reader has not read yet at which the terminal's output is paused, and the number down to which it stays paused. */
const [MOST, FEW] = [512 * 1024, 128 * 1024]

/** How often a slow reader's unread bytes are checked, in ms. */
const LOOK = 50

/**
 * The place for the one reader of a terminal. If the reader is slow, the terminal's output is paused until the reader has read enough.
 * While a command of a skill runs, a slow reader is cut off instead.
 */
export class ReaderSeat {
  readonly #pty: { pause (): void, resume (): void }
  readonly #isHurried: () => boolean
  #reader: TerminalReader | undefined
  #look: NodeJS.Timeout | undefined

  /** @param isHurried tells whether the output must not be paused now, because a command of a skill runs */
  constructor (pty: { pause (): void, resume (): void }, isHurried: () => boolean) {
    this.#pty = pty
    this.#isHurried = isHurried
  }

  get isTaken (): boolean {
    return this.#reader !== undefined
  }

  /** Makes this reader the only reader of the terminal. The present reader, if any, is told that another one has attached. */
  take (reader: TerminalReader): void {
    this.leave('attached elsewhere')
    this.#reader = reader
  }

  /** Removes the present reader, which gets no more output and is told the reason. */
  leave (reason: string): void {
    const reader = this.#free()
    reader?.closed(reason)
  }

  /** Removes this reader, if it is still the present one. */
  left (reader: TerminalReader): void {
    if (this.#reader === reader) this.#free()
  }

  data (text: string): void {
    this.#reader?.data(text)
    this.hurry()
    if (this.#look !== undefined || (this.#reader?.unread ?? 0) <= MOST) return
    this.#pty.pause()
    this.#look = setInterval(() => {
      this.hurry()
      if ((this.#reader?.unread ?? 0) <= FEW) this.#goOn()
    }, LOOK)
  }

  state (state: TerminalState): void {
    this.#reader?.state(state)
  }

  /** Cuts off a slow reader, if the output must not be paused now. */
  hurry (): void {
    if ((this.#reader?.unread ?? 0) <= MOST || !this.#isHurried()) return
    const reader = this.#free()
    reader?.cut()
  }

  #free (): TerminalReader | undefined {
    const reader = this.#reader
    this.#reader = undefined
    this.#goOn()
    return reader
  }

  #goOn (): void {
    if (this.#look === undefined) return
    clearInterval(this.#look)
    this.#look = undefined
    this.#pty.resume()
  }
}

/**
 * The state of a shell, as the typed keys and the shell's marks (escape sequences that report its state) show it. `prompt`: the shell waits
 * with an empty input line. `typing`: the input line is not empty. `busy`: the shell perhaps runs what a person has typed. `command`: it
 * runs a command of a skill.
 */
export type TerminalState = 'opening' | 'prompt' | 'typing' | 'busy' | 'command' | 'closed'

/** How long there must be no output after a prompt, in ms, before the shell counts as idle. This matters only if keys were typed while it was busy. */
const QUIET = 300

/** Matches the keys that end a line: Enter, and Ctrl-C, which empties the line. */
// eslint-disable-next-line no-control-regex
const ENDS_LINE = /[\r\n\x03]/

/**
 * Matches the keys that end a line while a program runs. Besides Enter and Ctrl-C these are Ctrl-Z and Ctrl-\, which stop or quit the
 * program; the terminal then drops the typed text that no program has read yet.
 */
// eslint-disable-next-line no-control-regex
const ENDS_IN_PROGRAM = /[\r\n\x03\x1a\x1c]/

/** Matches escape sequences, which a terminal does not show as text. */
// eslint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g

/** What the shell reports in a mark (an escape sequence) before each prompt: the prompt's number, and the last command's status. */
export interface Prompt {
  readonly number: number
  readonly status: number
}

/**
 * Tracks whether the shell's input line is empty. Only while it is empty does the service type a line, so that the line is not mixed with
 * other keys. In doubt, the input line counts as not empty, until the person presses Enter.
 */
export class ShellState {
  state: TerminalState = 'opening'
  /** The newest prompt. */
  prompt: Prompt = { number: 0, status: 0 }
  readonly #onChange: () => void
  /** Whether keys came after the last key that ended a line, so that the input line is not empty. */
  #isPending = false
  /** Whether keys were typed while the shell was busy. Perhaps the shell will run them as its next line. */
  #isAhead = false
  /** The timer that runs after a prompt until the terminal's output has been silent for long enough. */
  #quiet: NodeJS.Timeout | undefined
  #isShown = false

  constructor (onChange: () => void) {
    this.#onChange = onChange
  }

  /** Records keys that are sent to the shell. @returns whether there are any */
  keys (text: string): boolean {
    if (text === '') return false
    const wasBusy = this.state === 'busy' || this.state === 'command'
    const ends = wasBusy ? ENDS_IN_PROGRAM : ENDS_LINE
    const first = text.search(ends)
    const isRest = first >= 0 && first < text.length - 1
    this.#isPending = first < 0 ? true : !ends.test(text.at(-1) as string)
    this.#isAhead = wasBusy || isRest
    if (this.state === 'command') return true
    const isSettling = this.#stopSettling()
    if (!wasBusy || isSettling) this.#become(first < 0 ? 'typing' : 'busy')
    return true
  }

  /** Records that the shell has reported a prompt. @returns whether the prompt is new, and not an earlier prompt that was only drawn again */
  mark (prompt: Prompt): boolean {
    if (prompt.number <= this.prompt.number) return false
    this.prompt = prompt
    this.#isShown = false
    this.#stopSettling()
    if (this.#isPending) this.#become('typing')
    else if (this.#isAhead) {
      this.#become('busy')
      this.#quiet = setTimeout(() => { this.#settle() }, QUIET)
    } else this.#become('prompt')
    return true
  }

  /** Records that the newest prompt has been shown to its end. */
  shown (): void {
    this.#isShown = true
    this.#quiet?.refresh()
  }

  output (text: string): void {
    if (this.#quiet !== undefined && this.#isShown && text.replace(ESCAPES, '') !== '') this.#stopSettling()
  }

  /** Records that the service has typed a command. */
  began (): void {
    this.#isPending = false
    this.#isAhead = false
    this.#become('command')
  }

  /**
   * Records a prompt that comes after a command was typed and before the command has begun. Either another program has read the command's
   * line, or the shell will read the line next.
   * @returns whether the prompt is new
   */
  passed (prompt: Prompt): boolean {
    if (prompt.number <= this.prompt.number) return false
    this.prompt = prompt
    return true
  }

  /** Records that a program other than the shell has read the line of a command. @param isAtPrompt whether a prompt has come since then */
  misread (isAtPrompt: boolean): void {
    this.#isAhead = true
    this.#isShown = true
    if (isAtPrompt && !this.#isPending) this.#quiet = setTimeout(() => { this.#settle() }, QUIET)
    this.#become(isAtPrompt && this.#isPending ? 'typing' : 'busy')
  }

  close (): void {
    this.#stopSettling()
    this.#become('closed')
  }

  #settle (): void {
    this.#quiet = undefined
    this.#isAhead = false
    this.#become('prompt')
  }

  /** Stops the timer that waits for silence after a prompt. @returns whether the timer was running */
  #stopSettling (): boolean {
    const isSettling = this.#quiet !== undefined
    clearTimeout(this.#quiet)
    this.#quiet = undefined
    return isSettling
  }

  #become (state: TerminalState): void {
    if (this.state === state) return
    this.state = state
    this.#onChange()
  }
}
