import { addAbortSignal, type Readable } from 'node:stream'
import { text as readStream } from 'node:stream/consumers'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { isJsonObject, type Json, parseJson } from '../../base/json.ts'
import { withArticle } from '../../base/text.ts'
import { yamlToJson } from '../../store/yaml-to-json.ts'
import { usageError } from '../exit-codes.ts'
import { type EntryKind } from './entry-kinds.ts'

/** The body of the PUT request that stores an entry (a prompt, a tool, an agent …): its text and content type. */
export interface EntryText {
  readonly text: string
  readonly type: 'application/json' | 'text/plain'
}

/** The members by which a YAML map is recognised as a prompt. Any other text with a colon in it is taken for a plain text. */
const PROMPT_TEXTS = ['messages', 'userPrompt', 'prompt']

/** Reads an entry from a file, or from stdin if the path is `-`. @throws CliError */
export async function readEntryText (kind: EntryKind, path: string, stdin: Readable, signal: AbortSignal): Promise<EntryText> {
  if (path === '-') return entryTextOf(kind, await readStream(addAbortSignal(signal, stdin)), '')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${path} cannot be read: ${error.code ?? error.message}`)
  })
  return entryTextOf(kind, text, extname(path))
}

/**
 * Turns the text of an entry, in JSON, in YAML or (for kinds that allow it) plain, into the body of a PUT.
 * @param extension the extension of the file: `.json`, `.yaml` or `.yml`; with any other, the form is guessed from the text
 * @throws CliError
 */
export function entryTextOf (kind: EntryKind, text: string, extension: string): EntryText {
  if (extension === '.json') return { text, type: 'application/json' }
  if (extension === '.yaml' || extension === '.yml') return json(ofYaml(text))
  if (text.trim() === '') throw usageError(`expected ${withArticle(kind.noun)}, got nothing`)
  if (isJson(text)) return { text, type: 'application/json' }
  if (!kind.takesText) return json(ofYaml(text))
  return isPromptInYaml(kind, text) ? json(ofYaml(text)) : { text, type: 'text/plain' }
}

/** The value of a shared variable as the user typed it: JSON if it parses as JSON, else a plain text. */
export function valueTextOf (given: string): EntryText {
  return isJson(given) ? { text: given, type: 'application/json' } : { text: given, type: 'text/plain' }
}

/** The text under which the service stores an entry: a plain text becomes a JSON string. */
export function storedText ({ text, type }: EntryText): string {
  return type === 'application/json' ? text : JSON.stringify(text)
}

const json = (text: string): EntryText => ({ text, type: 'application/json' })

function ofYaml (text: string): string {
  const value = yamlToJson(text)
  if (value.kind === 'text') return value.text
  const place = value.kind === 'bad' && value.place !== undefined ? ` at line ${value.place.line}, column ${value.place.column}` : ''
  throw usageError(value.kind === 'bad' ? `what was given ${value.reason}${place}` : 'there is nothing')
}

function isJson (text: string): boolean {
  try {
    parseJson(text)
    return true
  } catch {
    return false
  }
}

function isPromptInYaml ({ key }: EntryKind, text: string): boolean {
  if (key !== 'templates') return false
  const value = yamlToJson(text)
  const read: Json = value.kind === 'text' ? parseJson(value.text) : null
  return isJsonObject(read) && PROMPT_TEXTS.some(name => Object.hasOwn(read, name))
}
