import { type Tried } from '../api/preview.ts'

export type Syntax = 'go' | 'handlebars'

/** A message as it is stored: its content is a text, or a list of parts; the place of the caller's messages has neither. */
export interface Message { readonly role?: string, readonly content?: unknown, readonly [other: string]: unknown }

/** What a message says: its text, or all else of it as JSON. */
export function textOf (message: Message): string {
  if (typeof message.content === 'string') return message.content
  return JSON.stringify(message.placeholder === undefined ? message.content : message, null, 2)
}

/** Who speaks in a message; of the place of the caller's messages what it is called. */
export function nameOf ({ role, placeholder }: Message): string {
  return role ?? String(placeholder ?? '')
}

/** A prompt as the workbench has it: its texts apart from all else that is stored of it. */
export interface Entry {
  /** The messages; a prompt of one text has one without a role. */
  readonly messages: readonly Message[]
  readonly isText: boolean
  /** The name under which the one text is stored. */
  readonly textField: 'userPrompt' | 'prompt'
  readonly settings: Readonly<Record<string, unknown>>
}

export const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const

/** Reads what is stored: a text, a message list, or an object. */
export function entryFrom (stored: unknown): Entry {
  if (typeof stored === 'string') return textEntry(stored, {})
  if (Array.isArray(stored)) return { messages: stored as Message[], isText: false, textField: 'userPrompt', settings: {} }
  const { messages, userPrompt, prompt, ...settings } = (typeof stored === 'object' && stored !== null ? stored : {}) as Record<string, unknown>
  if (Array.isArray(messages)) return { messages: messages as Message[], isText: false, textField: 'userPrompt', settings }
  return textEntry(String(userPrompt ?? prompt ?? ''), settings, userPrompt === undefined && prompt !== undefined ? 'prompt' : 'userPrompt')
}

function textEntry (text: string, settings: Entry['settings'], textField: Entry['textField'] = 'userPrompt'): Entry {
  return { messages: [{ role: '', content: text }], isText: true, textField, settings }
}

/** What is sent and stored. */
export function storedForm ({ messages, isText, textField, settings }: Entry): Record<string, unknown> {
  return isText ? { ...settings, [textField]: messages[0]?.content ?? '' } : { ...settings, messages }
}

/** Whether a prompt has a place for the caller's messages. */
export function hasHistory ({ messages }: Entry): boolean {
  return messages.some(({ placeholder }) => placeholder !== undefined)
}

/** What an entry is tried with: a conversation only where it has a place for one. */
export function triedBy (entry: Entry, { variables, messages }: Tried): Tried {
  return hasHistory(entry) ? { variables, messages } : { variables }
}

/** The language of an entry: the one that it names, else the one that the service has found in it. */
export function syntaxOf (entry: Entry, found: string | undefined): Syntax {
  const named = entry.settings['syntax'] ?? found
  if (named === 'go' || named === 'handlebars') return named
  return /\{\{-?\s*(?:\.|range |end\b|if \.|with \.)/.test(entry.messages.map(textOf).join('\n')) ? 'go' : 'handlebars'
}

/** An entry for eyes that compare: settings, then each text below its role. */
export function readableForm (entry: Entry): string {
  const settings = Object.keys(entry.settings).length === 0 ? [] : [JSON.stringify(entry.settings, null, 2)]
  return [...settings, ...entry.messages.map(message => message.role === '' ? textOf(message) : `--- ${nameOf(message)}\n${textOf(message)}`)].join('\n')
}
