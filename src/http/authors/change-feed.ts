import { type EntryProblem } from '../../registry/entries/entry-table.ts'
import { type Change, changesBetween } from '../../registry/generation/generation-changes.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type Registry } from '../../registry/registry.ts'
import { environKind } from '../../registry/kinds/environ/environ-kind.ts'
import { createSlices } from '../../runtime/slices.ts'
import { keyToPath } from '../../store/keys.ts'

/** The time for which changes are collected before they are reported together, in ms. */
const PAUSE = 100

/**
 * The most changed shared variables that are collected for one report to the listeners. Further ones are left out, since a client would not
 * refresh more rows of a list one by one.
 */
const MAX_KEYS = 10_000

/** One report to the listeners of a `ChangeFeed`: what has changed in the registry (all loaded entries) since the report before. */
export interface Changes {
  readonly before: Generation
  readonly after: Generation
  readonly entries: readonly Change[]
  /** The keys of entries whose problems have changed: the entries became unusable or usable again, or have other diagnostics. */
  readonly problems: readonly string[]
}

/** Watches the registry (all loaded entries) for changes, once for all listeners together. While there are no listeners, it does nothing. */
export class ChangeFeed {
  readonly #registry: Registry
  readonly #listeners = new Set<(changes: Changes) => void>()
  #generation: Generation
  #problems: ReadonlyMap<string, string> = new Map()
  #environs = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #ends: ReadonlyArray<() => void> = []
  #isLooking = false

  constructor (registry: Registry) {
    this.#registry = registry
    this.#generation = registry.generation
  }

  /** Calls the listener with all changes from now on. @returns a function that removes the listener */
  follow (listener: (changes: Changes) => void): () => void {
    if (this.#listeners.size === 0) this.#begin()
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#end()
    }
  }

  #begin (): void {
    this.#generation = this.#registry.generation
    this.#problems = stampsOf(this.#registry.problems())
    this.#environs.clear()
    this.#ends = [
      this.#registry.onPublished(() => { this.#plan() }),
      this.#registry.onRead(keys => {
        for (const key of keys) if (this.#environs.size < MAX_KEYS) this.#environs.add(key)
        this.#plan()
      })
    ]
  }

  #end (): void {
    for (const end of this.#ends) end()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #plan (): void {
    this.#timer ??= setTimeout(() => { void this.#look() }, PAUSE).unref()
  }

  async #look (): Promise<void> {
    this.#timer = undefined
    // The last comparison is still running: newer changes wait for the next comparison.
    if (this.#isLooking) return this.#plan()
    this.#isLooking = true
    const { prefix } = this.#registry.environs
    const [before, after] = [this.#generation, this.#registry.generation]
    const [old, now] = [this.#problems, stampsOf(this.#registry.problems())]
    const environs = [...this.#environs].map(key => ({ kind: environKind, id: keyToPath(key, prefix) }))
    this.#environs = new Set()
    this.#generation = after
    this.#problems = now
    try {
      const entries = [...await changesBetween(before, after, this.#registry.kinds, createSlices()), ...environs]
      const problems = [...new Set([...old.keys(), ...now.keys()])].filter(key => old.get(key) !== now.get(key))
      if (entries.length + problems.length > 0) for (const listener of this.#listeners) listener({ before, after, entries, problems })
    } finally {
      this.#isLooking = false
    }
  }
}

/** Gives a text for each entry that has problems, by the entry's key. The text changes whenever the entry's problems change. */
function stampsOf (problems: readonly EntryProblem[]): ReadonlyMap<string, string> {
  return new Map(problems.map(({ key, servesLastGood, diagnostics }) => [
    key,
    `${servesLastGood} ${diagnostics.map(({ code, message, line, column }) => `${code} ${message} ${line} ${column}`).join('\n')}`
  ]))
}
