import type { TextName } from '../../base/errors.ts'
import type { JsonPath } from '../../base/json-places.ts'
import { isJsonObject, type Json, type JsonObject, ownField } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import type { Syntax } from '../../template/language.ts'
import { type Diagnostic, ofPart, reject, RejectedEntry } from '../diagnostic.ts'
import { entrySchema, lintFields } from '../entries/entry-schemas.ts'
import { asPromptObject } from './entry-kind.ts'

/** `member`: the path of the text in the part, such as `image_url.url`. */
type MapText = (text: string, member: string) => string

/** The model's provider fetches data from these addresses. */
const URLS: ReadonlySet<string> = new Set(['image_url.url'])

/** Some providers also accept an address there. */
const MEDIA: ReadonlySet<string> = new Set(['file.file_data', 'input_audio.data'])

export function mapTexts (part: JsonObject, map: MapText): JsonObject {
  return mapMembers(part, '', (text, member) => member === 'type' ? text : map(text, member))
}

/** The text of a text part always; any other one when it holds a tag. */
export function isTemplate (part: JsonObject, text: string, member: string): boolean {
  return isOwnText(part, member) || text.includes('{{')
}

export function isOwnText (part: JsonObject, member: string): boolean {
  return member === 'text' && part['type'] === 'text'
}

/** In words. Media must be at a public address or inside the request, because the service itself fetches nothing. */
export function whyUnfit (part: JsonObject, text: string, member: string): string | undefined {
  if (isOwnText(part, member)) return undefined
  if (text === '') return 'must not be empty'
  if (URLS.has(member)) return isUrl(text) ? undefined : `must be an https: or data: URL${instead(text)}`
  return !MEDIA.has(member) || !text.includes(':') || isUrl(text) ? undefined : `must be base64, or a data: or https: URL${instead(text)}`
}

function isUrl (text: string): boolean {
  return /^data:[^,\s]*,/i.test(text) || (/^https:\/\/[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text))
}

/** Shows only the scheme (`ftp:`), because the rest is perhaps a secret. */
function instead (text: string): string {
  const scheme = /^[a-z][a-z\d+.-]{0,30}:/i.exec(text)?.[0].toLowerCase()
  return scheme === undefined || scheme === 'https:' || scheme === 'data:' ? '' : `, not ${scheme}`
}

function mapMembers (object: JsonObject, path: string, map: MapText): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, mapValue(value, path === '' ? name : `${path}.${name}`, map)]))
}

function mapValue (value: Json, path: string, map: MapText): Json {
  if (typeof value === 'string') return map(value, path)
  if (Array.isArray(value)) return (value as readonly Json[]).map((item, index) => mapValue(item, `${path}.${index}`, map))
  return isJsonObject(value) ? mapMembers(value, path, map) : value
}

/** `rest` is passed on as it is: `name`, `tool_call_id`. */
export type StoredMessage =
  | { readonly kind: 'text', readonly role: string, readonly content: string, readonly rest: JsonObject }
  | { readonly kind: 'parts', readonly role: string, readonly parts: readonly JsonObject[], readonly rest: JsonObject }
  | { readonly kind: 'history' }

export interface PromptText {
  readonly text: string
  readonly message: number
  readonly where: TextName | undefined
}

/** @throws RejectedEntry for a second history, one without other messages, and a part that no model can take */
function toStoredMessages (messages: readonly JsonObject[]): readonly StoredMessage[] {
  const stored = messages.map(toStoredMessage)
  for (const [index, message] of stored.entries()) {
    if (message.kind === 'parts') message.parts.forEach((part, number) => { checkPart(part, ['messages', index, 'content', number]) })
  }
  const history = stored.flatMap(({ kind }, index) => kind === 'history' ? [index] : [])
  if (history.length > 1) throw reject('SCHEMA', `messages.${history[1]}: the placeholder "history" is there already, as message ${history[0]}`)
  if (history.length === stored.length) throw reject('SCHEMA', 'messages: needs a message beside the placeholder "history"')
  return stored
}

function textsOf (messages: readonly StoredMessage[]): readonly PromptText[] {
  return messages.flatMap((message, index): PromptText[] => {
    const at = messages.length > 1 ? { messageIndex: index } : undefined
    if (message.kind === 'history') return []
    if (message.kind === 'text') return [{ text: message.content, message: index, where: at }]
    return message.parts.flatMap((source, part) => {
      const texts: PromptText[] = []
      mapTexts(source, (text, member) => {
        const where = { ...at, part, member: isOwnText(source, member) ? undefined : member }
        if (isTemplate(source, text, member)) texts.push({ text, message: index, where })
        return text
      })
      return texts
    })
  })
}

/** Mistakes of texts that are no templates can be told before any render. */
function checkPart (part: JsonObject, path: JsonPath): void {
  mapTexts(part, (text, member) => {
    const reason = isTemplate(part, text, member) ? undefined : whyUnfit(part, text, member)
    if (reason !== undefined) {
      const field = member.split('.')
      throw new RejectedEntry([ofPart([...path, ...field], { severity: 'error', code: 'SCHEMA', message: `${[...path, ...field].join('.')} ${reason}` })])
    }
    return text
  })
}

function toStoredMessage (message: JsonObject): StoredMessage {
  if (message['placeholder'] === 'history') return { kind: 'history' }
  const { role, content, ...rest } = message as JsonObject & { readonly role: string, readonly content: Json }
  return typeof content === 'string' ? { kind: 'text', role, content, rest } : { kind: 'parts', role, parts: content as readonly JsonObject[], rest }
}

export const PROMPT_SCHEMA = entrySchema('prompt', 'prompt')

export interface PromptDefinition {
  readonly source: JsonObject
  readonly form: 'text' | 'messages'
  readonly messages: readonly StoredMessage[]
  readonly texts: readonly PromptText[]
  readonly syntax: Syntax | undefined
  readonly supports: readonly string[]
  readonly parameters: Json | undefined
}

/** @throws RejectedEntry when it is no object, list or text, or breaks `jsonschema/prompt.json` */
export function parsePromptDefinition (value: Json): PromptDefinition {
  const source = asPromptObject(value)
  PROMPT_SCHEMA.check(source)
  const text = source['userPrompt'] ?? source['prompt']
  const messages = toStoredMessages(typeof text === 'string' ? [{ role: 'user', content: text }] : source['messages'] as readonly JsonObject[])
  return {
    source,
    form: typeof text === 'string' ? 'text' : 'messages',
    messages,
    texts: textsOf(messages),
    syntax: source['syntax'] as Syntax | undefined,
    supports: (source['supports'] ?? []) as readonly string[],
    parameters: source['parameters']
  }
}

/** Begins a prompt definition in YAML, and hardly any plain text. */
const YAML_DEFINITION = /^(?:userPrompt:|prompt:\s*[|>]|messages:\s*-\s*(?:role|content):)/m

const YAML_AS_TEXT: Diagnostic = {
  severity: 'warning',
  code: 'VALUE_NOT_JSON',
  message: 'the prompt looks like a definition in YAML, which is YAML in a file only, and is taken as its text',
  hint: 'store the definition as JSON'
}

export function lintName (id: string, { source }: PromptDefinition): Diagnostic[] {
  const own = source['x-dotprompt']
  const name = ownField(own, 'name')
  if (typeof name !== 'string' || `.${id}`.endsWith(`.${name.replaceAll('/', '.')}`)) return []
  const message = `the file says the name "${beginningOf(name, 100)}", and its path makes it ${id}`
  return [{ severity: 'warning', code: 'NAME_DIFFERS', message, field: ['x-dotprompt', 'name'] }]
}

export function lintPromptDefinition ({ source, form, messages, texts }: PromptDefinition): Diagnostic[] {
  const isYaml = form === 'text' && texts.some(({ text }) => YAML_DEFINITION.test(text))
  const empty = messages.flatMap((message, messageIndex) => message.kind === 'text' && message.content.trim() === ''
    ? [{
        severity: 'warning' as const,
        code: 'MESSAGE_EMPTY',
        message: `message ${messageIndex} has no content`,
        messageIndex,
        field: source['messages'] === undefined ? undefined : ['messages', messageIndex]
      }]
    : [])
  return [...isYaml ? [YAML_AS_TEXT] : [], ...lintFields(source, PROMPT_SCHEMA.fields), ...empty]
}
