import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createDirectorySessionStore } from '../../../src/session/store/directory/directory-session-store.ts'
import { createMemorySessionStore } from '../../../src/session/store/memory-session-store.ts'
import { type SessionStore } from '../../../src/session/store/session-store.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

/** A log that nobody reads. */
export const NO_LOG = { info () {}, warn () {} }

/** How long the stores of the tests keep an ended session, in ms. */
export const KEEP_MS = 60 * 60_000

/** One variant, empty, with what happens around it. */
export interface SessionStoreFixture {
  /** Another one after `clear` and `loseTail`, where only one process may have the sessions. */
  readonly store: SessionStore
  /** Another client of the same sessions, closed with the fixture; the same where only one process may have them. */
  another (): SessionStore
  /** Lets the store's clock go on. */
  step (ms: number): Promise<void>
  /** Lets the last transition of a session be lost, as in a failover or a power cut; left out where that cannot be. */
  loseTail?: (id: string) => Promise<void>
  /** Forgets all sessions. */
  clear (): Promise<void>
  /** Ends the store and what it stands on. */
  remove (): Promise<void>
}

export interface SessionStoreVariant {
  readonly title: string
  open (): Promise<SessionStoreFixture>
}

/** Every variant, for suites that hold for all of them. */
export const VARIANTS: readonly SessionStoreVariant[] = [
  { title: 'memory', open: openMemory },
  { title: 'directory', open: openDirectory }
]

async function openMemory (): Promise<SessionStoreFixture> {
  let time = Date.now()
  const create = () => createMemorySessionStore({ keep: KEEP_MS, now: () => time })
  let store = create()
  return {
    get store () { return store },
    another: () => store,
    async step (ms) { time += ms },
    async clear () { store = create() },
    remove: () => store.close()
  }
}

async function openDirectory (): Promise<SessionStoreFixture> {
  const folder = await createTemporaryFolder()
  const path = join(folder.path, 'sessions')
  let time = Date.now()
  const create = () => createDirectorySessionStore({ path, keep: KEEP_MS, log: NO_LOG, now: () => time })
  let store = create()
  return {
    get store () { return store },
    another: () => store,
    async step (ms) { time += ms },
    async loseTail (id) {
      await store.close()
      const file = join(path, 'open', `${id}.jsonl`)
      const lines = (await readFile(file, 'utf8')).split('\n')
      await writeFile(file, [...lines.slice(0, -2), ''].join('\n'))
      store = create()
    },
    async clear () {
      await store.close()
      await rm(path, { recursive: true, force: true })
      store = create()
    },
    async remove () {
      await store.close()
      await folder.remove()
    }
  }
}
