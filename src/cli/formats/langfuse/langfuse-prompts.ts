import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { isLabel, LATEST } from '../../../registry/kinds/release/release-record.ts'
import { listOf, objectOf, textOf } from '../../json-members.ts'
import { templateFrom } from './langfuse-text.ts'

/** One version of a prompt that Langfuse has exported. */
export interface ImportedVersion {
  readonly n: number
  readonly entry: JsonObject
  readonly at: string
  readonly by: string
  readonly note: string | undefined
}

/** A prompt that Langfuse has exported, with its versions and labels. */
export interface ImportedPrompt {
  readonly id: string
  /** The versions, the oldest first. */
  readonly versions: readonly ImportedVersion[]
  readonly labels: ReadonlyMap<string, number>
}

/** The prompts of a Langfuse export, and remarks about what could not be imported. */
export interface LangfuseImport {
  readonly prompts: readonly ImportedPrompt[]
  /** The reasons why parts of the export were not imported, each as `name: reason`. */
  readonly remarks: readonly string[]
}

interface PromptInMaking { readonly versions: ImportedVersion[], readonly labels: Map<string, number> }

/** The members of a Langfuse `config` that are settings of a model in OpenAI's API; all other members are for the user's own programs. */
const SETTINGS: ReadonlySet<string> = new Set([
  'model', 'temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'stop', 'seed', 'presence_penalty', 'frequency_penalty',
  'reasoning_effort', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format'
])

const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/**
 * Reads a bulk export of Langfuse: a list of versions of prompts, or an object with such a list as `data` or `prompts`.
 * @returns `undefined` for a value that is no export
 */
export function readLangfuse (value: Json): LangfuseImport | undefined {
  const list = versionsIn(value)
  if (list === undefined) return undefined
  const remarks: string[] = []
  const prompts = new Map<string, PromptInMaking>()
  for (const item of list.map(objectOf)) {
    const name = textOf(item['name'])
    const id = idOf(name)
    const n = Number(item['version'] ?? 1)
    const remark = (reason: string) => { remarks.push(`${name === '' ? '(no name)' : name} version ${String(item['version'] ?? 1)}: ${reason}`) }
    const entry = name === '' || !Number.isSafeInteger(n) || n < 1 ? undefined : entryFrom(item, remark)
    if (entry === undefined) {
      remark('left out: it has no name, no version or no prompt')
      continue
    }
    const prompt: PromptInMaking = prompts.get(id) ?? { versions: [], labels: new Map() }
    prompts.set(id, prompt)
    if (prompt.versions.some(each => each.n === n)) {
      remark(`left out: ${id} has that version already`)
      continue
    }
    prompt.versions.push({ n, entry, at: timeOf(item), by: 'langfuse', note: textOf(item['commitMessage']) || undefined })
    for (const label of listOf(item['labels']).map(textOf)) {
      // In Langfuse as in this service, the label `latest` always means the version that was published last: nothing is to be set.
      if (label === LATEST) continue
      if (isLabel(label)) prompt.labels.set(label, n)
      else remark(`the label "${label}" is left out: labels here are lower-case letters, digits, - and _`)
    }
  }
  const read = Array.from(prompts, ([id, { versions, labels }]) => ({ id, labels, versions: versions.toSorted((one, other) => one.n - other.n) }))
  return { prompts: read, remarks }
}

function versionsIn (value: Json): readonly Json[] | undefined {
  if (Array.isArray(value)) return value as readonly Json[]
  if (!isJsonObject(value)) return undefined
  return [value['data'], value['prompts']].find(each => Array.isArray(each)) as readonly Json[] | undefined
}

/** The id that a Langfuse name becomes: `team/greet` is `team.greet`. */
function idOf (name: string): string {
  return name.replaceAll(/[/:\\.]+/g, '.').replace(/^\./, '').replace(/\.$/, '')
}

function entryFrom (item: JsonObject, remark: (reason: string) => void): JsonObject | undefined {
  const { prompt, config, tags } = item
  const text = textsFrom(prompt, remark)
  if (text === undefined) return undefined
  const settings = Object.entries(objectOf(config))
  const defaults = Object.fromEntries(settings.filter(([name]) => SETTINGS.has(name)))
  const others = Object.fromEntries(settings.filter(([name]) => !SETTINGS.has(name)))
  const rest = {
    ...(Object.keys(others).length === 0 ? {} : { config: others }),
    ...(listOf(tags).length === 0 ? {} : { tags: listOf(tags) })
  }
  const names = Object.keys(others)
  if (names.length > 0) remark(`config.${names.join(', config.')} ${names.length === 1 ? 'is' : 'are'} kept under x-langfuse`)
  return {
    syntax: 'handlebars',
    ...text,
    ...(Object.keys(defaults).length === 0 ? {} : { defaults }),
    ...(Object.keys(rest).length === 0 ? {} : { 'x-langfuse': rest })
  }
}

function textsFrom (prompt: Json | undefined, remark: (reason: string) => void): JsonObject | undefined {
  if (typeof prompt === 'string') return { userPrompt: templateFrom(prompt, idOf) }
  const messages: JsonObject[] = []
  for (const message of listOf(prompt).map(objectOf)) {
    if (message['type'] !== 'placeholder') {
      messages.push(messageFrom(message, remark))
      continue
    }
    const name = textOf(message['name'])
    const isSecond = messages.some(({ placeholder }) => placeholder !== undefined)
    if (!isSecond) messages.push({ placeholder: 'history' })
    if (isSecond) remark(`the placeholder "${name}" is left out: a prompt has one here`)
    else if (name !== 'history') remark(`the placeholder "${name}" is where the messages of the caller go`)
  }
  return messages.every(({ placeholder }) => placeholder !== undefined) ? undefined : { messages }
}

function messageFrom ({ role, content, name }: JsonObject, remark: (reason: string) => void): JsonObject {
  const isKnown = ROLES.has(textOf(role))
  if (!isKnown) remark(`the role "${textOf(role)}" is user here`)
  return { role: isKnown ? textOf(role) : 'user', content: templateFrom(textOf(content), idOf), ...(typeof name === 'string' && name !== '' ? { name } : {}) }
}

function timeOf ({ createdAt, updatedAt }: JsonObject): string {
  const time = [createdAt, updatedAt].map(textOf).find(each => !Number.isNaN(Date.parse(each)))
  return new Date(time ?? Date.now()).toISOString()
}
