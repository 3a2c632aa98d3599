import { type JsonObject } from '../../base/json.ts'
import { revealHidden } from '../../base/text.ts'
import { textOf } from '../json-members.ts'
import { type Output } from '../output.ts'
import { type DialogueEvent, type Place } from './dialogue.ts'
import { showEvent } from './show-event.ts'

/** Writes one line to the detailed log of a session: to the file of the option `--log`, to stderr with `--verbose`, else nowhere. */
export type WriteLog = (line: string) => void | Promise<void>

/** Prints the events of a session. An answer of the model and the output of a command are printed piece by piece, while they are written. */
export class EventPrinter {
  readonly #output: Output
  readonly #writeLog: WriteLog
  readonly #printed: (place: Place) => Promise<string>
  /** The answer that the model is writing: `effect` is the id of the model call, and `text` is what was printed so far. */
  #written = { effect: '', text: '' }
  /** Whether the printed output does not end with a line end, so that the next event has to begin on a new line. */
  #isMidLine = false
  /** Whether a running command's output was printed piece by piece already. The event at the end of a check (a test command of a plan) repeats that output. */
  #hasPrinted = false

  /** @param printed reads what the command has printed whose end is the event at a place */
  constructor (output: Output, writeLog: WriteLog, printed: (place: Place) => Promise<string>) {
    this.#output = output
    this.#writeLog = writeLog
    this.#printed = printed
  }

  /** Prints an event; for programs, as one line of JSON. */
  async show (event: DialogueEvent): Promise<void> {
    const { type, data, place } = event
    if (this.#output.wantsJson) return await this.#output.jsonLine({ type, data })
    if (type === 'live') return await this.#showLive(data)
    if (type === 'stdout' && await this.#finish(data)) return
    if (this.#isMidLine) await this.print('\n')
    // A command that runs unasked can end before anybody follows the session: then nobody was sent its output while it ran.
    const isUnseen = type === 'command' && data['phase'] === 'ended' && data['effect'] !== undefined && data['check'] === undefined && !this.#hasPrinted
    if (isUnseen && place !== undefined) await this.#output.said(await this.#printed(place))
    if (type === 'log') return await this.#writeLog(`${textOf(data['level'])} [${textOf(data['prefix'])}] ${textOf(data['text'])}`)
    await showEvent(data['check'] !== undefined && this.#hasPrinted ? { type, data: withoutOutput(data) } : event, this.#output)
    if (type === 'command') this.#hasPrinted = false
  }

  /** Prints a piece of a command's output. The piece can end in the middle of a line. */
  async print (text: string): Promise<void> {
    if (this.#output.wantsJson) return await this.#output.jsonLine({ type: 'live', data: { type: 'command.output', text } })
    this.#isMidLine = !text.endsWith('\n')
    await this.#output.piece(revealHidden(text))
  }

  async #showLive (data: JsonObject): Promise<void> {
    const [effect, text] = [textOf(data['effect']), textOf(data['text'])]
    if (data['type'] === 'command.output') {
      this.#hasPrinted = true
      return await this.print(text)
    }
    if (data['type'] === 'child' || data['type'] === 'llm.progress') return
    if (data['type'] === 'terminal.waiting') return await this.#output.words(text)
    // If the output is no terminal, an answer is printed only once, when it is complete.
    if (this.#output.terminal === undefined) return
    if (data['type'] !== 'llm.delta') {
      this.#written = { effect: '', text: '' }
    } else {
      if (this.#isMidLine && this.#written.effect !== effect) await this.print('\n')
      this.#written = { effect, text: this.#written.effect === effect ? this.#written.text + text : text }
      await this.print(text)
    }
  }

  /**
   * Prints the rest of an answer whose beginning was printed while the model wrote it.
   * @returns false for any other text, of which nothing is printed here
   */
  async #finish ({ effect, text }: JsonObject): Promise<boolean> {
    const { effect: written, text: shown } = this.#written
    this.#written = { effect: '', text: '' }
    if (written === '' || effect !== written || !textOf(text).startsWith(shown)) return false
    const rest = textOf(text).slice(shown.length)
    await this.print(`${rest}${textOf(text).endsWith('\n') ? '' : '\n'}`)
    return true
  }
}

/** The data of an event about a check (a test command of a plan), without the check's output, which was printed already. */
function withoutOutput ({ output: _output, ...data }: DialogueEvent['data']): DialogueEvent['data'] {
  return data
}
