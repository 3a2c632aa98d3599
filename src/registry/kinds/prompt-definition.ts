import type { TextName } from '../../base/errors.ts'
import type { JsonPath } from '../../base/json-places.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import type { Syntax } from '../../template/language.ts'
import { type Diagnostic, ofPart, reject, RejectedEntry } from '../diagnostic.ts'
import { checkWithFields, entrySchema, lintFields } from '../entries/entry-schemas.ts'
import { asPromptObject } from './entry-kind.ts'

/** Gives the replacement for one text in a part of a message. @param member the path of the text in the part: `image_url.url` */
type MapText = (text: string, member: string) => string

/** The members of a message's part that hold an address, from which the provider of the model fetches data. */
const URLS: ReadonlySet<string> = new Set(['image_url.url'])

/** The members of a message's part that hold the data of a file or a sound. Some providers also accept an address there. */
const MEDIA: ReadonlySet<string> = new Set(['file.file_data', 'input_audio.data'])

/** A copy of a part of a message in which `map` has replaced every text, in the order of the texts. The part's `type` stays. */
export function mapTexts (part: JsonObject, map: MapText): JsonObject {
  return mapMembers(part, '', (text, member) => member === 'type' ? text : map(text, member))
}

/** Whether a text in a part of a message is a template: the text of a text part always, any other one when it holds a tag. */
export function isTemplate (part: JsonObject, text: string, member: string): boolean {
  return isOwnText(part, member) || text.includes('{{')
}

/** Whether a member of a message's part is the `text` of a part whose `type` is `text`. */
export function isOwnText (part: JsonObject, member: string): boolean {
  return member === 'text' && part['type'] === 'text'
}

/**
 * The reason why no model can take a text in a part of a message, in words; `undefined` for a good text. Media must be at a public address or inside
 * the request, because the service itself fetches nothing.
 */
export function whyUnfit (part: JsonObject, text: string, member: string): string | undefined {
  if (isOwnText(part, member)) return undefined
  if (text === '') return 'must not be empty'
  if (URLS.has(member)) return isUrl(text) ? undefined : `must be an https: or data: URL${instead(text)}`
  return !MEDIA.has(member) || !text.includes(':') || isUrl(text) ? undefined : `must be base64, or a data: or https: URL${instead(text)}`
}

function isUrl (text: string): boolean {
  return /^data:[^,\s]*,/i.test(text) || (/^https:\/\/[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text))
}

/** The end of the error message about an address that is refused. It shows only the address's scheme (`ftp:`), because the rest is perhaps a secret. */
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

/** A message of a prompt as it is stored, or the place where the caller's own messages (the history) are put. */
export type StoredMessage = TextMessage | PartsMessage | HistoryPlace

interface TextMessage {
  readonly kind: 'text'
  readonly role: string
  /** The template of the message's text. */
  readonly content: string
  /** Other members of the message, passed on as they are: `name`, `tool_call_id`. */
  readonly rest: JsonObject
}

/** A message that consists of parts: texts, pictures, sounds or files. */
interface PartsMessage {
  readonly kind: 'parts'
  readonly role: string
  /** The parts of the message. Texts in the parts can be templates. */
  readonly parts: readonly JsonObject[]
  readonly rest: JsonObject
}

/** The place in a prompt's messages where the caller's own messages are put. */
interface HistoryPlace {
  readonly kind: 'history'
}

/** One template of a prompt, with its place. */
export interface PromptText {
  readonly text: string
  /** The index of the message that the template is in. */
  readonly message: number
  /** The name of the text in diagnostics; `undefined` when the prompt has only one text. */
  readonly where: TextName | undefined
}

/**
 * Reads the messages of a prompt that fits `jsonschema/prompt.json`. The place of the caller's messages is called the history.
 * @throws RejectedEntry for a second history, for a history without other messages, and for a part that no model can take
 */
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

/** Every template in the messages of a prompt, with its name for diagnostics. */
function textsOf (messages: readonly StoredMessage[]): readonly PromptText[] {
  return messages.flatMap((message, index): PromptText[] => {
    const at = messages.length > 1 ? { messageIndex: index } : undefined
    if (message.kind === 'history') return []
    if (message.kind === 'text') return [{ text: message.content, message: index, where: at }]
    return message.parts.flatMap((source, part) => {
      const texts: PromptText[] = []
      mapTexts(source, (text, member) => {
        if (isTemplate(source, text, member)) texts.push({ text, message: index, where: { ...at, part, ...(isOwnText(source, member) ? {} : { member }) } })
        return text
      })
      return texts
    })
  })
}

/** Checks the texts in a part of a message that are no templates, since their mistakes can be told before any render. */
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

/** A prompt as it was parsed from its stored value, which is an object, a bare list of messages or a bare text. */
export interface PromptDefinition {
  /** The prompt as an object, which `GET /api/prompts/{id}` shows: the stored object, or one made from a bare list or text. */
  readonly source: JsonObject
  /** `text` renders to a string, `messages` to a message list. */
  readonly form: 'text' | 'messages'
  readonly messages: readonly StoredMessage[]
  /** Every template of the messages, in the order of the messages. */
  readonly texts: readonly PromptText[]
  readonly syntax: Syntax | undefined
  readonly supports: readonly string[]
  /** The parameters as their author wrote them; `undefined` when there are none. `parsePromptParameters` reads them. */
  readonly parameters: Json | undefined
}

/**
 * Parses a stored prompt: an object, a bare list of messages or a bare text.
 * @throws RejectedEntry when it is none of these, or breaks `jsonschema/prompt.json`
 */
export function parsePromptDefinition (value: Json): PromptDefinition {
  const source = asPromptObject(value)
  checkWithFields(() => { PROMPT_SCHEMA.check(source) }, () => lintFields(source, PROMPT_SCHEMA.fields))
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

/** Matches a line with which a prompt definition in YAML begins, and with which hardly any plain text does. */
const YAML_DEFINITION = /^(?:userPrompt:|prompt:\s*[|>]|messages:\s*-\s*(?:role|content):)/m

const YAML_AS_TEXT: Diagnostic = {
  severity: 'warning',
  code: 'VALUE_NOT_JSON',
  message: 'the prompt looks like a definition in YAML, which is YAML in a file only, and is taken as its text',
  hint: 'store the definition as JSON'
}

/** Warns when the name inside a Dotprompt file differs from the id that the file's path gives to the prompt. */
export function lintName (id: string, { source }: PromptDefinition): Diagnostic[] {
  const own = source['x-dotprompt']
  const name = isJsonObject(own) ? own['name'] : undefined
  if (typeof name !== 'string' || `.${id}`.endsWith(`.${name.replaceAll('/', '.')}`)) return []
  const message = `the file says the name "${beginningOf(name, 100)}", and its path makes it ${id}`
  return [{ severity: 'warning', code: 'NAME_DIFFERS', message, field: ['x-dotprompt', 'name'] }]
}

/** Warns of harmless things in a prompt that its publisher has perhaps overlooked: YAML, misspelt fields, empty messages. */
export function lintPromptDefinition ({ source, form, messages, texts }: PromptDefinition): Diagnostic[] {
  const isYaml = form === 'text' && texts.some(({ text }) => YAML_DEFINITION.test(text))
  const empty = messages.flatMap((message, messageIndex) => message.kind === 'text' && message.content.trim() === ''
    ? [{
        severity: 'warning' as const,
        code: 'MESSAGE_EMPTY',
        message: `message ${messageIndex} has no content`,
        messageIndex,
        ...source['messages'] === undefined ? {} : { field: ['messages', messageIndex] }
      }]
    : [])
  return [...isYaml ? [YAML_AS_TEXT] : [], ...lintFields(source, PROMPT_SCHEMA.fields), ...empty]
}
