import { type Caller } from '../../access/caller.ts'
import { entryMissing, storeUnavailable, testsUnreadable } from '../../base/errors.ts'
import { type Json } from '../../base/json.ts'
import { type Diagnostic, inWords, RejectedEntry, unreadable } from '../../registry/diagnostic/diagnostic.ts'
import { contentTag } from '../../registry/kinds/content-tag.ts'
import { testsKind, withoutPrompt } from '../../registry/kinds/tests/tests-kind.ts'
import { parseTests, type TestCase } from '../../registry/kinds/tests/test-cases.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { inTurn } from '../../runtime/fairness.ts'
import { keyToPath, kindPrefix, pathToKey, toPath } from '../../store/keys.ts'
import { type Store, StoreError, type StoredValue } from '../../store/store.ts'

/** The most prompts whose tests are read from the store at a time: the tests of one prompt can have a MiB. */
const AT_A_TIME = 50

/** The tests of a prompt as they are stored. */
export interface StoredTests {
  readonly id: string
  /** The tests as their author wrote them. */
  readonly tests: Json
  readonly cases: readonly TestCase[]
  readonly tag: string
}

/** The tests of one prompt in a listing. */
export interface TestsRow {
  readonly id: string
  /** How many test cases there are; 0 for tests that cannot be read, which have no `tag` either. */
  readonly cases: number
  readonly tag: string | undefined
}

/** What is wrong with the stored tests of one prompt. */
export interface TestsNotice {
  readonly id: string
  readonly key: string
  readonly diagnostics: readonly Diagnostic[]
}

/** The tests that are stored beside prompts. They are not kept in memory like other entries: each call reads the store. */
export class PromptTests {
  readonly #store: Store
  readonly #prefix: string
  #listing: Promise<readonly string[]> | undefined

  constructor (store: Store, keyPrefix: string) {
    this.#store = store
    this.#prefix = kindPrefix(keyPrefix, testsKind.key)
  }

  /**
   * Reads the tests of a prompt.
   * @param id of the prompt, with `.` or `:` between its parts
   * @throws ENTRY_NOT_FOUND, TESTS_UNREADABLE, STORE_UNAVAILABLE
   */
  async read ({ prompts }: Pick<Caller, 'prompts'>, id: string): Promise<StoredTests> {
    const path = toPath(id)
    const key = pathToKey(path, this.#prefix)
    if (prompts?.allows(path) === false) throw entryMissing(path, key)
    const [stored = { kind: 'missing' } as StoredValue] = await asked(this.#store.read([key]))
    if (stored.kind === 'missing') throw entryMissing(path, key)
    if (stored.kind === 'bad') throw testsUnreadable(key, stored.reason)
    try {
      const { value } = testsKind.decode(stored.text)
      return { id: path, tests: value, cases: parseTests(value), tag: contentTag(testsKind, stored.text) ?? '' }
    } catch (error) {
      if (error instanceof RejectedEntry) throw testsUnreadable(key, error.diagnostics.map(inWords).join('; '))
      throw error
    }
  }

  /** The sorted ids of those prompts with tests that the caller is allowed to see. @throws STORE_UNAVAILABLE */
  async ids ({ prompts }: Pick<Caller, 'prompts'>): Promise<readonly string[]> {
    // Listing goes through all keys of a Redis, so requests that arrive during a listing share its result.
    this.#listing ??= asked(this.#list()).finally(() => { this.#listing = undefined })
    const ids = await this.#listing
    return prompts === undefined ? ids : ids.filter(id => prompts.allows(id))
  }

  /** Makes the rows of a listing. @param ids dotted ids of prompts @throws STORE_UNAVAILABLE */
  async rows (ids: readonly string[]): Promise<readonly TestsRow[]> {
    const rows: TestsRow[] = []
    for await (const { id, stored } of this.#values(ids)) {
      rows.push(await inTurn(() => {
        const tag = stored.kind === 'text' ? contentTag(testsKind, stored.text) : undefined
        return { id, tag, cases: tag === undefined || stored.kind !== 'text' ? 0 : countOf(testsKind.decode(stored.text).value) }
      }))
    }
    return rows
  }

  /** Lists faulty tests: those that cannot be read, or whose prompt does not exist. @throws STORE_UNAVAILABLE */
  async notices ({ prompts }: Pick<Generation, 'prompts'>, caller: Pick<Caller, 'prompts'>): Promise<readonly TestsNotice[]> {
    const notices: TestsNotice[] = []
    for await (const { id, key, stored } of this.#values(await this.ids(caller))) {
      const diagnostics = [...await inTurn(() => mistakesIn(stored)), ...(prompts.has(id) ? [] : [withoutPrompt(id)])]
      if (diagnostics.length > 0) notices.push({ id, key, diagnostics })
    }
    return notices
  }

  async * #values (ids: readonly string[]): AsyncGenerator<{ readonly id: string, readonly key: string, readonly stored: StoredValue }> {
    for (let start = 0; start < ids.length; start += AT_A_TIME) {
      const group = ids.slice(start, start + AT_A_TIME).map(id => ({ id, key: pathToKey(id, this.#prefix) }))
      const values = await asked(this.#store.read(group.map(({ key }) => key)))
      for (const [index, { id, key }] of group.entries()) yield { id, key, stored: values[index] ?? { kind: 'missing' } }
    }
  }

  async #list (): Promise<readonly string[]> {
    const ids = new Set<string>()
    for await (const keys of this.#store.scan(this.#prefix)) {
      for (const key of keys) {
        const id = keyToPath(key, this.#prefix)
        // A key in another spelling is never read as the tests of a prompt, so it is not listed.
        if (pathToKey(id, this.#prefix) === key) ids.add(id)
      }
    }
    return [...ids].sort()
  }
}

/** Waits for a result of the store, and turns an error of the store into one for callers. @throws STORE_UNAVAILABLE */
async function asked<T> (answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw error instanceof StoreError ? storeUnavailable(error.message) : error
  }
}

function mistakesIn (stored: StoredValue): readonly Diagnostic[] {
  if (stored.kind === 'missing') return []
  if (stored.kind === 'bad') return unreadable(stored).diagnostics
  try {
    parseTests(testsKind.decode(stored.text).value)
    return []
  } catch (error) {
    if (error instanceof RejectedEntry) return error.diagnostics
    throw error
  }
}

function countOf (tests: Json): number {
  return Array.isArray(tests) ? tests.length : 0
}
