import { addAbortSignal, type Readable } from 'node:stream'
import { text as readStream } from 'node:stream/consumers'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { isJsonObject, type Json, parseJson } from '../../base/json.ts'
import { withArticle } from '../../base/text.ts'
import { yamlToJson } from '../../store/yaml-to-json.ts'
import { usageError } from '../exit-codes.ts'
import { type EntryKind } from './entry-kinds.ts'

/** An entry as it is sent. */
export interface EntryText {
  readonly text: string
  readonly type: 'application/json' | 'text/plain'
}

/** Members that make a YAML map a prompt; any other text with a colon is a text. */
const PROMPT_TEXTS = ['messages', 'userPrompt', 'prompt']

/** Reads an entry of a file, or of stdin for `-`. @throws CliError */
export async function readEntryText (kind: EntryKind, path: string, stdin: Readable, signal: AbortSignal): Promise<EntryText> {
  if (path === '-') return entryTextOf(kind, await readStream(addAbortSignal(signal, stdin)), '')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${path} cannot be read: ${error.code ?? error.message}`)
  })
  return entryTextOf(kind, text, extname(path))
}

/**
 * An entry in JSON, in YAML, or, where the kind takes one, as a text.
 * @param extension of its file: `.json`, `.yaml` or `.yml`; else the text says what it is
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

/** What a value of a shared variable is meant to be: JSON if it can be, else a text. */
export function valueTextOf (given: string): EntryText {
  return isJson(given) ? { text: given, type: 'application/json' } : { text: given, type: 'text/plain' }
}

/** A text as a service stores it. */
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
