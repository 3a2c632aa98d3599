import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { inOneLine, revealHidden, revealInJson } from '../base/text.ts'

/** An output stream: a terminal, a file or a pipe. */
export type OutputStream = Writable & { readonly isTTY?: boolean, readonly columns?: number, readonly rows?: number }

/** How a text looks on a terminal. */
export type Style = 'bold' | 'green' | 'red' | 'cyan' | 'blue' | 'yellow' | 'dim'

/** The space between two columns of a table. */
const GAP = '  '

/**
 * The output of a command: data goes to stdout, messages for people go to stderr. On a terminal, and in all messages, control characters
 * and invisible characters are made visible, so that a text from somebody else cannot hide anything. Data in a pipe is for programs, and is
 * written unchanged, except for the texts of dialogues.
 */
export class Output {
  readonly #stdout: OutputStream
  readonly #stderr: OutputStream
  readonly #fields: readonly string[] | undefined
  readonly #hasColour: boolean

  /**
   * @param json the value of the option `--json`: `undefined` without it, `''` for everything, else the fields to print, with commas
   * between them
   * @param hasColour whether a terminal gets colours
   */
  constructor (
    stdout: OutputStream,
    stderr: OutputStream,
    { json, hasColour = false }: { readonly json?: string | undefined, readonly hasColour?: boolean } = {}
  ) {
    this.#stdout = stdout
    this.#stderr = stderr
    this.#fields = json?.split(',').map(field => field.trim()).filter(field => field !== '')
    this.#hasColour = hasColour
  }

  /** Whether the user asked for JSON. */
  get wantsJson (): boolean {
    return this.#fields !== undefined
  }

  /** Whether stdout is a terminal that shows colours. */
  get hasColour (): boolean {
    return this.#stdout.isTTY === true && this.#hasColour
  }

  /** The terminal at which the user can be asked for a line; `undefined` if stdout or stderr is not a terminal. */
  get terminal (): OutputStream | undefined {
    return this.#stdout.isTTY === true && this.#stderr.isTTY === true ? this.#stderr : undefined
  }

  /** The size of the terminal behind stdout, in characters; `undefined` for none. */
  get size (): { readonly cols: number, readonly rows: number } | undefined {
    const { columns, rows } = this.#stdout
    return columns === undefined || rows === undefined ? undefined : { cols: columns, rows }
  }

  /** Calls a function whenever the size of the terminal changes. @returns a function that stops these calls */
  onResize (changed: () => void): () => void {
    this.#stdout.on('resize', changed)
    return () => { this.#stdout.off('resize', changed) }
  }

  /** Writes the output of a remote terminal unchanged, so that its control sequences take effect on the user's terminal. */
  async raw (text: string): Promise<void> {
    if (!this.#stdout.write(text)) await once(this.#stdout, 'drain')
  }

  /** Prints a value as JSON, with only the fields that `--json` names. @throws CliError for a field that the value does not have */
  async json (value: Json): Promise<void> {
    const fields = this.#fields ?? []
    await this.#data(`${revealInJson(stringifyJson(fields.length === 0 ? value : select(value, fields), 2))}\n`)
  }

  /** Prints a value as one line of JSON, for commands that print many values. @throws CliError for a field that the value does not have */
  async jsonLine (value: JsonObject): Promise<void> {
    const fields = this.#fields ?? []
    await this.#data(`${revealInJson(stringifyJson(fields.length === 0 ? value : select(value, fields)))}\n`)
  }

  /** Prints a table: aligned columns with a heading on a terminal, lines with tabs between the cells elsewhere. */
  async rows (columns: readonly string[], rows: ReadonlyArray<readonly string[]>): Promise<void> {
    const lines = rows.map(row => row.map(cell => inOneLine(cell).trim()))
    if (this.#stdout.isTTY !== true) return await this.#data(lines.map(row => `${row.join('\t')}\n`).join(''))
    const cells = lines.map(row => row.map(revealHidden))
    const head = columns.map(column => column.toUpperCase())
    const widths = head.map((name, index) => Math.max(...[name, ...cells.map(row => row[index] ?? '')].map(widthOf)))
    const line = (row: readonly string[]) => row.map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - widthOf(cell))).join(GAP).trimEnd()
    await this.#styled('bold', line(head))
    await this.#data(cells.map(row => `${line(row)}\n`).join(''))
  }

  /** Prints a table as `rows` does, and its heading to stderr where stdout is no terminal. */
  async table (columns: readonly string[], rows: ReadonlyArray<readonly string[]>): Promise<void> {
    if (this.#stdout.isTTY !== true) await this.words(columns.join('\t'))
    await this.rows(columns, rows)
  }

  /** Prints a text, with a line end if the text has none. */
  async text (text: string): Promise<void> {
    await this.#data(text === '' || text.endsWith('\n') ? text : `${text}\n`)
  }

  /** Prints a text of a dialogue, with hidden characters made visible. */
  async said (text: string): Promise<void> {
    await this.text(revealHidden(text))
  }

  /** Prints a heading. */
  async heading (text: string): Promise<void> {
    await this.#styled('bold', inOneLine(text).trim())
  }

  /** Prints a unified diff of one file. On a terminal, added lines are green and removed lines are red. */
  async diff (text: string): Promise<void> {
    if (!this.hasColour) return await this.said(text)
    const lines = text.replace(/\n$/, '').split('\n')
    const head = lines.findIndex(line => line.startsWith('@@'))
    for (const [index, line] of lines.entries()) await this.#styled(index < head ? 'bold' : styleOf(line), line)
  }

  /** Prints a piece of a line, in a style if the output has colours. */
  async styledPiece (style: Style | undefined, text: string): Promise<void> {
    if (style === undefined || !this.hasColour) return await this.#data(text)
    if (!this.#stdout.write(styleText(style, revealHidden(text), { validateStream: false }))) await once(this.#stdout, 'drain')
  }

  /** Prints a piece of a line. */
  async piece (text: string): Promise<void> {
    await this.#data(text)
  }

  /** Prints a prompt for the user's input, on a terminal only. */
  async prompt (text: string): Promise<void> {
    if (this.#stdout.isTTY === true) await write(this.#stderr, text)
  }

  /** Prints a line for people, to stderr. */
  async words (text: string): Promise<void> {
    await write(this.#stderr, `${revealHidden(text)}\n`)
  }

  async #data (text: string): Promise<void> {
    await write(this.#stdout, text)
  }

  /** Prints a whole line, in a style if the output has colours. */
  async #styled (style: Style | undefined, line: string): Promise<void> {
    if (style === undefined || !this.hasColour) return await this.#data(`${line}\n`)
    // Hidden characters of the text are made visible before the style is added, whose own control characters must stay.
    if (!this.#stdout.write(`${styleText(style, revealHidden(line), { validateStream: false })}\n`)) await once(this.#stdout, 'drain')
  }
}

/** The style of a line of a unified diff. The lines of the diff's heading get another style. */
function styleOf (line: string): Style | undefined {
  if (line.startsWith('+')) return 'green'
  if (line.startsWith('-')) return 'red'
  return line.startsWith('@@') ? 'cyan' : undefined
}

/**
 * Writes a text to a stream, and waits until the stream can take more. On a terminal, control characters are made visible, since the
 * terminal would obey them.
 */
async function write (stream: OutputStream, text: string): Promise<void> {
  if (!stream.write(stream.isTTY === true ? revealHidden(text) : text)) await once(stream, 'drain')
}

function widthOf (text: string): number {
  return [...text].length
}

function select (value: Json, fields: readonly string[]): Json {
  if (Array.isArray(value)) return value.map((item: Json) => select(item, fields))
  if (!isJsonObject(value)) throw usageError('--json: there are no fields to choose from')
  return Object.fromEntries(fields.map(field => {
    if (!Object.hasOwn(value, field)) throw usageError(`--json: expected fields of ${Object.keys(value).join(', ')}, got "${field}"`)
    return [field, value[field] as Json]
  }))
}

/** The exit codes of `aps`. Scripts rely on them. */
export const EXIT = {
  OK: 0,
  /** The service said no (not found, a conflict, refused), or the command has found a fault: a difference, a failed test. */
  NO: 1,
  /** The command line, or the input of the command, is wrong. */
  USAGE: 2,
  /** There is no valid token, or the token does not give the right to make the request. */
  TOKEN: 4,
  /** The service does not answer, or fails. */
  UNREACHABLE: 5,
  INTERRUPTED: 130
} as const

/** An error that ends the command with an exit code; its message is printed for the user. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number

  constructor (exitCode: number, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The error of an input that the command cannot use. */
export function usageError (message: string): CliError {
  return new CliError(EXIT.USAGE, message)
}
