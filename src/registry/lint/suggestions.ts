import { type Diagnostic } from '../diagnostic/diagnostic.ts'
import { type Generation, type Wanted } from '../generation/generation.ts'
import { Effort, likelyMatches } from '../diagnostic/near-matches.ts'

/** The names that exist in the registry, as far as the caller who reads the hints is allowed to know of them. */
export interface KnownNames extends Pick<Generation, 'tools'> {
  readonly prompts: { keys (): Iterable<string> }
  /** The names of shared variables. */
  readonly environs: Iterable<string>
  /** The parameters that the prompt declares. */
  readonly parameters: Iterable<string>
}

/** A name that was looked up and is not registered, with the kind of entry that was looked for. */
export type Unanswered = Wanted | { readonly kind: 'environs' | 'parameters', readonly name: string }

/** Finds similar names for the misspelt names in a prompt. */
export class Suggestions {
  readonly #id: string
  readonly #known: KnownNames
  /** The budget for all names of the prompt together, so that the check stays cheap in a large registry. */
  readonly #effort = new Effort()

  /** @param id the id of the prompt, which is never suggested as its own partial */
  constructor (id: string, known: KnownNames) {
    this.#id = id
    this.#known = known
  }

  /** The names that the author of a misspelt name perhaps meant, the nearest first. @param unanswered the name, with each kind that was looked for */
  of (unanswered: readonly Unanswered[]): readonly string[] {
    return [...new Set(unanswered.flatMap(({ kind, name }) => likelyMatches(name, this.#others(kind), this.#effort)))]
  }

  /** The names of a kind, without the id of the prompt itself. */
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

/** A diagnostic whose hint begins with the similar names, if there are any. @param otherwise the rest of the hint */
export function advise (diagnostic: Diagnostic, near: readonly string[], otherwise = diagnostic.hint): Diagnostic {
  return near.length === 0 ? diagnostic : { ...diagnostic, hint: `write ${near.join(' or ')}, if that is what you mean; else ${otherwise}` }
}
