import { type JsonObject } from '../../base/json.ts'
import { revealHidden } from '../../base/text.ts'
import { textOf } from '../json-members.ts'
import { type Output } from '../output.ts'
import { type DialogueEvent } from './dialogue.ts'
import { showEvent } from './show-event.ts'

/** Writes one line of the detailed log. */
export type WriteLog = (line: string) => void | Promise<void>

/** Prints the events of a session, among them answers and output of commands as they are written, piece by piece. */
export class EventPrinter {
  readonly #output: Output
  readonly #writeLog: WriteLog
  /** An answer that is being shown while it is written: its effect, and what was shown of it. */
  #written = { effect: '', text: '' }
  /** Whether the output of the running command ends within a line. */
  #isMidLine = false
  /** Whether output of the check that runs was shown as it came. */
  #hasPrinted = false

  constructor (output: Output, writeLog: WriteLog) {
    this.#output = output
    this.#writeLog = writeLog
  }

  /** Prints an event; for programs, as one line of JSON. */
  async show (event: DialogueEvent): Promise<void> {
    const { type, data } = event
    if (this.#output.wantsJson) return await this.#output.jsonLine({ type, data })
    if (type === 'live') return await this.#showLive(data)
    if (type === 'stdout' && await this.#finish(data)) return
    if (this.#isMidLine) await this.print('\n')
    if (type === 'log') return await this.#writeLog(`${textOf(data['level'])} [${textOf(data['prefix'])}] ${textOf(data['text'])}`)
    await showEvent(data['check'] !== undefined && this.#hasPrinted ? { type, data: withoutOutput(data) } : event, this.#output)
    if (type === 'command') this.#hasPrinted = false
  }

  /** Prints a piece of a command's output, which need not end with its line. */
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
    if (data['type'] === 'child') return
    if (data['type'] === 'terminal.waiting') return await this.#output.words(text)
    // The reader of a pipe gets an answer once, and whole.
    if (this.#output.terminal === undefined) return
    if (data['type'] !== 'llm.delta') {
      this.#written = { effect: '', text: '' }
    } else {
      if (this.#isMidLine && this.#written.effect !== effect) await this.print('\n')
      this.#written = { effect, text: this.#written.effect === effect ? this.#written.text + text : text }
      await this.print(text)
    }
  }

  /** Shows the rest of an answer whose beginning was shown while it was written. @returns false for a text that is not that answer */
  async #finish ({ effect, text }: JsonObject): Promise<boolean> {
    const { effect: written, text: shown } = this.#written
    this.#written = { effect: '', text: '' }
    if (written === '' || effect !== written || !textOf(text).startsWith(shown)) return false
    const rest = textOf(text).slice(shown.length)
    await this.print(`${rest}${textOf(text).endsWith('\n') ? '' : '\n'}`)
    return true
  }
}

/** The data of a check's event without the output, which was shown as it came. */
function withoutOutput ({ output: _output, ...data }: DialogueEvent['data']): DialogueEvent['data'] {
  return data
}
