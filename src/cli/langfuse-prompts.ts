import { contentHash, isJsonObject, type Json, type JsonObject, listOf, objectOf, stringifyJson, textOf } from '../base/json.ts'
import { RejectedEntry } from '../registry/diagnostic.ts'
import { mapTexts, parsePromptDefinition } from '../registry/kinds/prompt-definition.ts'
import { isLabel, LATEST, MAX_LABELS } from '../registry/kinds/release-record.ts'
import { checkPromptId, type PromptReference, siblingOf } from '../registry/link/references.ts'
import { findUnstorable } from '../service/publish-entry.ts'

export interface LangfuseReference {
  readonly name: string
  readonly by: 'label' | 'version'
  readonly release: string
}

/** https://langfuse.com/docs/prompt-management/features/composability */
const TAGS = /(?<!\\)(\\*)\{\{(?:\s*([^{}\s\\#^>!/&=][^{}\s\\]*)\s*\}\}|([^{}]*\}\}))?|@@@langfusePrompt:(.*?)@@@/g

const REFERENCE = /^name=([^|]+)\|(label|version)=([^|]+)$/

/** Braces other than `{{x}}` stay plain text, as in Langfuse. @param onText called with each tag that stays plain text */
export function templateFrom (text: string, refer: (reference: LangfuseReference) => string, onText: (tag: string) => void = () => undefined): string {
  return text.replaceAll(TAGS, (tag: string, slashes = '', variable: string | undefined, rest = '', wanted: string | undefined, at: number) => {
    if (variable !== undefined) return `${inFront(slashes)}{{variables.${pathOf(variable)}}}`
    if (wanted !== undefined) {
      const [, name, by, release] = REFERENCE.exec(wanted) ?? []
      if (name === undefined || release === undefined) {
        onText(tag)
        return tag
      }
      // Handlebars drops the line end behind a partial alone on its line, and indents its text; not beside a comment.
      return `{{> "${refer({ name, by: by as 'label' | 'version', release })}"}}${isAlone(text, at, tag) ? '{{!}}' : ''}`
    }
    if (rest !== '') onText(tag.slice(slashes.length))
    // The empty comment separates the text's backslashes from the one that makes the braces plain.
    return `${slashes === '' ? '' : `${inFront(slashes)}{{!}}`}\\{{${rest}`
  })
}

/** Handlebars removes one of two or more backslashes; a single one would make the tag plain text. */
function inFront (slashes: string): string {
  return slashes === '' ? '' : `${slashes}\\`
}

function pathOf (variable: string): string {
  const segments = variable.split('.')
  return (segments.includes('') ? [variable] : segments).map(segment => {
    const isPlain = /^[A-Za-z_]\w*$/.test(segment) && !/^(?:this|true|false|null|undefined|as)$/.test(segment)
    return isPlain ? segment : `[${segment.replaceAll(']', '\\]')}]`
  }).join('.')
}

function isAlone (text: string, at: number, tag: string): boolean {
  const from = text.slice(0, at).lastIndexOf('\n') + 1
  const [rest = ''] = text.slice(at + tag.length).split('\n', 1)
  return `${text.slice(from, at)}${rest}`.trim() === ''
}

export interface ImportedVersion {
  readonly n: number
  readonly entry: JsonObject
  /** For a service that numbers versions itself. */
  readonly renumbered: (numberOf: (id: string, n: number) => number) => JsonObject
  readonly references: readonly PromptReference[]
  readonly at: string
  readonly by: string
  readonly note: string | undefined
}

export interface ImportedPrompt {
  readonly id: string
  /** The oldest first. */
  readonly versions: readonly ImportedVersion[]
  readonly labels: ReadonlyMap<string, number>
}

interface NamedItems {
  readonly id: string
  readonly name: string
  readonly items: ReadonlyArray<{ readonly n: number, readonly item: JsonObject }>
  readonly labels: ReadonlyMap<string, number>
  /** With those that have no place here: a reference can name one. */
  readonly allLabels: ReadonlyMap<string, number>
}

/** All other members of `config` are for the user's own programs. */
const SETTINGS: ReadonlySet<string> = new Set([
  'model', 'temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'stop', 'seed', 'presence_penalty', 'frequency_penalty',
  'reasoning_effort', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format'
])

const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

const LEFT_OUT = 'is left out: labels here are lower-case letters, digits, - and _'

const MAX_NOTE = 1000

/** A list, or an object with one as `data` or `prompts`; `undefined` for no export. */
export function versionsIn (value: Json): readonly Json[] | undefined {
  if (Array.isArray(value)) return value as readonly Json[]
  if (!isJsonObject(value)) return undefined
  return [value['data'], value['prompts']].find(each => Array.isArray(each)) as readonly Json[] | undefined
}

export function readLangfuse (versions: readonly Json[]) {
  const remarks: string[] = []
  const problems: string[] = []
  const named = sorted(versions.map(objectOf), remarks, problems)
  const prompts = Array.from(named.values(), ({ id, name, items, labels }): ImportedPrompt => ({
    id,
    labels,
    versions: items.flatMap(({ n, item }) => {
      const about = (list: string[]) => (text: string) => { list.push(`${name} version ${n}: ${text}`) }
      const version = versionFrom(id, n, item, named, about(remarks), about(problems))
      return version === undefined ? [] : [version]
    })
  }))
  return { prompts, remarks, problems }
}

function sorted (items: readonly JsonObject[], remarks: string[], problems: string[]): ReadonlyMap<string, NamedItems> {
  const named = new Map<string, { readonly name: string, readonly byNumber: Map<number, JsonObject> }>()
  for (const item of items) {
    const name = textOf(item['name'])
    const n = Number(item['version'] ?? 1)
    const id = idOf(name)
    const problem = (text: string) => { problems.push(`${name === '' ? '(no name)' : name} version ${String(item['version'] ?? 1)}: ${text}`) }
    const known = named.get(id) ?? { name, byNumber: new Map<number, JsonObject>() }
    const twin = known.byNumber.get(n)
    if (id === '' || !Number.isSafeInteger(n) || n < 1) problem('expected a name, and a version that is a number from 1 on')
    else if (known.name !== name) problem(`its id would be ${id}, as that of ${known.name}; give one of them another name`)
    else if (twin !== undefined && contentHash(twin) !== contentHash(item)) problem('is there twice, and the two differ')
    else named.set(id, { name, byNumber: known.byNumber.set(n, item) })
  }
  return new Map(Array.from(named, ([id, { name, byNumber }]) => {
    const ordered = Array.from(byNumber, ([n, item]) => ({ n, item })).sort((one, other) => one.n - other.n)
    const allLabels = new Map<string, number>()
    for (const { n, item } of ordered) {
      for (const label of listOf(item['labels']).map(textOf)) {
        const before = allLabels.get(label)
        if (before !== undefined) remarks.push(`${name} version ${n}: takes the label "${label}" from version ${before}`)
        // `latest` means the version published last, in both systems.
        if (label === LATEST) continue
        allLabels.set(label, n)
        if (!isLabel(label)) remarks.push(`${name} version ${n}: the label "${label}" ${LEFT_OUT}`)
      }
    }
    const labels = new Map([...allLabels].filter(([label]) => isLabel(label)))
    if (labels.size > MAX_LABELS) problems.push(`${name}: has ${labels.size} labels; at most ${MAX_LABELS} are allowed`)
    return [id, { id, name, items: ordered, labels, allLabels }]
  }))
}

function idOf (name: string): string {
  return name.replaceAll(/[/:\\.]+/g, '.').replace(/^\./, '').replace(/\.$/, '')
}

function versionFrom (
  id: string,
  n: number,
  item: JsonObject,
  named: ReadonlyMap<string, NamedItems>,
  remark: (text: string) => void,
  problem: (text: string) => void
): ImportedVersion | undefined {
  const references: PromptReference[] = []
  const asText: string[] = []
  const refer = (reference: LangfuseReference) => {
    const meant = meantBy(reference, id, named, remark, problem)
    references.push(meant)
    return `${meant.id}@${meant.label ?? meant.version ?? ''}`
  }
  const entry = entryFrom(item, text => templateFrom(text, refer, tag => asText.push(tag)), remark)
  if (asText.length > 0) remark(`${[...new Set(asText)].slice(0, 5).join(', ')} ${asText.length === 1 ? 'is' : 'are'} text, as no variable has such a name`)
  try {
    checkPromptId(id)
    parsePromptDefinition(entry)
    const [unstorable] = findUnstorable(id, stringifyJson(entry))
    if (unstorable !== undefined) throw new RejectedEntry([unstorable])
  } catch (error) {
    if (!(error instanceof RejectedEntry)) throw error
    problem(error.message)
    return undefined
  }
  const message = textOf(item['commitMessage'])
  if (message.length > MAX_NOTE) remark(`the commit message is cut to ${MAX_NOTE} characters`)
  return {
    n,
    entry,
    renumbered: numberOf => entryFrom(item, text => templateFrom(text, reference => {
      const meant = meantBy(reference, id, named)
      return `${meant.id}@${meant.label ?? numberOf(meant.id, meant.version ?? 0)}`
    })),
    references,
    at: timeOf(item),
    by: 'langfuse',
    note: message.slice(0, MAX_NOTE) || undefined
  }
}

/** A label that has no place here is replaced by the version that it means. */
function meantBy (
  { name, by, release }: LangfuseReference,
  from: string,
  named: ReadonlyMap<string, NamedItems>,
  remark: (text: string) => void = () => undefined,
  problem: (text: string) => void = remark
): PromptReference {
  const id = idOf(name)
  const known = named.get(id)
  const near = named.get(siblingOf(from, id))
  if (near !== undefined && near.id !== id) {
    problem(`refers to ${name}, and ${near.name} would be read in its place, as it stands in the same folder; give one of them another name`)
  }
  if (/["{}]/.test(id)) problem(`refers to ${name}, whose name no reference here can have; give it another one`)
  if (by === 'version') {
    const version = Number(release)
    if (!Number.isSafeInteger(version) || version < 1) problem(`refers to ${name}, version ${release}; expected a number from 1 on`)
    else if (known?.items.some(({ n }) => n === version) !== true) remark(`refers to ${name}, version ${version}, which the export does not have`)
    return { id, version }
  }
  const version = known?.allLabels.get(release)
  if (release !== LATEST && version === undefined) remark(`refers to ${name}, label "${release}", which the export does not have`)
  if (release === LATEST || isLabel(release)) return { id, label: release }
  if (version === undefined) problem(`refers to ${name}, label "${release}": labels here are lower-case letters, digits, - and _`)
  else remark(`refers to ${name}, label "${release}", and to version ${version} here, as there is no such label`)
  return { id, version: version ?? 0 }
}

function entryFrom ({ prompt, config, tags }: JsonObject, template: (text: string) => string, remark: (text: string) => void = () => undefined): JsonObject {
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
    ...(Array.isArray(prompt)
      ? { messages: messagesFrom(prompt as readonly Json[], template, remark) }
      : { userPrompt: typeof prompt === 'string' ? template(prompt) : prompt ?? null }),
    ...(Object.keys(defaults).length === 0 ? {} : { defaults }),
    ...(Object.keys(rest).length === 0 ? {} : { 'x-langfuse': rest })
  }
}

function messagesFrom (given: readonly Json[], template: (text: string) => string, remark: (text: string) => void): Json[] {
  const messages: Json[] = []
  for (const message of given) {
    if (!isJsonObject(message)) messages.push(message)
    else if (message['type'] !== 'placeholder') messages.push(messageFrom(message, template, remark))
    else {
      const name = textOf(message['name'])
      const isSecond = messages.some(each => isJsonObject(each) && each['placeholder'] !== undefined)
      if (!isSecond) messages.push({ placeholder: 'history' })
      if (isSecond) remark(`the placeholder "${name}" is left out: a prompt has one here`)
      else if (name !== 'history') remark(`the placeholder "${name}" is where the messages of the caller go`)
    }
  }
  return messages
}

function messageFrom (
  { type: _type, role, content = null, ...rest }: JsonObject,
  template: (text: string) => string,
  remark: (text: string) => void
): JsonObject {
  const isKnown = ROLES.has(textOf(role))
  if (!isKnown) remark(`the role "${textOf(role)}" is user here`)
  const message = { role: isKnown ? textOf(role) : 'user', ...rest }
  if (typeof content === 'string') return { ...message, content: template(content) }
  if (!Array.isArray(content)) return { ...message, content: content === null && rest['tool_calls'] !== undefined ? '' : content }
  return { ...message, content: (content as readonly Json[]).map(part => isJsonObject(part) ? mapTexts(part, text => template(text)) : part) }
}

function timeOf ({ createdAt, updatedAt }: JsonObject): string {
  const time = [createdAt, updatedAt].map(textOf).find(each => !Number.isNaN(Date.parse(each)))
  return new Date(time ?? Date.now()).toISOString()
}
