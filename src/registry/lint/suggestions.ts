import { type Diagnostic } from '../diagnostic/diagnostic.ts'
import { type Generation, type Wanted } from '../generation/generation.ts'
import { Effort, likelyMatches } from '../diagnostic/near-matches.ts'

/** The names that exist, as far as the reader of the hints may know of them. */
export interface KnownNames extends Pick<Generation, 'tools'> {
  readonly prompts: { keys (): Iterable<string> }
  /** The names of shared variables. */
  readonly environs: Iterable<string>
  /** The parameters that the prompt declares. */
  readonly parameters: Iterable<string>
}

/** A name for which nothing is registered, with the kind that was looked for. */
export type Unanswered = Wanted | { readonly kind: 'environs' | 'parameters', readonly name: string }

/** Finds the names that a misspelt name in a prompt may have been meant to be. */
export class Suggestions {
  readonly #id: string
  readonly #known: KnownNames
  /** The budget for all names of the prompt together, so that a lint stays cheap in a large registry. */
  readonly #effort = new Effort()

  /** @param id of the prompt, which does not mean itself */
  constructor (id: string, known: KnownNames) {
    this.#id = id
    this.#known = known
  }

  /** What a name may mean, nearest first. @param unanswered all that it was looked for as */
  of (unanswered: readonly Unanswered[]): readonly string[] {
    return [...new Set(unanswered.flatMap(({ kind, name }) => likelyMatches(name, this.#others(kind), this.#effort)))]
  }

  /** The names of a kind, but for the prompt's own. */
  * #others (kind: Unanswered['kind']): Generator<string> {
    for (const name of this.#allOf(kind)) if (kind !== 'templates' || name !== this.#id) yield name
  }

  #allOf (kind: Unanswered['kind']): Iterable<string> {
    const { prompts, tools, environs, parameters } = this.#known
    switch (kind) {
      case 'templates': return prompts.keys()
      case 'tools': return functionsOf(tools)
      case 'environs': return environs
      case 'parameters': return parameters
    }
  }
}

function * functionsOf (tools: KnownNames['tools']): Generator<string> {
  for (const { callable } of tools.values()) if (callable !== undefined) yield callable.name
}

/** A diagnostic whose hint begins with what may be meant, if anything may. @param otherwise what else to do */
export function advise (diagnostic: Diagnostic, near: readonly string[], otherwise = diagnostic.hint): Diagnostic {
  return near.length === 0 ? diagnostic : { ...diagnostic, hint: `write ${near.join(' or ')}, if that is what you mean; else ${otherwise}` }
}
