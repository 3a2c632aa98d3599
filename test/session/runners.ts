import { type TestContext } from 'node:test'
import { type LogEntry } from '../../src/session/model.ts'
import { type Performer } from '../../src/session/effects.ts'
import { SessionRunner } from '../../src/session/runner.ts'
import { createMemorySessionStore } from '../../src/session/store/memory-session-store.ts'
import { type SessionStore } from '../../src/session/store/session-store.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { SCRIPTED, type ScriptState } from './script-engine.ts'
import { newId, readAll } from './store/session-appends.ts'

export const SILENT = { debug () {}, info () {}, warn () {}, error () {} } as never

/** A store in memory, closed after the test. */
export function memoryStore (t: TestContext): SessionStore {
  const store = createMemorySessionStore({ keep: 60_000 })
  t.after(() => store.close())
  return store
}

/** A runner of scripted sessions, closed after the test; it takes nothing before `open`. @param lease in ms */
export function createRunner (t: TestContext, store: SessionStore, performer: Performer, lease = 15_000): SessionRunner {
  const runner = new SessionRunner({ store, engines: SCRIPTED, performer, log: SILENT, lease })
  t.after(() => runner.close())
  return runner
}

/** What an engine of the tests has heard of its effects. */
export async function heardIn (runner: SessionRunner, id: string): Promise<readonly string[]> {
  return ((await runner.load(id))?.engine.state as ScriptState).heard
}

/** Waits until a session has a status. */
export async function until (runner: SessionRunner, id: string, status: string): Promise<void> {
  await waitFor(`session ${id} to be ${status}`, async () => (await runner.load(id))?.status === status)
}

/** The kinds of a log's facts. */
export async function factsOf (store: SessionStore, id: string): Promise<string[]> {
  return (await readAll(store, id)).map(({ fact }: LogEntry) => fact.kind)
}

export { newId, readAll }
