import { type PromptEntry } from './prompt-entry.ts'

/** An entry that would offer a prompt under an id. */
export interface Claim {
  readonly key: string
  readonly prompt: PromptEntry
}

/** Who offers the prompt of an id, where several would: a direct one, then the extension with the smallest key. */
export class PromptClaims {
  /** By id, the one that wins first. */
  readonly #claims = new Map<string, readonly Claim[]>()
  /** Ids with more than one claim. */
  readonly #contested = new Set<string>()
  readonly #idsByKey = new Map<string, readonly string[]>()

  /** The prompt in force. */
  get (id: string): PromptEntry | undefined {
    return this.#claims.get(id)?.[0]?.prompt
  }

  /** The ids of what an entry offers. */
  offeredBy (key: string): readonly string[] {
    return this.#idsByKey.get(key) ?? []
  }

  /** Takes what an entry offers now, in place of what it offered before. Gives whether any of it is contested, or was. */
  set (key: string, prompts: readonly PromptEntry[]): boolean {
    const ids = new Set([...this.#idsByKey.get(key) ?? [], ...prompts.map(prompt => prompt.id)])
    let isContested = false
    for (const id of ids) {
      isContested ||= this.#contested.has(id)
      const others = (this.#claims.get(id) ?? []).filter(claim => claim.key !== key)
      const own = prompts.filter(prompt => prompt.id === id).map(prompt => ({ key, prompt }))
      this.#put(id, [...others, ...own].sort(byPrecedence))
      isContested ||= this.#contested.has(id)
    }
    if (prompts.length === 0) this.#idsByKey.delete(key)
    else this.#idsByKey.set(key, prompts.map(prompt => prompt.id))
    return isContested
  }

  /** Prompts that give way, by the key of their entry, with what they give way to. */
  * shadowed (): Generator<readonly [key: string, prompt: PromptEntry, winner: Claim]> {
    for (const id of this.#contested) {
      const [winner, ...others] = this.#claims.get(id) as readonly [Claim, ...Claim[]]
      for (const { key, prompt } of others) yield [key, prompt, winner]
    }
  }

  #put (id: string, claims: readonly Claim[]): void {
    if (claims.length === 0) this.#claims.delete(id)
    else this.#claims.set(id, claims)
    if (claims.length > 1) this.#contested.add(id)
    else this.#contested.delete(id)
  }
}

/** Of two direct ones, whose keys differ in `.` and `:` only, the larger key wins. */
function byPrecedence (one: Claim, other: Claim): number {
  if (one.prompt.origin !== other.prompt.origin) return one.prompt.origin === 'direct' ? -1 : 1
  if (one.key === other.key) return 0
  return (one.key < other.key) === (one.prompt.origin === 'extension') ? -1 : 1
}
