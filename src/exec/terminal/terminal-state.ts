export interface TerminalReader {
  /** In bytes. */
  readonly unread: number
  data (text: string): void
  state (state: TerminalState): void
  closed (reason: string): void
  cut (): void
}

/** In bytes: the output is paused at the first number, down to the second. */
const [MOST, FEW] = [512 * 1024, 128 * 1024]

/** In ms. */
const LOOK = 50

/** A slow reader pauses the terminal's output; while a command of a skill runs, it is cut off instead. */
export class ReaderSeat {
  readonly #pty: { pause (): void, resume (): void }
  readonly #isHurried: () => boolean
  #reader: TerminalReader | undefined
  #look: NodeJS.Timeout | undefined

  constructor (pty: { pause (): void, resume (): void }, isHurried: () => boolean) {
    this.#pty = pty
    this.#isHurried = isHurried
  }

  get isTaken (): boolean {
    return this.#reader !== undefined
  }

  take (reader: TerminalReader): void {
    this.leave('attached elsewhere')
    this.#reader = reader
  }

  leave (reason: string): void {
    const reader = this.#free()
    reader?.closed(reason)
  }

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

/** `busy`: the shell perhaps runs what a person has typed. `command`: it runs a command of a skill. */
export type TerminalState = 'opening' | 'prompt' | 'typing' | 'busy' | 'command' | 'closed'

/** In ms without output after a prompt, if keys were typed while the shell was busy. */
const QUIET = 300

/** Ctrl-C empties the line. */
// eslint-disable-next-line no-control-regex
const ENDS_LINE = /[\r\n\x03]/

/** Ctrl-Z and Ctrl-\ stop or quit the program; the terminal then drops the typed text that nobody has read. */
// eslint-disable-next-line no-control-regex
const ENDS_IN_PROGRAM = /[\r\n\x03\x1a\x1c]/

// eslint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g

export interface ShellPrompt {
  readonly number: number
  readonly status: number
}

/** The service types a line only while it is empty, so that it is not mixed with other keys. In doubt it is not empty. */
export class ShellState {
  state: TerminalState = 'opening'
  prompt: ShellPrompt = { number: 0, status: 0 }
  readonly #onChange: () => void
  #isPending = false
  /** Perhaps the shell will run these keys as its next line. */
  #isAhead = false
  #quiet: NodeJS.Timeout | undefined
  #isShown = false

  constructor (onChange: () => void) {
    this.#onChange = onChange
  }

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

  /** @returns whether the prompt is new, and not only drawn again */
  mark (prompt: ShellPrompt): boolean {
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

  shown (): void {
    this.#isShown = true
    this.#quiet?.refresh()
  }

  output (text: string): void {
    if (this.#quiet !== undefined && this.#isShown && text.replace(ESCAPES, '') !== '') this.#stopSettling()
  }

  began (): void {
    this.#isPending = false
    this.#isAhead = false
    this.#become('command')
  }

  /** Either another program has read the command's line, or the shell will read it next. @returns whether the prompt is new */
  passed (prompt: ShellPrompt): boolean {
    if (prompt.number <= this.prompt.number) return false
    this.prompt = prompt
    return true
  }

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
