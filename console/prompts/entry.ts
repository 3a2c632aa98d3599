export type Syntax = 'go' | 'handlebars'

export interface Message { readonly role: string, readonly content: string, readonly [other: string]: unknown }

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

/** The language of an entry: the one that it names, else the one that the service has found in it. */
export function syntaxOf (entry: Entry, found: string | undefined): Syntax {
  const named = entry.settings['syntax'] ?? found
  return named === 'go' || named === 'handlebars' ? named : /\{\{-?\s*(?:\.|range |end\b|if \.|with \.)/.test(entry.messages.map(({ content }) => content).join('\n')) ? 'go' : 'handlebars'
}

/** An entry for eyes that compare: settings, then each text below its role. */
export function readableForm (entry: Entry): string {
  const settings = Object.keys(entry.settings).length === 0 ? [] : [JSON.stringify(entry.settings, null, 2)]
  return [...settings, ...entry.messages.map(({ role, content }) => role === '' ? content : `--- ${role}\n${content}`)].join('\n')
}
