import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { text as readStream } from 'node:stream/consumers'
import type { Command } from 'commander'
import { contentHash, isJsonObject, type Json, parseJson } from '../base/json.ts'
import { withArticle } from '../base/text.ts'
import { asPromptObject, decodeEnviron, decodeJson, decodeTemplate } from '../registry/kinds/entry-kind.ts'
import { readSkillText } from '../registry/kinds/skill-definition.ts'
import type { KeyKind } from '../store/store.ts'
import { yamlToJson } from '../store/decode-value.ts'
import { type ApiClient, apiPath, listOf, objectOf, type TaggedReply, textOf } from './api-client.ts'
import { type Output, usageError } from './output.ts'

/** One kind of entries (prompts, tools, agents, …), as the command line knows it: its commands, its paths in the API, its columns. */
export interface EntryKind extends KeyKind {
  /** The name of the kind in listings: `prompts` for `/api/prompts`. */
  readonly name: string
  /** The name of the kind's group of commands: `prompt` for `aps prompt …`. */
  readonly command: string
  /** Another name of the group of commands. */
  readonly alias?: string
  readonly noun: string
  /** The segments of the API path before the id of an entry, below `/api`. */
  readonly path: readonly string[]
  /** The segment of the API path after the id, such as `tests`; left out for none. */
  readonly below?: string
  /** The columns of a listing; the first is the id. */
  readonly columns: readonly string[]
  /** Whether a plain text, not only JSON, can be an entry of the kind. */
  readonly takesText: boolean
  /** Takes the entry's value, as it was registered, out of the reply to a GET of the entry. The reply can have more members, such as diagnostics. */
  registeredIn (reply: Json): Json
  /**
   * Parses the stored text of an entry, written as JSON, YAML or plain text, into its value. Throws the same error as the service for a text
   * that cannot be parsed.
   */
  read (text: string): Json
}

const without = (...added: readonly string[]) => (reply: Json): Json => {
  return Object.fromEntries(Object.entries(objectOf(reply)).filter(([name]) => !added.includes(name)))
}
const readJson = (text: string): Json => decodeJson(text).value

const DEFINITION = { columns: ['id', 'origin', 'description'], takesText: false, registeredIn: without('id', 'origin', 'diagnostics'), read: readJson }

/**
 * All kinds, in the order in which entries are written: tools and shared variables come before the prompts that use them, and prompts
 * before their tests.
 */
export const ENTRY_KINDS: readonly EntryKind[] = [
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

/**
 * The hash of an entry's value, which the service sends as its ETag. Two spellings of one value have one hash. Throws for a text that
 * cannot be parsed.
 */
export function tagOf (kind: EntryKind, text: string): string {
  return contentHash(kind.read(text))
}

function readSkill (text: string): Json {
  const { value } = decodeTemplate(text)
  return typeof value === 'string' ? readSkillText(value).source : value
}

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

/** What is sent with an entry in addition to its text. */
interface Publication {
  /** The headers that make the publication conditional: `If-Match`, `If-None-Match`. */
  readonly conditions?: Readonly<Record<string, string>>
  /** The note on the change and its source, such as a git commit. A service that records versions keeps both with the new version of a prompt. */
  readonly about?: Readonly<Record<string, string>>
  /** Whether the service only checks the entry. */
  readonly isDryRun?: boolean
}

/** The API path of an entry. */
export function pathOf ({ path, below }: EntryKind, id: string): string {
  return apiPath('api', ...path, id, ...(below === undefined ? [] : [below]))
}

/** Stores an entry at the service. @throws CliError when the service refuses the entry */
export async function publish (
  api: ApiClient,
  kind: EntryKind,
  id: string,
  { text, type }: EntryText,
  { conditions = {}, about = {}, isDryRun = false }: Publication = {}
): Promise<TaggedReply & { readonly isNew: boolean }> {
  const search = new URLSearchParams(isDryRun ? { dryRun: 'true' } : about).toString()
  return await api.put(`${pathOf(kind, id)}${search === '' ? '' : `?${search}`}`, text, { 'content-type': type, ...conditions })
}

/** Prints the diagnostics (errors, warnings and hints) that a reply contains about an entry. */
export async function tellDiagnostics (output: Output, diagnostics: Json | undefined): Promise<void> {
  for (const { severity, message } of listOf(diagnostics).map(objectOf)) await output.words(`${textOf(severity)}: ${textOf(message)}`)
}

/** The option that names an entry; every command takes the id as an argument, too. */
export interface IdOptions { readonly id?: string }

/** Adds to a command both ways to name an entry: an argument and an option. */
export function withId (command: Command, { noun }: Pick<EntryKind, 'noun'>): Command {
  return command.argument('[id]', `the ${noun}`).option('-i, --id <id>', `the ${noun}, where it is no argument`)
}

/** The id of an entry, which the user gives as the argument or with `--id`. @throws CliError if the user gives none, or two that differ */
export function idOf ({ noun, command }: Pick<EntryKind, 'noun' | 'command'>, argument: string | undefined, { id = argument }: IdOptions): string {
  if (id === undefined || id === '') throw usageError(`expected the id of ${withArticle(noun)}; aps ${command} list shows them`)
  if (argument !== undefined && id !== argument) throw usageError(`expected one id, got "${argument}" and "${id}"`)
  return id
}
