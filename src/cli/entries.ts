import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { text as readStream } from 'node:stream/consumers'
import type { Command } from 'commander'
import { contentHash, isJsonObject, type Json, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import { withArticle } from '../base/text.ts'
import { asPromptObject, decodeEnviron, decodeJson, decodeTemplate } from '../registry/kinds/entry-kind.ts'
import { readSkillText } from '../registry/kinds/skill-definition.ts'
import type { KeyKind } from '../store/store.ts'
import { yamlToJson } from '../store/decode-value.ts'
import { type ApiClient, apiPath, searchOf, type TaggedReply } from './api-client.ts'
import { type Output, usageError } from './output.ts'

export interface CliKind extends KeyKind {
  /** `prompts` for `/api/prompts`. */
  readonly name: string
  /** `prompt` for `aps prompt …`. */
  readonly command: string
  readonly alias?: string
  readonly noun: string
  /** Below `/api`, before the id. */
  readonly path: readonly string[]
  readonly below?: string
  /** The first is the id. */
  readonly columns: readonly string[]
  readonly takesText: boolean
  /** The reply can have more members, such as diagnostics. */
  registeredIn (reply: Json): Json
  /** Throws the service's own error for a text that cannot be parsed. */
  read (text: string): Json
}

const without = (...added: readonly string[]) => (reply: Json): Json => {
  return Object.fromEntries(Object.entries(objectOf(reply)).filter(([name]) => !added.includes(name)))
}
const readJson = (text: string): Json => decodeJson(text).value

const DEFINITION = { columns: ['id', 'origin', 'description'], takesText: false, registeredIn: without('id', 'origin', 'diagnostics'), read: readJson }

/** In the order of writing: tools and shared variables before the prompts that use them, prompts before their tests. */
export const ENTRY_KINDS: readonly CliKind[] = [
  {
    key: 'tools',
    name: 'tools',
    command: 'tool',
    noun: 'tool',
    path: ['tools'],
    columns: ['id', 'function', 'type', 'description'],
    takesText: false,
    registeredIn: reply => objectOf(objectOf(reply)['registration']),
    read: readJson
  },
  {
    key: 'environs',
    name: 'environs',
    command: 'environ',
    alias: 'variable',
    noun: 'shared variable',
    path: ['environs'],
    columns: ['id'],
    takesText: true,
    registeredIn: reply => reply,
    read: text => decodeEnviron(text).value
  },
  {
    key: 'templates',
    hasDotprompt: true,
    name: 'prompts',
    command: 'prompt',
    noun: 'prompt',
    path: ['prompts'],
    columns: ['id', 'state', 'syntax', 'form', 'description'],
    takesText: true,
    registeredIn: reply => objectOf(objectOf(reply)['prompt']),
    read: text => asPromptObject(decodeTemplate(text).value)
  },
  {
    key: 'extensions',
    name: 'extensions',
    command: 'extension',
    noun: 'extension',
    path: ['extensions'],
    columns: ['id', 'version', 'state', 'description'],
    takesText: false,
    registeredIn: without('id', 'state', 'diagnostics'),
    read: readJson
  },
  { ...DEFINITION, key: 'agents', name: 'agents', command: 'agents', noun: 'agent', path: ['agents'] },
  {
    ...DEFINITION,
    key: 'skills',
    file: 'SKILL.md',
    name: 'skills',
    command: 'skills',
    noun: 'skill',
    path: ['skills', 'definitions'],
    takesText: true,
    read: readSkill
  },
  { ...DEFINITION, key: 'plans', name: 'plans', command: 'plans', noun: 'plan profile', path: ['plans', 'profiles'] },
  {
    key: 'tests',
    name: 'tests',
    command: 'tests',
    noun: 'list of tests',
    path: ['prompts'],
    below: 'tests',
    columns: ['id', 'cases'],
    takesText: false,
    registeredIn: reply => objectOf(reply)['tests'] ?? null,
    read: readJson
  }
]

/** As the service's ETag: two spellings of one value have one hash. Throws for a text that cannot be parsed. */
export function tagOf (kind: CliKind, text: string): string {
  return contentHash(kind.read(text))
}

function readSkill (text: string): Json {
  const { value } = decodeTemplate(text)
  return typeof value === 'string' ? readSkillText(value).source : value
}

export interface EntryText {
  readonly text: string
  readonly type: 'application/json' | 'text/plain'
}

/** A YAML map without one of these is taken for a plain text. */
const PROMPT_TEXTS = ['messages', 'userPrompt', 'prompt']

/** `-` is stdin. @throws CliError */
export async function readEntryText (kind: CliKind, path: string, stdin: Readable, signal: AbortSignal): Promise<EntryText> {
  if (path === '-') return entryTextOf(kind, await readStream(addAbortSignal(signal, stdin)), '')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${path} cannot be read: ${error.code ?? error.message}`)
  })
  return entryTextOf(kind, text, extname(path))
}

/** @param extension `.json`, `.yaml`, `.yml`; with any other the form is guessed from the text @throws CliError */
export function entryTextOf (kind: CliKind, text: string, extension: string): EntryText {
  if (extension === '.json') return { text, type: 'application/json' }
  if (extension === '.yaml' || extension === '.yml') return json(ofYaml(text))
  if (text.trim() === '') throw usageError(`expected ${withArticle(kind.noun)}, got nothing`)
  if (isJson(text)) return { text, type: 'application/json' }
  if (!kind.takesText) return json(ofYaml(text))
  return isPromptInYaml(kind, text) ? json(ofYaml(text)) : { text, type: 'text/plain' }
}

/** JSON if it parses as JSON, else a plain text. */
export function valueTextOf (given: string): EntryText {
  return isJson(given) ? { text: given, type: 'application/json' } : { text: given, type: 'text/plain' }
}

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

function isPromptInYaml ({ key }: CliKind, text: string): boolean {
  if (key !== 'templates') return false
  const value = yamlToJson(text)
  const read: Json = value.kind === 'text' ? parseJson(value.text) : null
  return isJsonObject(read) && PROMPT_TEXTS.some(name => Object.hasOwn(read, name))
}

export function pathOf ({ path, below }: CliKind, id: string): string {
  return apiPath('api', ...path, id, ...(below === undefined ? [] : [below]))
}

/** @throws CliError when the service refuses the entry */
export async function publish (
  api: ApiClient,
  kind: CliKind,
  id: string,
  { text, type }: EntryText,
  { conditions = {}, about = {}, isDryRun = false }: {
    conditions?: Readonly<Record<string, string>>
    about?: Readonly<Record<string, string | undefined>>
    isDryRun?: boolean
  } = {}
): Promise<TaggedReply & { readonly isNew: boolean }> {
  const search = searchOf(isDryRun ? { dryRun: 'true' } : about)
  return await api.put(`${pathOf(kind, id)}${search === '' ? '' : `?${search}`}`, text, { 'content-type': type, ...conditions })
}

export async function tellDiagnostics (output: Output, diagnostics: Json | undefined): Promise<void> {
  for (const { severity, message } of listOf(diagnostics).map(objectOf)) await output.words(`${textOf(severity)}: ${textOf(message)}`)
}

export interface IdOptions { readonly id?: string }

export function withId (command: Command, { noun }: Pick<CliKind, 'noun'>): Command {
  return command.argument('[id]', `the ${noun}`).option('-i, --id <id>', `the ${noun}, where it is no argument`)
}

/** @throws CliError if the user gives none, or two that differ */
export function idOf ({ noun, command }: Pick<CliKind, 'noun' | 'command'>, argument: string | undefined, { id = argument }: IdOptions): string {
  if (id === undefined || id === '') throw usageError(`expected the id of ${withArticle(noun)}; aps ${command} list shows them`)
  if (argument !== undefined && id !== argument) throw usageError(`expected one id, got "${argument}" and "${id}"`)
  return id
}
