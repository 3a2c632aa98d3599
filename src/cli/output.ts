import { once } from 'node:events'
import { type Writable } from 'node:stream'
import { styleText } from 'node:util'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { revealHidden, revealInJson } from '../base/text.ts'
import { usageError } from './exit-codes.ts'

/** A stream that may be a terminal. */
export type OutputStream = Writable & { readonly isTTY?: boolean, readonly columns?: number, readonly rows?: number }

/** How a text looks on a terminal. */
export type Style = 'bold' | 'green' | 'red' | 'cyan' | 'blue' | 'yellow' | 'dim'

/** The space between two columns of a table. */
const GAP = '  '

/**
 * Writes data to stdout and words to stderr. A terminal, words and what is said in a dialogue are for people: nothing hides there, whoever
 * has sent it. Data in a pipe is for programs, and stays as it is.
 */
export class Output {
  readonly #stdout: OutputStream
  readonly #stderr: OutputStream
  readonly #fields: readonly string[] | undefined
  readonly #hasColour: boolean

  /**
   * @param json what `--json` says: `undefined` without it, `''` for everything, else fields with commas between them
   * @param hasColour whether a terminal is written to in colour
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

  /** Whether JSON is asked for. */
  get wantsJson (): boolean {
    return this.#fields !== undefined
  }

  /** Whether what is printed is seen in colour. */
  get hasColour (): boolean {
    return this.#stdout.isTTY === true && this.#hasColour
  }

  /** Where lines can be asked for, and seen while they are edited. */
  get terminal (): OutputStream | undefined {
    return this.#stdout.isTTY === true && this.#stderr.isTTY === true ? this.#stderr : undefined
  }

  /** How large the terminal is that is written to; `undefined` for none. */
  get size (): { readonly cols: number, readonly rows: number } | undefined {
    const { columns, rows } = this.#stdout
    return columns === undefined || rows === undefined ? undefined : { cols: columns, rows }
  }

  /** Calls a function whenever the size of the terminal changes. @returns a function that ends this */
  onResize (changed: () => void): () => void {
    this.#stdout.on('resize', changed)
    return () => { this.#stdout.off('resize', changed) }
  }

  /** What another terminal shows, as it is: a terminal obeys it. */
  async raw (text: string): Promise<void> {
    if (!this.#stdout.write(text)) await once(this.#stdout, 'drain')
  }

  /** JSON, of the fields that were asked for. @throws CliError for a field that is not there */
  async json (value: Json): Promise<void> {
    const fields = this.#fields ?? []
    await this.#data(`${revealInJson(stringifyJson(fields.length === 0 ? value : select(value, fields), 2))}\n`)
  }

  /** Prints a value as one line of JSON, for commands that print many. @throws CliError for a field that is not there */
  async jsonLine (value: JsonObject): Promise<void> {
    const fields = this.#fields ?? []
    await this.#data(`${revealInJson(stringifyJson(fields.length === 0 ? value : select(value, fields)))}\n`)
  }

  /** Aligned columns below their names on a terminal; rows with tabs between cells elsewhere. */
  async rows (columns: readonly string[], rows: ReadonlyArray<readonly string[]>): Promise<void> {
    const lines = rows.map(row => row.map(inOneLine))
    if (this.#stdout.isTTY !== true) return await this.#data(lines.map(row => `${row.join('\t')}\n`).join(''))
    const cells = lines.map(row => row.map(revealHidden))
    const head = columns.map(column => column.toUpperCase())
    const widths = head.map((name, index) => Math.max(...[name, ...cells.map(row => row[index] ?? '')].map(widthOf)))
    const line = (row: readonly string[]) => row.map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - widthOf(cell))).join(GAP).trimEnd()
    await this.#styled('bold', line(head))
    await this.#data(cells.map(row => `${line(row)}\n`).join(''))
  }

  /** A text, and a line end where it has none. */
  async text (text: string): Promise<void> {
    await this.#data(text === '' || text.endsWith('\n') ? text : `${text}\n`)
  }

  /** Prints a text of a dialogue, with hidden characters made visible. */
  async said (text: string): Promise<void> {
    await this.text(revealHidden(text))
  }

  /** A heading of what follows. */
  async heading (text: string): Promise<void> {
    await this.#styled('bold', inOneLine(text))
  }

  /** A unified diff of one file: on a terminal what comes is green, what goes is red. */
  async diff (text: string): Promise<void> {
    if (!this.hasColour) return await this.said(text)
    const lines = text.replace(/\n$/, '').split('\n')
    const head = lines.findIndex(line => line.startsWith('@@'))
    for (const [index, line] of lines.entries()) await this.#styled(index < head ? 'bold' : styleOf(line), line)
  }

  /** A piece of a text in a style, where there is colour. */
  async styledPiece (style: Style | undefined, text: string): Promise<void> {
    if (style === undefined || !this.hasColour) return await this.#data(text)
    if (!this.#stdout.write(styleText(style, revealHidden(text), { validateStream: false }))) await once(this.#stdout, 'drain')
  }

  /** A piece of a text. */
  async piece (text: string): Promise<void> {
    await this.#data(text)
  }

  /** Asks for a line, where somebody sees it. */
  async prompt (text: string): Promise<void> {
    if (this.#stdout.isTTY === true) await write(this.#stderr, text)
  }

  /** Words for people, a line of them. */
  async words (text: string): Promise<void> {
    await write(this.#stderr, `${revealHidden(text)}\n`)
  }

  async #data (text: string): Promise<void> {
    await write(this.#stdout, text)
  }

  /** A line in a style, where there is colour. */
  async #styled (style: Style | undefined, line: string): Promise<void> {
    if (style === undefined || !this.hasColour) return await this.#data(`${line}\n`)
    // The style is ours and stays; what it is put around is shown first.
    if (!this.#stdout.write(`${styleText(style, revealHidden(line), { validateStream: false })}\n`)) await once(this.#stdout, 'drain')
  }
}

/** How a line of a unified diff looks, behind its head. */
function styleOf (line: string): Style | undefined {
  if (line.startsWith('+')) return 'green'
  if (line.startsWith('-')) return 'red'
  return line.startsWith('@@') ? 'cyan' : undefined
}

/** Writes within what the reader takes. A terminal would obey control characters, whoever has sent them. */
async function write (stream: OutputStream, text: string): Promise<void> {
  if (!stream.write(stream.isTTY === true ? revealHidden(text) : text)) await once(stream, 'drain')
}

/** A cell, whose tabs and line ends would make others of it. */
function inOneLine (text: string): string {
  return text.replaceAll(/\s*[\t\r\n]\s*/g, ' ').trim()
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
