import { contentHash, type Json } from '../../../base/json.ts'
import { type CompiledPrompt, compilePrompt } from './compile-prompt.ts'
import { type Diagnostic } from '../../diagnostic/diagnostic.ts'
import { parsePromptChat, type PromptChat } from './prompt-chat.ts'
import { lintName, lintPromptDefinition, parsePromptDefinition, type PromptDefinition } from './prompt-definition.ts'
import { parsePromptParameters, type PromptParameters } from './prompt-parameters.ts'
import { type Slices } from '../../../runtime/slices.ts'
import { type TemplateCache } from '../../entries/template-cache.ts'

/** One registered prompt, compiled, not linked yet. */
export interface PromptEntry {
  /** The dotted id: `evaluator.evaluate_quality`. */
  readonly id: string
  readonly origin: 'direct' | 'extension'
  /** The number of the version, for an entry that is a version; left out for the prompt that is served without a label. */
  readonly version?: number
  readonly definition: PromptDefinition
  /** What the prompt declares; `undefined` when it declares nothing. */
  readonly parameters: PromptParameters | undefined
  readonly chat: PromptChat
  readonly compiled: CompiledPrompt
  readonly diagnostics: readonly Diagnostic[]
  /** When this process read the entry, in ms, on the clock of `Date.now()`. An entry that does not change is not read again. */
  readonly seenAt: number
  /** A hash of the definition alone. */
  readonly hash: string
  /**
   * A hash of the fields that decide what is rendered and sent. Fields such as the owner are not in it, since callers who pin a revision do
   * not care about them.
   */
  readonly revision: string
}

/** The fields that decide what is rendered and sent; `description`, `supports` and a publisher's own fields do not. */
const PINNED = ['syntax', 'messages', 'userPrompt', 'prompt', 'parameters', 'returns', 'structured', 'defaults']

/** Checks, normalises and compiles one prompt. @throws RejectedEntry; a syntax error is a diagnostic instead */
export async function parsePromptEntry (id: string, origin: PromptEntry['origin'], value: Json, cache: TemplateCache, slices: Slices): Promise<PromptEntry> {
  const definition = parsePromptDefinition(value)
  const parameters = parsePromptParameters(definition.parameters)
  const compiled = await compilePrompt(definition, parameters?.names, cache, slices)
  return {
    id,
    origin,
    definition,
    parameters,
    chat: parsePromptChat(id, definition.source),
    compiled,
    diagnostics: [...lintPromptDefinition(definition), ...lintName(id, definition), ...compiled.diagnostics],
    seenAt: Date.now(),
    hash: contentHash(definition.source),
    revision: contentHash(Object.fromEntries(Object.entries(definition.source).filter(([field]) => PINNED.includes(field))))
  }
}

/** Whether the prompt's templates could be compiled; a prompt of a picture may have none. */
export function isSound ({ compiled, definition }: PromptEntry): boolean {
  return compiled.texts.length === definition.texts.length
}
