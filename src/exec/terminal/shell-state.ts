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
