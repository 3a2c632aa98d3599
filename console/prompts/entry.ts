import { type Tried } from '../api/preview.ts'
import type { Syntax } from '../edit/template-place.ts'

export type { Syntax }

/**
 * A message of a prompt as it is stored. Its content is a text or a list of parts. A placeholder, which stands for the caller's messages,
 * has neither a role nor a content.
 */
export interface Message { readonly role?: string, readonly content?: unknown, readonly [other: string]: unknown }

/** The content of a message as a text. A list of parts, and a placeholder, are shown as JSON. */
export function textOf (message: Message): string {
  if (typeof message.content === 'string') return message.content
  return JSON.stringify(message.placeholder === undefined ? message.content : message, null, 2)
}

/** The role of a message; for a placeholder, the placeholder's name. */
export function nameOf ({ role, placeholder }: Message): string {
  return role ?? String(placeholder ?? '')
}

/** A prompt in the form that the workbench edits: its messages, apart from all other settings. */
export interface Entry {
  /** The messages. A prompt that is only one text has one message, whose role is empty. */
  readonly messages: readonly Message[]
  readonly isText: boolean
  /** The member of the stored prompt that has the text, if the prompt is only one text. */
  readonly textField: 'userPrompt' | 'prompt'
  readonly settings: Readonly<Record<string, unknown>>
}

export const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const

/** Converts a stored prompt, which is a text, a list of messages or an object, into the form that the workbench edits. */
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

/** Converts a prompt into the form that is sent to the service and stored. */
export function storedForm ({ messages, isText, textField, settings }: Entry): Record<string, unknown> {
  return isText ? { ...settings, [textField]: messages[0]?.content ?? '' } : { ...settings, messages }
}

/** Whether a prompt has a placeholder for the caller's messages. */
export function hasHistory ({ messages }: Entry): boolean {
  return messages.some(({ placeholder }) => placeholder !== undefined)
}

/** The values with which a prompt is previewed. The conversation is left out if the prompt has no placeholder for it. */
export function triedBy (entry: Entry, { variables, messages }: Tried): Tried {
  return hasHistory(entry) ? { variables, messages } : { variables }
}

/** The template language of a prompt: the one that the prompt names, or else the one that the service has found, or else a guess from the texts. */
export function syntaxOf (entry: Entry, found: string | undefined): Syntax {
  const named = entry.settings['syntax'] ?? found
  if (named === 'go' || named === 'handlebars') return named
  return /\{\{-?\s*(?:\.|range |end\b|if \.|with \.)/.test(entry.messages.map(textOf).join('\n')) ? 'go' : 'handlebars'
}

/** A prompt as one text, which a person can compare with another: the settings, then each message below its role. */
export function readableForm (entry: Entry): string {
  const settings = Object.keys(entry.settings).length === 0 ? [] : [JSON.stringify(entry.settings, null, 2)]
  return [...settings, ...entry.messages.map(message => message.role === '' ? textOf(message) : `--- ${nameOf(message)}\n${textOf(message)}`)].join('\n')
}
