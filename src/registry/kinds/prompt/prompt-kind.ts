import { decodeTemplate } from '../../entries/decode-value.ts'
import { type EntryKind } from '../kind.ts'
import { asPromptObject } from './as-prompt-object.ts'
import { type PromptEntry } from './prompt-entry.ts'
import { templateParser } from './template-entry.ts'

/**
 * The kind of entries that are prompts with a key of their own, stored under `shenma:templates:*`. Prompts that an extension brings are part of the
 * extension's entry instead.
 */
export const promptKind: EntryKind<PromptEntry> = {
  key: 'templates',
  name: 'prompts',
  noun: 'prompt',
  reading: 'whole',
  access: 'prompts',
  hasDotprompt: true,
  decode: decodeTemplate,
  normalise: asPromptObject,
  check: (entry, { lint }) => lint('templates', entry),
  parser: ({ prefix, cache }) => templateParser(prefix, cache)
}
