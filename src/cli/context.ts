import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../base/json.ts'
import type { Environment } from '../base/text.ts'
import type { ApiClient } from './api-client.ts'
import { type Output, usageError } from './output.ts'

export interface Lines {
  /** @param draft a text to edit at a terminal @returns `undefined` when the input has ended */
  next (prompt?: string, draft?: string): Promise<string | undefined>
  close (): void
}

export function openLines ({ stdin, signal }: Cli, output: Output): Lines {
  const terminal = (stdin as { readonly isTTY?: boolean }).isTTY === true ? output.terminal : undefined
  const lines = createInterface({ input: stdin, signal, ...(terminal === undefined ? { terminal: false } : { output: terminal, terminal: true }) })
  // While a line is edited, Ctrl-C reaches this process as a key, not as a signal.
  lines.on('SIGINT', () => { process.kill(process.pid, 'SIGINT') })
  const iterator = lines[Symbol.asyncIterator]()
  let isOver = false
  return {
    async next (prompt = '> ', draft = '') {
      if (terminal === undefined) await output.prompt(prompt)
      else {
        lines.setPrompt(prompt)
        lines.prompt()
        lines.write(draft)
      }
      const { value, done } = await iterator.next()
      if (done !== true) return value
      // Further output does not continue the line of the input prompt.
      if (!isOver) await output.prompt('\n')
      isOver = true
      return undefined
    },
    close () { lines.close() }
  }
}

/** @returns `undefined` when the input has ended */
export async function askYesOrNo (lines: Lines, output: Output, prompt?: string): Promise<boolean | undefined> {
  for (;;) {
    const line = await lines.next(prompt)
    if (line === undefined) return undefined
    const word = line.trim().toLowerCase()
    if (['y', 'yes', 'да', 'д'].includes(word)) return true
    if (['n', 'no', 'нет', 'н'].includes(word)) return false
    await output.words(`expected y or n, got ${JSON.stringify(line)}`)
  }
}

export interface Cli {
  readonly stdin: Readable
  readonly environment: Environment
  /** Ctrl-C; it ends all calls of the ApiClient. */
  readonly signal: AbortSignal
  /** For an address that is not from the options, as of a service just started. @throws CliError */
  connect (url: string, token: string): ApiClient
  /** @throws CliError */
  open (command: Command): { readonly api: ApiClient, readonly output: Output }
}

export interface GivenParameters {
  /** Each `name=value`, `name=@file` or `name=@-` (stdin). */
  readonly param?: readonly string[] | undefined
  /** JSON or YAML, `@file`, or `@-` for stdin. */
  readonly args?: string | undefined
}

export function withParameters (command: Command): Command {
  const collect = (value: string, before: readonly string[] = []) => [...before, value]
  return command
    .option('-p, --param <name=value>', 'a variable: its text, @file or @- for stdin; may be there several times', collect)
    .option('-v, --args <object>', 'variables as JSON or YAML, @file or @- for stdin')
}

/** `-p` replaces a variable of `--args`, and is always a text. @param stdin read only for `@-` @throws CliError */
export async function readParameters ({ param = [], args }: GivenParameters, stdin: Readable, signal: AbortSignal): Promise<JsonObject> {
  const read = createReader(stdin, signal)
  const given = args === undefined ? {} : await readObject('--args', args, read)
  const texts: Array<[string, Json]> = []
  for (const parameter of param) {
    const equals = parameter.indexOf('=')
    if (equals < 1) throw usageError(`-p: expected name=value, name=@file or name=@-, got "${parameter}"`)
    const name = parameter.slice(0, equals)
    texts.push([name, await read(`-p ${name}`, parameter.slice(equals + 1))])
  }
  // Security: made from entries, since assigning `__proto__` would change the prototype.
  return Object.fromEntries([...Object.entries(given), ...texts])
}

type OptionReader = (what: string, value: string) => Promise<string>

function createReader (stdin: Readable, signal: AbortSignal): OptionReader {
  let user: string | undefined
  return async (what, value) => {
    if (!value.startsWith('@')) return value
    const path = value.slice(1)
    if (path !== '-') {
      const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
        throw usageError(`${what}: ${path} cannot be read: ${error.code ?? error.message}`)
      })
      return decode(what, bytes)
    }
    if (user !== undefined) throw usageError(`${what}: stdin can be read once, and ${user} has it`)
    user = what
    return decode(what, await buffer(addAbortSignal(signal, stdin)))
  }
}

function decode (what: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw usageError(`${what}: expected UTF-8`)
  }
}

async function readObject (what: string, given: string, read: OptionReader): Promise<JsonObject> {
  const value = await parseText(what, await read(what, given))
  if (!isJsonObject(value)) throw usageError(`${what}: expected an object of variables, as JSON or YAML`)
  return value
}

/** The YAML parser is loaded only if it is needed. */
async function parseText (what: string, text: string): Promise<Json> {
  try {
    return parseJson(text)
  } catch {
    const { yamlToJson } = await import('../store/decode-value.ts')
    const value = yamlToJson(text)
    if (value.kind === 'text') return parseJson(value.text)
    throw usageError(`${what}: expected JSON or YAML: ${value.kind === 'bad' ? value.reason : 'there is nothing'}`)
  }
}
