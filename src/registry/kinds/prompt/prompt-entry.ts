import { contentHash, type Json } from '../../../base/json.ts'
import { type CompiledPrompt, compilePrompt } from './compile-prompt.ts'
import { type Diagnostic } from '../../diagnostic/diagnostic.ts'
import { parsePromptChat, type PromptChat } from './prompt-chat.ts'
import { lintName, lintPromptDefinition, parsePromptDefinition, type PromptDefinition } from './prompt-definition.ts'
import { parsePromptParameters, type PromptParameters } from './prompt-parameters.ts'
import { checkPromptId } from '../../link/prompt-reference.ts'
import { type Slices } from '../../../runtime/slices.ts'
import { type TemplateCache } from '../../entries/template-cache.ts'

/** One registered prompt, compiled. It is not linked yet: the prompts that it includes are still only names. */
export interface PromptEntry {
  /** The dotted id: `evaluator.evaluate_quality`. */
  readonly id: string
  readonly origin: 'direct' | 'extension'
  /**
   * The number of the version, for an entry that was read from a stored version of a prompt. Left out for the prompt itself, which a request gets when
   * it names neither a label nor a version.
   */
  readonly version?: number
  readonly definition: PromptDefinition
  /** The variables that the prompt declares; `undefined` when it declares none. */
  readonly parameters: PromptParameters | undefined
  readonly chat: PromptChat
  readonly compiled: CompiledPrompt
  readonly diagnostics: readonly Diagnostic[]
  /**
   * When this process read the entry, in ms, on the clock of `Date.now()`. The time stays the same until the entry changes, because an unchanged entry
   * is not read again.
   */
  readonly seenAt: number
  /** A hash of the prompt alone, without the prompts that it includes. */
  readonly hash: string
  /**
   * A hash of the fields that decide what is rendered and sent to a model. It leaves out other fields, such as the owner: a caller who insists on one
   * revision still gets it after these have changed.
   */
  readonly revision: string
}

/** The fields that decide what is rendered and sent to a model, and so the prompt's revision; `description`, `supports` and a publisher's own fields do not. */
const PINNED = ['syntax', 'messages', 'userPrompt', 'prompt', 'parameters', 'returns', 'structured', 'defaults']

/** Checks and compiles one prompt. @throws RejectedEntry when it cannot be used at all; a syntax error is a diagnostic of the entry instead */
export async function parsePromptEntry (id: string, origin: PromptEntry['origin'], value: Json, cache: TemplateCache, slices: Slices): Promise<PromptEntry> {
  checkPromptId(id)
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

/** Whether all templates of a prompt could be compiled. A prompt that is only a picture has no templates, and is sound. */
export function isSound ({ compiled, definition }: PromptEntry): boolean {
  return compiled.texts.length === definition.texts.length
}
