/**
 * The escape sequences of a terminal's output. A terminal answers some of them by itself, and its answer goes the way of keys: a file that is only
 * shown could so type a line into the shell. What leaves the service has only whole sequences of the list below, and none of them is answered. So
 * all terminals read the same in it, whatever they make of half, nested or 8-bit sequences.
 * Source: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
 */

/** The longest operating system command (a title, a link) that is passed on, in UTF-16 units, and the longest sequence of another kind. */
const [MAX_COMMAND, MAX_SEQUENCE] = [4096, 256]

/** Finds the next character that is not passed on as it is: ESC, C1 controls, ENQ (which asks), CAN and SUB (which break a sequence off). */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\x05\x18\x1a\x1b\x80-\x9f]/g

/** Matches a sequence as far as it has come; the last group is what ends it. */
// eslint-disable-next-line no-control-regex
const SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*([@-~])?|\]([^\x00-\x1f\x80-\x9f]*)(\x07|\x1b\\)?|([PX^_])|[ -/]*([0-OQ-WYZ\\`-~])?)/y

/** Matches what ends a string that is left out. ESC begins the next sequence. */
// eslint-disable-next-line no-control-regex
const STRING_END = /[\x07\x18\x1a\x1b]/g

/**
 * The modes that may be set. Mode 2 is not among them, since a terminal reads sequences otherwise as a VT52, and mode 2048 is not, since it is answered
 * with a size.
 */
const MODE = '(?:[13-9]|12|25|40|45|47|66|69|100[0-7]|101[56]|103[4-69]|104[5-9]|2004|2026)'

/** Matches the sequences that are passed on, apart from operating system commands: they move, draw, erase, style, and set modes. */
const PASSED = new RegExp(
  `^\\x1b(?:\\[(?:[\\d:;]*(?:[@-MPSTXZ\`abd-hlmrsu]| q)|\\?(?:${MODE};)*${MODE}[hlrs]|\\?\\d?[JK]|>[\\d;]*m|[<=>][\\d;]*u|!p|2[23](?:;[012])?t)` +
  '|[78=>DEHMc]|[()*+][0-9A-Z<=>]|#[3-68])$'
)

/** Matches the operating system commands that are passed on: titles, links, and colours that are set. */
const PASSED_COMMAND = /^(?:[012];|8;|(?:4|1[012]);[^?]*$|104(?:;|$)|11[012]$)/

/** Takes out of a terminal's output what a terminal would answer, and what this service does not know to be answered by none. */
export class SequenceFilter {
  #held = ''
  #isInString = false

  /** @returns the output so far that can be shown; a sequence that is not complete yet is kept for the next call */
  read (more: string): string {
    const text = this.#held + more
    this.#held = ''
    let shown = ''
    let from = 0
    while (from < text.length) {
      const at = nextOf(this.#isInString ? STRING_END : CONTROL, text, from)
      if (!this.#isInString) shown += text.slice(from, at)
      if (at === text.length) break
      this.#isInString = false
      from = at + 1
      if (text[at] !== '\x1b') continue
      SEQUENCE.lastIndex = at
      const [whole = '', final, command, end, string, escape] = SEQUENCE.exec(text) ?? []
      const isLast = at + whole.length >= text.length - (command !== undefined && text.endsWith('\x1b') ? 1 : 0)
      if (string !== undefined) this.#isInString = true
      else if (final ?? end ?? escape) shown += command === undefined ? passed(whole) : passedCommand(command)
      else if (isLast && whole.length <= (command === undefined ? MAX_SEQUENCE : MAX_COMMAND)) {
        this.#held = text.slice(at)
        break
      } else this.#isInString = command !== undefined
      from = at + Math.max(whole.length, 1)
    }
    return shown
  }

  /** Forgets a sequence that is not complete, so that it hides nothing of what comes next. */
  reset (): void {
    this.#held = ''
    this.#isInString = false
  }
}

function nextOf (pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}

function passed (sequence: string): string {
  return PASSED.test(sequence) ? sequence : ''
}

function passedCommand (command: string): string {
  return command.length <= MAX_COMMAND && PASSED_COMMAND.test(command) ? `\x1b]${command}\x07` : ''
}

/** Where filtered output can be cut: the first place from `at` on that is not inside of a sequence or a character. */
export function cutFrom (text: string, at: number): number {
  const escape = text.lastIndexOf('\x1b', at - 1)
  if (escape >= 0 && at - escape <= MAX_COMMAND + 3) {
    SEQUENCE.lastIndex = escape
    at = Math.max(at, escape + (SEQUENCE.exec(text)?.[0].length ?? 0))
  }
  return /[\udc00-\udfff]/.test(text[at] ?? '') ? at + 1 : at
}

/** Modes that are on when a terminal begins: lines wrap, the cursor is seen. */
const USUALLY_ON: ReadonlySet<string> = new Set(['7', '25'])

/** The modes that a program changes and another one trips over: keys, screens, cursor, mouse, focus, bracketed paste. */
const MODES = /^(?:1|5|7|9|25|66|1049|100[0-7]|101[56]|2004)$/

/** Matches the filtered sequences that change a mode: of a list of modes, of the keypad, and those that set all back. */
// eslint-disable-next-line no-control-regex
const CHANGE = /\x1b(?:\[\?([\d;]*)([hl])|([=>])|(c)|\[!p)/g

/** The modes in which filtered output leaves a terminal, as far as they are not those in which a terminal begins. */
export class TerminalModes {
  readonly #changed = new Set<string>()

  see (text: string): void {
    for (const [, modes, set, keypad, reset] of text.matchAll(CHANGE)) {
      if (modes !== undefined) for (const mode of modes.split(';')) this.#change(mode, set === 'h')
      else if (keypad !== undefined) this.#change('66', keypad === '=')
      else if (reset !== undefined) this.#changed.clear()
      else for (const mode of ['1', '25', '66']) this.#changed.delete(mode)
    }
  }

  /** The sequences that bring a terminal from its first modes into these; with `isBack`, from these into its first ones. */
  text (isBack = false): string {
    return Array.from(this.#changed, mode => `\x1b[?${mode}${USUALLY_ON.has(mode) === isBack ? 'h' : 'l'}`).join('')
  }

  #change (given: string, isOn: boolean): void {
    // Three modes name the other screen.
    const mode = given === '47' || given === '1047' ? '1049' : given
    if (!MODES.test(mode)) return
    if (isOn === USUALLY_ON.has(mode)) this.#changed.delete(mode)
    else this.#changed.add(mode)
  }
}
