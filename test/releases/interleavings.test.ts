import assert from 'node:assert/strict'
import { describe } from 'node:test'
import fc from 'fast-check'
import { ANYONE } from '../../src/access/caller.ts'
import { ServiceError } from '../../src/base/errors.ts'
import { type Generation, type Prompt } from '../../src/registry/generation.ts'
import { parseReleaseRecord, type ReleaseRecord, labelledVersions } from '../../src/registry/kinds/release-record.ts'
import { entryOfVersion } from '../../src/registry/kinds/release-kind.ts'
import { type Publisher, asVersion, VersionPublisher } from '../../src/service/publish-entry.ts'
import { RecordStore } from '../../src/service/record-store.ts'
import { Releases } from '../../src/service/releases.ts'
import { VersionReader } from '../../src/service/version-reader.ts'
import { type Store, type StoredValue } from '../../src/store/store.ts'
import { createMemoryStore, type MemoryStore } from '../helpers/memory-store.ts'
import { property } from '../helpers/property.ts'

const PLAIN = 'shenma:templates:a'
const RECORD = 'shenma:releases:a'
const VERSIONS = 'shenma:versions:a:'

const replica = fc.integer({ min: 0, max: 2 })
const content = fc.integer({ min: 0, max: 4 }).map(n => `text ${n}`)
const action = fc.oneof(
  fc.record({ kind: fc.constant('publish' as const), replica, content }),
  fc.record({ kind: fc.constant('label' as const), replica, label: fc.constantFrom('production', 'staging'), version: fc.oneof(fc.constant('latest' as const), fc.integer({ min: 1, max: 4 })) }),
  fc.record({ kind: fc.constant('withdraw' as const), replica }),
  fc.record({ kind: fc.constant('forget' as const), replica, version: fc.integer({ min: 1, max: 4 }) })
)

type Action = typeof action extends fc.Arbitrary<infer A> ? A : never

/** What happens next: the store answers one of those who wait, redis-cli writes, or a replica ends. */
const event = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('answer' as const), which: fc.nat({ max: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('redis-cli' as const), content }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat({ max: 8 }) }) }
)

/** Callers who wait for the store, each answered when its turn is drawn. */
class Turns {
  readonly #waiting: Array<() => void> = []

  get count (): number {
    return this.#waiting.length
  }

  wait (): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  answer (which: number): void {
    this.#take(which)?.()
  }

  /** Never answers one: its process has ended. */
  end (which: number): void {
    this.#take(which)
  }

  #take (which: number): (() => void) | undefined {
    return this.#waiting.splice(which % Math.max(1, this.#waiting.length), 1)[0]
  }
}

/** Checks after every change of the store what must hold at any moment. */
class Watch {
  readonly #store: MemoryStore
  /** The texts that versions have had since they were recorded. */
  readonly #texts = new Map<number, string>()
  readonly #forgotten = new Set<number>()
  moves = 0

  constructor (store: MemoryStore) {
    this.#store = store
  }

  forgets (n: number): void {
    this.#forgotten.add(n)
  }

  async check (): Promise<void> {
    const { labels, versions, next } = await recordOf(this.#store)
    for (const { n, tag } of versions) {
      const text = await textOf(this.#store, `${VERSIONS}${n}`)
      assert.ok(n < next, `version ${n} is below the next number ${next}`)
      assert.notEqual(text, undefined, `version ${n} is recorded and its text is there`)
      assert.equal(asVersion({ kind: 'text', text: JSON.stringify(entryOfVersion(text as string)) })?.tag, tag, `version ${n} has the content of its tag`)
      const before = this.#texts.get(n) ?? text
      assert.equal(text, before, `number ${n} is used once`)
      this.#texts.set(n, text as string)
    }
    for (const n of labelledVersions({ labels })) assert.ok(versions.some(version => version.n === n), `a label means version ${n}, which is recorded`)
  }

  /** What is about to be replaced over HTTP, or removed, must be recorded. */
  async replaces (): Promise<void> {
    const text = await textOf(this.#store, PLAIN)
    if (text === undefined) return
    const tag = asVersion({ kind: 'text', text })?.tag
    const { versions } = await recordOf(this.#store)
    const isForgotten = [...this.#forgotten].some(n => asVersion({ kind: 'text', text: JSON.stringify(entryOfVersion(this.#texts.get(n) ?? '{"entry":0}')) })?.tag === tag)
    assert.ok(versions.some(version => version.tag === tag) || isForgotten, `${text} is replaced, and is a version`)
    this.moves++
  }
}

describe('Random interleavings of three replicas and a redis-cli', () => {
  property('serve nothing half-written, use no number twice and destroy no only copy', 10_000, async given => {
    let published = 0
    await given.comesToHold(fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 6 }), fc.array(event, { maxLength: 60 }), async (actions, events) => {
      const store = createMemoryStore()
      const turns = new Turns()
      const watch = new Watch(store)
      const replicas = [0, 1, 2].map(() => openReplica(inTurns(store, turns, watch)))
      const failures: unknown[] = []
      for (const each of actions) perform(replicas[each.replica] as Replica, each, watch).catch((error: unknown) => failures.push(error))
      for (const each of events) {
        if (each.kind === 'answer') turns.answer(each.which)
        else if (each.kind === 'end') turns.end(each.which)
        else store.set(PLAIN, JSON.stringify(each.content))
        await settled()
        await watch.check()
      }
      while (turns.count > 0) {
        turns.answer(0)
        await settled()
        await watch.check()
      }
      assert.deepEqual(failures, [])
      published += watch.moves
      await store.close()
    }))
    given.wasOfUse(Math.min(given.runs, published), 0.3)
  })
})

interface Replica { readonly versions: VersionPublisher, readonly releases: Releases }

const prompt = { state: 'valid', diagnostics: [] } as unknown as Prompt
const generation = { prompts: new Map(), findRejected: () => undefined, number: 1, extensions: new Map() } as unknown as Generation

function openReplica (store: Store): Replica {
  const records = new RecordStore(store, 'shenma:')
  const versions = new VersionPublisher({ store, keyPrefix: 'shenma:', records, isPinned: () => false })
  const reader = new VersionReader(store, 'shenma:', { prepare: () => { throw new Error('unused') } })
  reader.read = async (_generation, { record }, version) => {
    if (!record.versions.some(({ n }) => n === version)) throw new ServiceError('VERSION_NOT_FOUND', 404, 'not there')
    return prompt
  }
  const releases = new Releases({ store, keyPrefix: 'shenma:', registry: { follow: async () => {} }, records, versions: reader, publisher: {} as Publisher, rules: { isRecording: true, defaultLabel: '', looks: new Map(), protectedLabels: new Set() }, audit: () => {} })
  return { versions, releases }
}

/** What is refused has changed nothing that anybody was promised. */
async function perform ({ versions, releases }: Replica, each: Action, watch: Watch): Promise<void> {
  const change = { generation, caller: ANYONE, id: 'a', requestId: 'r' }
  try {
    if (each.kind === 'publish') await versions.publish({ id: 'a', key: PLAIN, text: JSON.stringify(each.content), caller: ANYONE, precondition: {} })
    else if (each.kind === 'withdraw') await versions.withdraw({ id: 'a', key: PLAIN, caller: ANYONE, precondition: {} }, true)
    else if (each.kind === 'label') await releases.moveLabel(change, each.label, each.version, {})
    else {
      watch.forgets(each.version)
      await releases.removeVersion(change, each.version)
    }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.statusCode >= 500) throw error
  }
}

/** The store as one replica has it: each question waits for its turn. */
function inTurns (store: MemoryStore, turns: Turns, watch: Watch): Store {
  return {
    ...store,
    async read (keys) {
      await turns.wait()
      return await store.read(keys)
    },
    async has (keys) {
      await turns.wait()
      return await store.has(keys)
    },
    async write (key, text, expected) {
      await turns.wait()
      if (key === PLAIN && await isAs(store, key, expected)) await watch.replaces()
      return await store.write(key, text, expected)
    },
    async remove (key, expected) {
      await turns.wait()
      if (key === PLAIN && await isAs(store, key, expected)) await watch.replaces()
      return await store.remove(key, expected)
    }
  }
}

async function isAs (store: MemoryStore, key: string, expected: StoredValue | undefined): Promise<boolean> {
  const text = await textOf(store, key)
  return expected === undefined || (expected.kind === 'missing' ? text === undefined : expected.kind === 'text' && expected.text === text)
}

/** Until everybody who could go on waits for the store again. */
async function settled (): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await undefined
}

async function recordOf (store: MemoryStore): Promise<ReleaseRecord> {
  const text = await textOf(store, RECORD)
  return parseReleaseRecord(JSON.parse(text ?? '{"next":1}') as object as never)
}

async function textOf (store: MemoryStore, key: string): Promise<string | undefined> {
  const [stored] = await store.read([key])
  return stored?.kind === 'text' ? stored.text : undefined
}
