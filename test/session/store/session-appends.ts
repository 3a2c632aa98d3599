import { randomBytes } from 'node:crypto'
import { stringifyJson } from '../../../src/base/json.ts'
import { type Head, type LogPosition, type Status, type LogEntry } from '../../../src/session/model.ts'
import { readShown } from '../../../src/session/session-log.ts'
import { type Append, type SessionStore } from '../../../src/session/store/session-store.ts'

/** What a test wants of an append; the rest does not matter to it. */
export interface AppendWishes {
  readonly token?: string
  readonly owner?: string
  readonly status?: Status
  readonly definition?: string
  readonly engine?: string
  readonly driver?: string | undefined
  readonly createdAt?: number
  readonly due?: Append['due']
  /** Of a child: the session that has started it, and the one above all; and since when it asks. */
  readonly above?: { readonly parent: string, readonly root: string, readonly askedAt?: number }
  /** What the transition says, of any length. */
  readonly text?: string
}

/** A session's id, unlike any other. @param first the hexadecimal digit that it begins with */
export function newId (first = ''): string {
  return first + randomBytes(16).toString('hex').slice(first.length)
}

/** An append that follows a position; it creates the session behind undefined. */
export function appendOf (id: string, after: LogPosition | undefined, wishes: AppendWishes = {}): Append {
  const { token = newId(), owner = 'ann', status = 'running', definition = 'agents/helper', engine = 'skill/1', driver, createdAt = 1000, due = 60_000, text = 'hello', above } = wishes
  const seq = (after?.seq ?? 0) + 1
  const transition: LogEntry = {
    seq,
    at: createdAt + seq,
    token,
    by: 'replica-1',
    fact: { kind: 'input', id: `${seq}`, by: owner, text },
    begun: [],
    held: [],
    denied: [],
    notices: [{ type: 'stdout', data: { text } }]
  }
  const head: Head = { id, owner, engine, definition, status, isAsking: status === 'waiting_approval', createdAt, updatedAt: createdAt + seq, driver, seq, token, ...above }
  return { id, after, transition, entry: { seq, text: stringifyJson(transition), seal: '' }, head, due }
}

/** Appends behind a position and gives the one that is the top then. @throws Error when the store refuses */
export async function append (store: SessionStore, id: string, after?: LogPosition, wishes: AppendWishes = {}): Promise<LogPosition> {
  const next = appendOf(id, after, wishes)
  const outcome = await store.append(next)
  if (outcome !== 'ok') throw new Error(`the append is answered ${JSON.stringify(outcome)}`)
  return positionOf(next)
}

/** Creates a session of so many transitions; gives its top. */
export async function createSession (store: SessionStore, id: string, length: number, wishes: AppendWishes = {}): Promise<LogPosition> {
  let top: LogPosition | undefined
  for (let seq = 1; seq <= length; seq++) top = await append(store, id, top, wishes)
  return top as LogPosition
}

export function positionOf ({ transition: { seq, token } }: Append): LogPosition {
  return { seq, token }
}

/** All pages of a log as one list. */
export async function readAll (store: SessionStore, id: string, after = 0): Promise<LogEntry[]> {
  const transitions: LogEntry[] = []
  for await (const transition of readShown(store, id, after)) transitions.push(transition)
  return transitions
}
