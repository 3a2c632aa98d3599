import { type Log } from '../base/log.ts'
import { type Generation } from './generation/generation.ts'
import { offeredOf } from './generation/offered.ts'
import { isEntryKind, type Kind } from './kinds/kind.ts'

/** The present generation (an immutable snapshot of all entries), and the listeners that are told when the next one replaces it. */
export class Publication {
  readonly #kinds: readonly Kind[]
  readonly #log: Log
  readonly #listeners = new Set<(generation: Generation) => void>()
  #generation: Generation

  constructor (kinds: readonly Kind[], log: Log, first: Generation) {
    this.#kinds = kinds
    this.#log = log
    this.#generation = first
  }

  get generation (): Generation {
    return this.#generation
  }

  /** Calls `listener` after each generation that is published. @returns a function after whose call the listener is not called any more */
  onPublished (listener: (generation: Generation) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** Makes a generation the present one, and tells the listeners. @param environs the number of shared variables, for the log */
  publish (generation: Generation, environs: number): void {
    this.#generation = generation
    const { number, revision } = generation
    const counts = this.#kinds.map(kind => [kind.name, isEntryKind(kind) ? offeredOf(generation, kind).size : environs] as const)
    this.#log.info({ generation: number, revision, ...Object.fromEntries(counts) }, 'registry published')
    for (const listener of this.#listeners) listener(generation)
  }
}
