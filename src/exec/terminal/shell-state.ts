/**
 * The state of a shell, as its marks and the typed keys show it. `prompt`: the shell waits with an empty input line. `typing`: its input
 * line is not empty. `busy`: it may be running what a person has typed. `command`: it runs a command of a skill.
 */
export type TerminalState = 'opening' | 'prompt' | 'typing' | 'busy' | 'command' | 'closed'

/** If keys came while the shell was busy: how long there must be no output after a prompt, in ms, before the shell counts as idle. */
const QUIET = 300

/** Matches the reports that terminals send by themselves when a program asks: the cursor's position, the type of the terminal. */
// eslint-disable-next-line no-control-regex
const REPORTS = /^(?:\x1b\[[?>=]?[\d;]*[Rcn])+$/

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

/** The content of a prompt's mark: the prompt's number, the status of the last command, and the folder. */
export interface Prompt {
  readonly number: number
  readonly status: number
  readonly folder: string
}

/**
 * Tracks whether the shell's input line is empty. Only then may the service type a line, which must be a command of its own. In doubt, the
 * input line counts as not empty, until the person presses Enter.
 */
export class ShellState {
  state: TerminalState = 'opening'
  /** The newest prompt. */
  prompt: Prompt = { number: 0, status: 0, folder: '' }
  readonly #onChange: () => void
  /** Whether keys came after the last key that ended a line, so that the input line is not empty. */
  #isPending = false
  /** Whether keys came while the shell was busy. The shell may run them as its next line. */
  #isAhead = false
  /** The timer that runs while a prompt still has to be followed by silence. */
  #quiet: NodeJS.Timeout | undefined
  #isShown = false

  constructor (onChange: () => void) {
    this.#onChange = onChange
  }

  /** Takes keys that the shell gets. @returns whether a person has typed them; a terminal's own reports are not typed */
  keys (text: string): boolean {
    if (text === '' || REPORTS.test(text)) return false
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

  /** Takes the mark of a prompt. @returns whether the prompt is new, and not a redrawn one */
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
   * Takes a prompt that comes after a command was typed and before the command has begun. Either another program has read the command's
   * line, or the shell will read it next.
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
