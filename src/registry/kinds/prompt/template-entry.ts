import { keyToPath } from '../../../store/keys.ts'
import { decodeTemplate } from '../../entries/decode-value.ts'
import { type EntryParser } from '../../entries/entry-table.ts'
import { isSound, parsePromptEntry, type PromptEntry } from './prompt-entry.ts'
import { type TemplateCache } from '../../entries/template-cache.ts'

/** The parser of prompts with a key of their own, `shenma:templates:*`. A prompt's id comes from its key. */
export function templateParser (prefix: string, cache: TemplateCache): EntryParser<PromptEntry> {
  return {
    nameOf: key => keyToPath(key, prefix),
    parse: async (key, text, slices) => await parsePromptEntry(keyToPath(key, prefix), 'direct', decodeTemplate(text).value, cache, slices),
    isSound,
    isUsable: isSound,
    diagnostics: entry => entry.diagnostics
  }
}
