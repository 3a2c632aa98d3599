/**
 * What a shell does, as far as its marks and the keys of its person tell. `typing`: something stands in its line. `command`: it runs what a skill has
 * asked for.
 */
export type TerminalState = 'opening' | 'prompt' | 'typing' | 'busy' | 'command' | 'closed'

/** How long nothing may come behind a prompt before it counts, where keys came while the shell was busy, in ms. */
const QUIET = 300

/** What terminals answer by themselves: where the cursor is, what they are. */
// eslint-disable-next-line no-control-regex
const REPORTS = /^(?:\x1b\[[?>=]?[\d;]*[Rcn])+$/

/** Keys that end a line: Enter, and Ctrl-C, which empties it. */
// eslint-disable-next-line no-control-regex
const ENDS_LINE = /[\r\n\x03]/

/** What terminals do not show as text. */
// eslint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g

/** A prompt, as its mark tells it. */
export interface Prompt {
  readonly number: number
  readonly status: number
  readonly folder: string
}

/**
 * Knows whether a line that is typed now would be a command of its own. It errs on the careful side: a line that looks half typed and is not is healed
 * by Enter.
 */
export class ShellState {
  state: TerminalState = 'opening'
  /** The newest. */
  prompt: Prompt = { number: 0, status: 0, folder: '' }
  readonly #onChange: () => void
  /** Whether keys stand behind the last one that ended a line. */
  #isPending = false
  /** Whether keys came while the shell was busy: a line of them may run next. */
  #isAhead = false
  /** Runs while a prompt has to prove that nothing comes behind it. */
  #quiet: NodeJS.Timeout | undefined
  #isShown = false

  constructor (onChange: () => void) {
    this.#onChange = onChange
  }

  /** @returns whether a person has typed: reports of terminals are no keys */
  keys (text: string): boolean {
    if (text === '' || REPORTS.test(text)) return false
    const first = text.search(ENDS_LINE)
    const isRest = first >= 0 && first < text.length - 1
    const wasBusy = this.state === 'busy' || this.state === 'command'
    this.#isPending = first < 0 ? true : !ENDS_LINE.test(text.at(-1) as string)
    this.#isAhead = wasBusy || isRest
    if (this.state === 'command') return true
    const isSettling = this.#stopSettling()
    if (!wasBusy || isSettling) this.#become(first < 0 ? 'typing' : 'busy')
    return true
  }

  /** @returns whether it is a new one, and not one that is drawn anew */
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

  /** The newest prompt has been shown whole. */
  shown (): void {
    this.#isShown = true
    this.#quiet?.refresh()
  }

  output (text: string): void {
    if (this.#quiet !== undefined && this.#isShown && text.replace(ESCAPES, '') !== '') this.#stopSettling()
  }

  /** A command was typed. */
  began (): void {
    this.#isPending = false
    this.#isAhead = false
    this.#become('command')
  }

  /** A prompt has come, and the line of a command was read by something else before it, or is read next. */
  passed (prompt: Prompt): boolean {
    if (prompt.number <= this.prompt.number) return false
    this.prompt = prompt
    return true
  }

  /** Something else than the shell has read the line of a command. @param isAtPrompt whether a prompt has come since */
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

  /** @returns whether a prompt was about to count */
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
