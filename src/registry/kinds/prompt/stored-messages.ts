import { type TextName } from '../../../base/errors.ts'
import { type Json, type JsonObject } from '../../../base/json.ts'
import { type JsonPath } from '../../../base/json-places.ts'
import { ofPart, RejectedEntry, reject } from '../../diagnostic/diagnostic.ts'
import { isOwnText, isTemplate, mapTexts, whyUnfit } from './message-parts.ts'

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
export function toStoredMessages (messages: readonly JsonObject[]): readonly StoredMessage[] {
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
export function textsOf (messages: readonly StoredMessage[]): readonly PromptText[] {
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
