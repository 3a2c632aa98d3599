import { parseOwnJson } from '../base/json.ts'
import { inTurn } from '../runtime/fairness.ts'
import { createSlices } from '../runtime/slices.ts'
import { type Position, type Transition } from './model.ts'
import { LogUntrusted, type Seals } from './seal.ts'
import { type Entry, SessionStoreError, type SessionStore } from './session-store.ts'

/** The length of a log entry's JSON from which parsing takes noticeable time, in UTF-16 units. */
const LONG = 32 * 1024

/** A transition (an entry of a session's log) as it was read from the store, with its size. */
export interface Read {
  readonly transition: Transition
  /** The size of the transition's JSON, in bytes. */
  readonly size: number
}

/**
 * Reads the transitions (log entries) of a session with numbers above `after`, for display only: their signatures are not checked.
 * @throws SessionStoreError
 */
export async function * readShown (store: SessionStore, id: string, after: number): AsyncGenerator<Transition> {
  const slices = createSlices()
  for await (const page of store.read(id, after)) {
    for (const entry of page) {
      yield await parsed(id, entry)
      if (slices.isDue()) await slices.pause()
    }
  }
}

/** Reads the transitions (log entries) of a session after a position, and checks the seal (the signature) of each. @throws LogUntrusted, SessionStoreError */
export async function * readGenuine (store: SessionStore, seals: Seals, id: string, after: Position | undefined): AsyncGenerator<Read> {
  const slices = createSlices()
  let before = after?.token ?? ''
  for await (const page of store.read(id, after?.seq ?? 0)) {
    for (const entry of page) {
      if (!seals.isGenuine(id, before, entry)) throw new LogUntrusted(entry.seq)
      const transition = await parsed(id, entry)
      before = transition.token
      yield { transition, size: Buffer.byteLength(entry.text) }
      if (slices.isDue()) await slices.pause()
    }
  }
}

/** Parses a stored log entry. A long entry waits for its turn of the event loop, so that many readers of long logs do not block the process. */
function parsed (id: string, entry: Entry): Transition | Promise<Transition> {
  return entry.text.length < LONG ? parseEntry(id, entry) : inTurn(() => parseEntry(id, entry))
}

function parseEntry (id: string, { seq, text }: Entry): Transition {
  let transition: Transition | undefined
  try {
    transition = parseOwnJson(text) as unknown as Transition
  } catch {}
  if (transition?.seq !== seq) throw new SessionStoreError(`transition ${seq} of session ${id} is damaged`)
  return transition
}
