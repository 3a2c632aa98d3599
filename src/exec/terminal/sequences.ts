/**
 * The escape sequences of a terminal's output. A terminal answers some of them by itself, and its answer goes the way of keys: a file that is only
 * shown could so type a line into the shell. What leaves the service has only whole sequences of the list below, and none of them is answered. So
 * all terminals read the same in it, whatever they make of half, nested or 8-bit sequences.
 * Source: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
 */

/** In UTF-16 units: a title or a link, and a sequence of another kind. */
const [MAX_COMMAND, MAX_SEQUENCE] = [4096, 256]

/** ESC, C1 controls, ENQ (which asks), CAN and SUB (which break a sequence off). */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\x05\x18\x1a\x1b\x80-\x9f]/g

// eslint-disable-next-line no-control-regex
const SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*([@-~])?|\]([^\x00-\x1f\x80-\x9f]*)(\x07|\x1b\\)?|([PX^_])|[ -/]*([0-OQ-WYZ\\`-~])?)/y

/** ESC begins the next sequence. */
// eslint-disable-next-line no-control-regex
const STRING_END = /[\x07\x18\x1a\x1b]/g

/** Not 2, since a terminal reads sequences otherwise as a VT52, and not 2048, since it is answered with a size. */
const MODE = '(?:[13-9]|12|25|40|45|47|66|69|100[0-7]|101[56]|103[4-69]|104[5-9]|2004|2026)'

const PASSED = new RegExp(
  `^\\x1b(?:\\[(?:[\\d:;]*(?:[@-MPSTXZ\`abd-hlmrsu]| q)|\\?(?:${MODE};)*${MODE}[hlrs]|\\?\\d?[JK]|>[\\d;]*m|[<=>][\\d;]*u|!p|2[23](?:;[012])?t)` +
  '|[78=>DEHMc]|[()*+][0-9A-Z<=>]|#[3-68])$'
)

const PASSED_COMMAND = /^(?:[012];|8;|(?:4|1[012]);[^?]*$|104(?:;|$)|11[012]$)/

/** Takes out what a terminal would answer, and what is not known to be answered by none. */
export class SequenceFilter {
  #held = ''
  #isInString = false

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

  /** A sequence that is not complete must hide nothing of what comes next. */
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

/** The first place from `at` on that is not inside of a sequence or a character. */
export function cutFrom (text: string, at: number): number {
  const escape = text.lastIndexOf('\x1b', at - 1)
  if (escape >= 0 && at - escape <= MAX_COMMAND + 3) {
    SEQUENCE.lastIndex = escape
    at = Math.max(at, escape + (SEQUENCE.exec(text)?.[0].length ?? 0))
  }
  return /[\udc00-\udfff]/.test(text[at] ?? '') ? at + 1 : at
}

/** Lines wrap, the cursor is seen. */
const USUALLY_ON: ReadonlySet<string> = new Set(['7', '25'])

/** A program changes these and another one trips over them. */
const MODES = /^(?:1|5|7|9|25|66|1049|100[0-7]|101[56]|2004)$/

// eslint-disable-next-line no-control-regex
const CHANGE = /\x1b(?:\[\?([\d;]*)([hl])|([=>])|(c)|\[!p)/g

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

  /** With `isBack`, from these modes into the first ones. */
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
