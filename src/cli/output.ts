import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { inOneLine, revealHidden, revealInJson } from '../base/text.ts'

export type OutputStream = Writable & { readonly isTTY?: boolean, readonly columns?: number, readonly rows?: number }

export type Style = 'bold' | 'green' | 'red' | 'cyan' | 'blue' | 'yellow' | 'dim'

const GAP = '  '

/** Security: hidden and control characters are revealed on terminals, in messages and dialogues; data in a pipe stays unchanged. */
export class Output {
  readonly #stdout: OutputStream
  readonly #stderr: OutputStream
  readonly #fields: readonly string[] | undefined
  readonly #hasColour: boolean

  /** @param json `undefined` without `--json`, `''` for everything, else the fields to print, with commas between */
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

  get wantsJson (): boolean {
    return this.#fields !== undefined
  }

  get hasColour (): boolean {
    return this.#stdout.isTTY === true && this.#hasColour
  }

  /** `undefined` if stdout or stderr is not a terminal. */
  get terminal (): OutputStream | undefined {
    return this.#stdout.isTTY === true && this.#stderr.isTTY === true ? this.#stderr : undefined
  }

  /** In characters; `undefined` for none. */
  get size (): { readonly cols: number, readonly rows: number } | undefined {
    const { columns, rows } = this.#stdout
    return columns === undefined || rows === undefined ? undefined : { cols: columns, rows }
  }

  /** @returns stops the calls */
  onResize (changed: () => void): () => void {
    this.#stdout.on('resize', changed)
    return () => { this.#stdout.off('resize', changed) }
  }

  /** Unchanged: a remote terminal's control sequences take effect. */
  async raw (text: string): Promise<void> {
    if (!this.#stdout.write(text)) await once(this.#stdout, 'drain')
  }

  /** @throws CliError for a field that the value does not have */
  async json (value: unknown): Promise<void> {
    const fields = this.#fields ?? []
    await this.#data(`${revealInJson(stringifyJson(fields.length === 0 ? value : select(value, fields), 2))}\n`)
  }

  /** @throws CliError for a field that the value does not have */
  async jsonLine (value: object): Promise<void> {
    const fields = this.#fields ?? []
    await this.#data(`${revealInJson(stringifyJson(fields.length === 0 ? value : select(value, fields)))}\n`)
  }

  /** Aligned on a terminal, lines with tabs elsewhere. */
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

  async table (columns: readonly string[], rows: ReadonlyArray<readonly string[]>): Promise<void> {
    if (this.#stdout.isTTY !== true) await this.words(columns.join('\t'))
    await this.rows(columns, rows)
  }

  async text (text: string): Promise<void> {
    await this.#data(text === '' || text.endsWith('\n') ? text : `${text}\n`)
  }

  async said (text: string): Promise<void> {
    await this.text(revealHidden(text))
  }

  async heading (text: string): Promise<void> {
    await this.#styled('bold', inOneLine(text).trim())
  }

  async diff (text: string): Promise<void> {
    if (!this.hasColour) return await this.said(text)
    const lines = text.replace(/\n$/, '').split('\n')
    const head = lines.findIndex(line => line.startsWith('@@'))
    for (const [index, line] of lines.entries()) await this.#styled(index < head ? 'bold' : styleOf(line), line)
  }

  async styledPiece (style: Style | undefined, text: string): Promise<void> {
    if (style === undefined || !this.hasColour) return await this.#data(text)
    if (!this.#stdout.write(styleText(style, revealHidden(text), { validateStream: false }))) await once(this.#stdout, 'drain')
  }

  async piece (text: string): Promise<void> {
    await this.#data(text)
  }

  async prompt (text: string): Promise<void> {
    if (this.#stdout.isTTY === true) await write(this.#stderr, text)
  }

  async words (text: string): Promise<void> {
    await write(this.#stderr, `${revealHidden(text)}\n`)
  }

  async #data (text: string): Promise<void> {
    await write(this.#stdout, text)
  }

  async #styled (style: Style | undefined, line: string): Promise<void> {
    if (style === undefined || !this.hasColour) return await this.#data(`${line}\n`)
    // Revealed before the style is added, whose own control characters must stay.
    if (!this.#stdout.write(`${styleText(style, revealHidden(line), { validateStream: false })}\n`)) await once(this.#stdout, 'drain')
  }
}

function styleOf (line: string): Style | undefined {
  if (line.startsWith('+')) return 'green'
  if (line.startsWith('-')) return 'red'
  return line.startsWith('@@') ? 'cyan' : undefined
}

/** Waits until the stream can take more; a terminal would obey control characters. */
async function write (stream: OutputStream, text: string): Promise<void> {
  if (!stream.write(stream.isTTY === true ? revealHidden(text) : text)) await once(stream, 'drain')
}

function widthOf (text: string): number {
  return [...text].length
}

function select (value: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map(item => select(item, fields))
  if (!isJsonObject(value as Json)) throw usageError('--json: there are no fields to choose from')
  const members = new Map(Object.entries(value as JsonObject))
  return Object.fromEntries(fields.map(field => {
    if (!members.has(field)) throw usageError(`--json: expected fields of ${[...members.keys()].join(', ')}, got "${field}"`)
    return [field, members.get(field)]
  }))
}

/** Scripts rely on them. */
export const EXIT = {
  OK: 0,
  /** The service said no (not found, a conflict, refused), or a difference or a failed test was found. */
  NO: 1,
  /** Wrong command line or input. */
  USAGE: 2,
  /** Others have to look first, so that nothing was done yet. */
  ASKED: 3,
  /** No valid token, or one without the right. */
  TOKEN: 4,
  UNREACHABLE: 5,
  INTERRUPTED: 130
} as const

export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number

  constructor (exitCode: number, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

export function usageError (message: string): CliError {
  return new CliError(EXIT.USAGE, message)
}
