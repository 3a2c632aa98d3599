import { readFile } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type Command } from 'commander'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../base/json.ts'
import { usageError } from './exit-codes.ts'

/** The options of a command that give values to a prompt's variables. */
export interface GivenParameters {
  /** The values of single variables, each as `name=value`, `name=@file` (the content of a file) or `name=@-` (stdin). */
  readonly param?: readonly string[] | undefined
  /** The values of several variables: an object as JSON or YAML, `@file` for a file that has it, or `@-` for stdin. */
  readonly args?: string | undefined
}

/** Adds the options that give variables to a command. */
export function withParameters (command: Command): Command {
  const collect = (value: string, before: readonly string[] = []) => [...before, value]
  return command
    .option('-p, --param <name=value>', 'a variable: its text, @file or @- for stdin; may be there several times', collect)
    .option('-v, --args <object>', 'variables as JSON or YAML, @file or @- for stdin')
}

/**
 * Reads the variables for a prompt: those of `--args`, and each `-p name=value`, which replaces a variable of that name and is always a
 * text.
 * @param stdin read only for `@-`
 * @param signal ends the wait for stdin
 * @throws CliError
 */
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
  // An object made from entries may have the name `__proto__`; by assignment that name would change the object's prototype.
  return Object.fromEntries([...Object.entries(given), ...texts])
}

/** Reads the value of an option: the value itself, or the content of the file (`@file`) or of stdin (`@-`) that it names. */
type Read = (what: string, value: string) => Promise<string>

function createReader (stdin: Readable, signal: AbortSignal): Read {
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

async function readObject (what: string, given: string, read: Read): Promise<JsonObject> {
  const value = await parseText(what, await read(what, given))
  if (!isJsonObject(value)) throw usageError(`${what}: expected an object of variables, as JSON or YAML`)
  return value
}

/** Parses a text as JSON, or else as YAML, whose parser is loaded only if it is needed. */
async function parseText (what: string, text: string): Promise<Json> {
  try {
    return parseJson(text)
  } catch {
    const { yamlToJson } = await import('../store/yaml-to-json.ts')
    const value = yamlToJson(text)
    if (value.kind === 'text') return parseJson(value.text)
    throw usageError(`${what}: expected JSON or YAML: ${value.kind === 'bad' ? value.reason : 'there is nothing'}`)
  }
}
