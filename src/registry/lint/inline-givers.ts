import { type PartialCall } from '../../template/language.ts'
import { type Generation, type Prompt } from '../generation/generation.ts'
import { type PromptLookup } from '../needs/needs.ts'
import { idsMeant } from '../link/references.ts'
import { usageOf } from '../needs/usage-index.ts'

/** The greatest number of prompts that are looked at in one search for the prompts that include a prompt, directly or through others. */
const MAX_CALLERS = 1000

/** Gives the ids of the prompts whose templates include a prompt, or would include it if it were registered. @param id the included prompt's id */
export type CallersOf = (id: string) => Iterable<string>

/**
 * Makes the function that tells which prompts include a prompt, over a generation (an immutable snapshot of all entries). The index that it needs is
 * made only when one of the given prompts names a missing partial, since nothing else asks for it.
 */
export async function callersIn (generation: Generation, prompts: Iterable<Prompt>): Promise<CallersOf> {
  for (const { unfound } of prompts) {
    for (const wanted of unfound.values()) {
      if (!wanted.some(({ kind }) => kind === 'templates')) continue
      const { prompts: callers, hopeful } = await usageOf(generation)
      return id => [...callers.get(id) ?? [], ...hopeful.get(id) ?? []]
    }
  }
  return () => []
}

/** The id of a prompt that defines a missing partial inline, and includes the given prompt, directly or through others; `undefined` if none does. */
export function giverOf (partial: string, { id, entry }: Pick<Prompt, 'id' | 'entry'>, prompts: PromptLookup, callersOf: CallersOf): string | undefined {
  // A prompt in Go's template language cannot use inline partials of the prompts that include it.
  if (entry.compiled.syntax !== 'handlebars') return undefined
  const below = new Set([id])
  for (const called of below) {
    for (const caller of callersOf(called)) {
      const prompt = prompts.get(caller)
      if (prompt?.entry.compiled.syntax !== 'handlebars') continue
      const calls = callsOf(prompt, called)
      if (calls.some(({ inlines }) => inlines?.has(partial) === true)) return caller
      if (calls.length > 0 && below.size < MAX_CALLERS) below.add(caller)
    }
  }
  return undefined
}

/** The calls by which a prompt includes another one, or would include it if that one were registered. */
function callsOf ({ id: from, entry, texts }: Prompt, id: string): PartialCall[] {
  return entry.compiled.texts.flatMap(({ references }, text) => references.flatMap(({ name, calls = [] }, index) => {
    const link = texts[text]?.links[index]
    return (link === undefined ? idsMeant(from, name).includes(id) : link.id === id) ? calls : []
  }))
}
