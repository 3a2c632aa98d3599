import { type Syntax } from '../../../template/language.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { beginningOf } from '../../../base/text.ts'
import { type Diagnostic } from '../../diagnostic/diagnostic.ts'
import { entrySchema } from '../../entries/entry-schemas.ts'
import { checkWithFields, lintFields } from '../../entries/misspelt-fields.ts'
import { asPromptObject } from './as-prompt-object.ts'
import { type PromptText, type StoredMessage, textsOf, toStoredMessages } from './stored-messages.ts'

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
