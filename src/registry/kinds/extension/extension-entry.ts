import { decodeValue } from '../../entries/decode-value.ts'
import { type Diagnostic, ofPrompt } from '../../diagnose/diagnostic.ts'
import { type EntryParser } from '../../entries/entry-table.ts'
import { type ExtensionDefinition, lintExtensionDefinition, parseExtensionDefinition, promptIdOf } from './extension-definition.ts'
import { contentHash } from '../../../base/json.ts'
import { isSound, parsePromptEntry, type PromptEntry } from '../prompt/prompt-entry.ts'
import { type TemplateCache } from '../prompt/template-cache.ts'
import { keyToPath } from '../../../store/keys.ts'

/** One registered extension with its prompts compiled. */
export interface ExtensionEntry {
  /** From its key; its prompts carry its name instead. */
  readonly id: string
  readonly definition: ExtensionDefinition
  readonly prompts: readonly PromptEntry[]
  readonly diagnostics: readonly Diagnostic[]
  readonly hash: string
}

/** Reads `shenma:extensions:*`. */
export function extensionParser (prefix: string, cache: TemplateCache): EntryParser<ExtensionEntry> {
  return {
    nameOf: key => keyToPath(key, prefix),
    async parse (key, text, slices) {
      const definition = parseExtensionDefinition(decodeValue('extensions', text).value)
      // Skills, plans and agents are listed, not run: their prompts are theirs to read.
      const prompts: PromptEntry[] = []
      for (const prompt of definition.type === 'prompt' ? definition.prompts : []) {
        prompts.push(await parsePromptEntry(promptIdOf(definition, prompt), 'extension', prompt, cache, slices))
        if (slices.isDue()) await slices.pause()
      }
      return {
        id: keyToPath(key, prefix),
        definition,
        prompts,
        diagnostics: [...lintExtensionDefinition(definition), ...prompts.flatMap(({ id, diagnostics }) => diagnostics.map(diagnostic => ofPrompt(id, diagnostic)))],
        hash: contentHash(definition.source)
      }
    },
    isSound: entry => entry.prompts.every(isSound),
    isUsable: ({ prompts }) => prompts.length === 0 || prompts.some(isSound),
    diagnostics: entry => entry.diagnostics
  }
}
