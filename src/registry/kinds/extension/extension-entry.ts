import { contentHash, type JsonObject } from '../../../base/json.ts'
import { type Slices } from '../../../runtime/slices.ts'
import { keyToPath } from '../../../store/keys.ts'
import { type Diagnostic, ofContributed, ofPart, RejectedEntry } from '../../diagnostic/diagnostic.ts'
import { decodeJson } from '../../entries/decode-value.ts'
import { type EntryParser } from '../../entries/entry-table.ts'
import { type DefinitionKind } from '../kind.ts'
import { type Definition } from '../definition.ts'
import { isSound, parsePromptEntry, type PromptEntry } from '../prompt/prompt-entry.ts'
import { type TemplateCache } from '../../entries/template-cache.ts'
import { contributedId, type ExtensionDefinition, lintExtensionDefinition, parseExtensionDefinition } from './extension-definition.ts'

/** The words for an extension's prompts in the diagnostics of the extension. */
export const PROMPTS = { name: 'prompts', noun: 'prompt' }

/** One registered extension with its prompts compiled. */
export interface ExtensionEntry {
  /** The id of the extension, made from its key. The ids of the entries that it brings begin with the extension's name instead. */
  readonly id: string
  readonly definition: ExtensionDefinition
  readonly prompts: readonly PromptEntry[]
  /** The agents, skills and plan profiles that the extension brings, by the key of their kind. */
  readonly definitions: ReadonlyMap<string, readonly Definition[]>
  readonly diagnostics: readonly Diagnostic[]
  readonly hash: string
}

/** The parser of stored extensions, `shenma:extensions:*`. It compiles their prompts, too. */
export function extensionParser (prefix: string, cache: TemplateCache, kinds: readonly DefinitionKind[]): EntryParser<ExtensionEntry> {
  return {
    nameOf: key => keyToPath(key, prefix),
    async parse (key, text, slices) {
      const definition = parseExtensionDefinition(decodeJson(text).value)
      const prompts = await parsePrompts(definition, cache, slices)
      const brought = kinds.map(kind => [kind, parseDefinitions(definition, kind)] as const)
      return {
        id: keyToPath(key, prefix),
        definition,
        prompts,
        definitions: new Map(brought.map(([kind, { definitions }]) => [kind.key, definitions])),
        diagnostics: [
          ...lintExtensionDefinition(definition),
          ...prompts.flatMap(({ id, diagnostics }, index) => diagnostics.map(diagnostic => ofPart(
            ['contributes', 'prompts', index],
            ofContributed(PROMPTS, id, diagnostic)
          ))),
          ...brought.flatMap(([, { diagnostics }]) => diagnostics)
        ],
        hash: contentHash(definition.source)
      }
    },
    isSound: entry => entry.prompts.every(isSound),
    isUsable: ({ prompts }) => prompts.length === 0 || prompts.some(isSound),
    diagnostics: entry => entry.diagnostics
  }
}

async function parsePrompts (definition: ExtensionDefinition, cache: TemplateCache, slices: Slices): Promise<readonly PromptEntry[]> {
  const prompts: PromptEntry[] = []
  for (const prompt of definition.isKnownType ? definition.prompts : []) {
    prompts.push(await parsePromptEntry(contributedId(definition, prompt), 'extension', prompt, cache, slices))
    if (slices.isDue()) await slices.pause()
  }
  return prompts
}

/** The entries of one kind that an extension brings. A broken entry is left out, and its reasons are among the diagnostics; the others are offered. */
function parseDefinitions (extension: ExtensionDefinition, kind: DefinitionKind): { definitions: readonly Definition[], diagnostics: readonly Diagnostic[] } {
  const definitions: Definition[] = []
  const diagnostics: Diagnostic[] = []
  for (const [index, { name, ...value }] of (extension.isKnownType ? listed(extension, kind) : []).entries()) {
    const id = contributedId(extension, { name: name ?? '' })
    const told = (diagnostic: Diagnostic) => ofPart(['contributes', kind.contributes, index], ofContributed(kind, id, diagnostic))
    try {
      const definition = kind.define(id, value, 'extension')
      definitions.push(definition)
      diagnostics.push(...definition.diagnostics.map(told))
    } catch (error) {
      if (!(error instanceof RejectedEntry)) throw error
      diagnostics.push(...error.diagnostics.map(told))
    }
  }
  return { definitions, diagnostics }
}

/** The entries of a kind as an extension lists them. The JSON Schema of extensions has made sure that they are objects with names. */
function listed ({ source }: ExtensionDefinition, { contributes }: DefinitionKind): readonly JsonObject[] {
  const all = source['contributes'] as JsonObject
  return (Object.hasOwn(all, contributes) ? all[contributes] : []) as readonly JsonObject[]
}
