import { type EntryProblem } from '../../registry/entries/entry-table.ts'
import { type Change, changesBetween } from '../../registry/generation/generation-changes.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type Registry } from '../../registry/registry.ts'
import { environKind } from '../../registry/kinds/environ/environ-kind.ts'
import { createSlices } from '../../runtime/slices.ts'
import { keyToPath } from '../../store/keys.ts'

/** What comes within this time is told together, in ms. */
const PAUSE = 100

/** Changes of shared variables that are kept until they are told; beyond it, nobody marks rows one by one. */
const MAX_KEYS = 10_000

/** What has changed since the last time. */
export interface Changes {
  readonly before: Generation
  readonly after: Generation
  readonly entries: readonly Change[]
  /** Keys whose entries cannot be used now, can be used again, or are told of for other reasons. */
  readonly problems: readonly string[]
}

/**
 * Finds out what changes, once for all who follow; while nobody does, it looks at nothing.
 */
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

  /** Calls back with whatever changes from now on; gives the way to end that. */
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
    // It has taken longer than the pause: what came meanwhile is looked at next.
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

/** The problems of each key as one text, so that two states can be compared. */
function stampsOf (problems: readonly EntryProblem[]): ReadonlyMap<string, string> {
  return new Map(problems.map(({ key, servesLastGood, diagnostics }) => [
    key,
    `${servesLastGood} ${diagnostics.map(({ code, message, line, column }) => `${code} ${message} ${line} ${column}`).join('\n')}`
  ]))
}
