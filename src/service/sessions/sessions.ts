import { createHash, randomUUID } from 'node:crypto'
import type { Caller } from '../../access/caller.ts'
import { refusalBy, type RightsWatch } from '../../access/rights.ts'
import { forkImpossible, forksTooLarge, keyReused, requestInvalid, sessionEnded, sessionNotFound, tooManySessions } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject, listOf, stringifyJson, textIn, textOf } from '../../base/json.ts'
import { eventsOf, type FeedItem, followSession, type SessionEvent, timeOf } from '../../session/follow.ts'
import { forkSession, ForkTooLarge, NothingToFork } from '../../session/fork.ts'
import type { Fact, Head, Start, LogEntry } from '../../session/model.ts'
import { KeyedMutex, LogUntrusted, readShown } from '../../session/session-log.ts'
import type { Session } from '../../session/session.ts'
import type { ListQuery, SessionStore } from '../../session/store/session-store.ts'
import { isOwn, isSessionId, ownSession, requireOwn, requireUsable } from './session-rights.ts'
import { available, begun, type OpenedSessions, type RunningSessions } from './running-sessions.ts'
import { type Below, childrenOf, tellOfWaiting, type SessionBranch, treeOf, withBelow } from './session-tree.ts'

const MAX_OPEN = 1000

/** In bytes, among a caller's last 1,000 sessions. */
const MAX_COPIED = 256 * 1024 * 1024

/** Pages of 200 sessions each. */
const COPIES_LOOKED = 5

/** A session `id` that has begun already needs no room. @throws TOO_MANY_SESSIONS */
async function requireRoom (store: SessionStore, owner: string, id?: string): Promise<void> {
  if (await store.countOpen(owner) < MAX_OPEN) return
  if (id === undefined || await store.head(id) === undefined) throw tooManySessions(MAX_OPEN)
}

/** In bytes, below 0 past the limit; only the owner's last 1,000 sessions count, so that old copies are forgotten. */
async function roomForCopies (store: SessionStore, owner: string): Promise<number> {
  let copied = 0
  let cursor: string | undefined
  for (let page = 0; page < COPIES_LOOKED; page++) {
    const { heads, next } = await store.list({ owner, limit: 200, cursor })
    for (const head of heads) copied += head.copied ?? 0
    if (next === undefined) break
    cursor = next
  }
  return MAX_COPIED - copied
}

/** The sessions of one caller begin one after the other, so that the limit of open sessions is kept. */
export class SessionStarts {
  readonly #running: RunningSessions
  readonly #ofCaller = new KeyedMutex()

  constructor (running: RunningSessions) {
    this.#running = running
  }

  /** `key` makes it idempotent. @throws DEFINITION_NOT_FOUND, TOO_MANY_SESSIONS, IDEMPOTENCY_KEY_REUSED, SESSIONS_UNAVAILABLE; what `make` does */
  async start (caller: Caller, make: (session: string) => Promise<Omit<Start, 'owner'>> | Omit<Start, 'owner'>, key?: string): Promise<Session> {
    const id = key === undefined ? newId() : idOfKey(caller, key)
    const start = await make(id)
    requireUsable(caller, { ...start, owner: caller.name })
    return await this.#running.use(({ store, runner }) => this.#ofCaller.run(caller.name, async () => {
      await requireRoom(store, caller.name, id)
      const session = await runner.start(id, { ...start, owner: caller.name })
      if (session.start.definition !== start.definition) throw keyReused(session.start.definition)
      return session
    }))
  }

  /** From a log entry at which it waited. @default the last @throws SESSION_NOT_FOUND, FORK_IMPOSSIBLE, TOO_MANY_SESSIONS, SESSION_ENDED */
  async fork (caller: Caller, id: string, upTo?: number): Promise<Session> {
    return await this.#running.use(async opened => {
      const session = await ownSession(opened.runner, caller, id)
      requireUsable(caller, session.start, session)
      // A child session cannot be forked: its result goes to its parent, and no parent would wait for the copy.
      if (session.start.parent !== undefined) throw forkImpossible(id)
      return await this.#ofCaller.run(caller.name, () => forkWithin(opened, caller, id, upTo))
    })
  }
}

async function forkWithin ({ store, engines, seals }: OpenedSessions, caller: Caller, id: string, upTo: number | undefined): Promise<Session> {
  await requireRoom(store, caller.name)
  const most = await roomForCopies(store, caller.name)
  try {
    return await forkSession({ store, engines, seals, from: id, to: newId(), owner: caller.name, upTo, most, by: caller.name })
  } catch (error) {
    if (error instanceof LogUntrusted) throw sessionEnded(id, `LOG_UNTRUSTED: ${error.message}`)
    if (error instanceof ForkTooLarge) throw forksTooLarge(MAX_COPIED / 1024 ** 2)
    throw error instanceof NothingToFork ? forkImpossible(id) : error
  }
}

function newId (): string {
  return randomUUID().replaceAll('-', '')
}

/** The same key of the same caller gives the same id. */
function idOfKey (caller: Caller, key: string): string {
  return createHash('sha256').update(JSON.stringify([caller.name, key])).digest('hex').slice(0, 32)
}

/** With the rights that the caller has now; an error that it throws ends the events. */
export type CurrentCaller = () => Caller

interface SessionPage {
  /** `reason`: why this process can neither open a session nor go on with it. */
  readonly heads: ReadonlyArray<Head & Below & { readonly reason?: string }>
  readonly next: string | undefined
}

/** A caller is allowed to see its own sessions, and an admin all. */
export class Sessions {
  readonly #running: RunningSessions
  readonly #rights: RightsWatch

  constructor (running: RunningSessions, rights: RightsWatch) {
    this.#running = running
    this.#rights = rights
  }

  /** The newest first, without child sessions unless `parent` or `root` is given. @throws REQUEST_INVALID for an unknown cursor */
  async list (caller: Caller, query: Omit<ListQuery, 'owner'>): Promise<SessionPage> {
    return await this.#running.use(async ({ store, engines }) => {
      const { parent, root = parent } = query
      if (root !== undefined && !isSessionId(root)) return { heads: [], next: undefined }
      // The store finds the descendants of a session only by the root of their tree.
      const top = parent === undefined ? root : (await store.head(parent))?.root ?? root
      const wanted = { ...query, root: top }
      try {
        const { heads, next } = await store.list(caller.roles.has('admin') ? wanted : { ...wanted, owner: caller.name })
        const told = await withBelow(store, heads)
        return { heads: told.map(head => engines.has(head.engine) ? head : { ...head, reason: `no engine ${head.engine} is here` }), next }
      } catch (error) {
        throw error instanceof RangeError ? requestInvalid(`querystring: after: ${error.message}`, { part: 'querystring' }) : error
      }
    })
  }

  /** The first one first. @throws SESSION_NOT_FOUND */
  async children (caller: Caller, id: string): Promise<ReadonlyArray<Head & Below>> {
    return await this.#running.use(async ({ store, runner }) => await childrenOf(store, await ownSession(runner, caller, id)))
  }

  /** @throws SESSION_NOT_FOUND */
  async tree (caller: Caller, id: string): Promise<SessionBranch> {
    return await this.#running.use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      const head = await store.head(id)
      if (head === undefined) throw sessionNotFound(id)
      return await treeOf(store, head)
    })
  }

  /** `who` is called before each event, and once a second. @throws SESSION_NOT_FOUND first, and once the follower may not see the session */
  async follow (who: CurrentCaller, id: string, after: number, signal: AbortSignal): Promise<AsyncGenerator<FeedItem>> {
    return await this.#running.use(async ({ store, runner }) => {
      const owner = await requireOwn(runner, who(), id)
      const greet = async (): Promise<readonly JsonObject[]> => {
        const session = await runner.load(id)
        return session === undefined ? [] : await tellOfWaiting({ store, runner }, session)
      }
      const mayFollow = (): void => { if (!isOwn(who(), { start: { owner } })) throw sessionNotFound(id) }
      return whileAllowed(this.#rights, mayFollow, lost => available(followSession(store, id, after, AbortSignal.any([signal, lost]), greet)))
    })
  }

  /** Read from the log one by one as they are asked for. @throws SESSION_NOT_FOUND before the first log entry */
  async audit (caller: Caller, id: string, after: number): Promise<AsyncGenerator<LogEntry>> {
    return await this.#running.use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      return await begun(available(readShown(store, id, after)))
    })
  }

  /** @throws SESSION_NOT_FOUND */
  async transitions (caller: Caller, id: string): Promise<readonly LogEntry[]> {
    const all: LogEntry[] = []
    for await (const transition of await this.audit(caller, id, 0)) all.push(transition)
    return all
  }

  /** @throws SESSION_NOT_FOUND */
  async messages (caller: Caller, id: string, after: MessagePlace, limit: number): Promise<MessagePage> {
    return await this.#running.use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      return await readMessages(readShown(store, id, Math.max(0, after.seq - 1)), after, limit)
    })
  }

  /** @throws SESSION_NOT_FOUND */
  async lastMessages (caller: Caller, id: string, limit: number): Promise<LastMessages> {
    return await this.#running.use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      const head = await store.head(id)
      return await readLastMessages(after => available(readShown(store, id, after)), head?.seq ?? 0, limit)
    })
  }

  /** @throws SESSION_NOT_FOUND */
  async uses (caller: Caller, id: string): Promise<readonly SessionUse[]> {
    return await usesIn(await this.audit(caller, id, 0))
  }
}

/** `check` throws when the follower may not see events any more; `follow` ends when its signal aborts. */
async function * whileAllowed (rights: RightsWatch, check: () => void, follow: (lost: AbortSignal) => AsyncGenerator<FeedItem>): AsyncGenerator<FeedItem> {
  const lost = new AbortController()
  const leave = rights.watch(() => refusalBy(check), why => { lost.abort(why) })
  try {
    for await (const each of follow(lost.signal)) {
      check()
      yield each
    }
    if (lost.signal.aborted) throw lost.signal.reason
  } finally {
    leave()
  }
}

/** Of the user, the model, a tool or the service itself, in the order of the session's events. */
export interface Message {
  /** The log entry from which the message comes; `n` is the index of the event in it. */
  readonly seq: number
  readonly n: number
  readonly at: string
  /** The name of the token; empty for a model, a tool, and the service. */
  readonly by: string
  readonly role: 'user' | 'assistant' | 'tool' | 'service'
  readonly text: string
  readonly tool?: string
  readonly command?: string
  readonly output?: string
}

interface MessagePlace {
  readonly seq: number
  readonly n: number
}

interface MessagePage {
  readonly messages: readonly Message[]
  readonly next?: string
}

/** In UTF-16 units; both output streams of a command fit into it. */
const MAX_TEXT = 160 * 1024

/** In UTF-16 units; the page ends with the message that exceeds this size. */
const MAX_PAGE = 1024 * 1024

const MAX_PATHS = 20

/** `log` starts with the log entry that contains the message `after`, the last on the page before. */
export async function readMessages (log: AsyncIterable<LogEntry>, after: MessagePlace, limit: number): Promise<MessagePage> {
  const messages: Message[] = []
  let size = 0
  for await (const transition of log) {
    for (const message of messagesOf(transition)) {
      if (message.seq === after.seq && message.n <= after.n) continue
      const last = messages.at(-1)
      if (last !== undefined && (messages.length >= limit || size > MAX_PAGE)) return { messages, next: `${last.seq}.${last.n}` }
      messages.push(message)
      size += sizeOf(message)
    }
  }
  return { messages }
}

interface LastMessages {
  readonly messages: readonly Message[]
  readonly hasEarlier: boolean
}

/** Log entries read at first for each wanted message, and the growth while too few messages are found. */
const [FOR_EACH, FURTHER] = [2, 4]

/** Reads from near the log's end on; fewer than `limit` are returned if they are too long for one page. */
async function readLastMessages (read: (after: number) => AsyncIterable<LogEntry>, seq: number, limit: number): Promise<LastMessages> {
  for (let span = FOR_EACH * limit; ; span *= FURTHER) {
    const after = Math.max(0, seq - span)
    const found: Message[] = []
    for await (const transition of read(after)) found.push(...messagesOf(transition))
    if (found.length < limit && after > 0) continue
    const messages = endOf(found, limit)
    return { messages, hasEarlier: after > 0 || messages.length < found.length }
  }
}

function endOf (all: readonly Message[], limit: number): readonly Message[] {
  let [from, size] = [all.length, 0]
  for (const message of all.slice(-limit).reverse()) {
    size += sizeOf(message)
    if (size > MAX_PAGE && from < all.length) break
    from--
  }
  return all.slice(from)
}

/** In UTF-16 units. */
function sizeOf ({ text, output = '' }: Message): number {
  return text.length + output.length
}

export function messagesOf (transition: LogEntry): Message[] {
  const { seq, at, fact } = transition
  const events = eventsOf(transition)
  const said = new Set(events.flatMap(({ type, data }) => type === 'message' ? [textOf(data['content'])] : []))
  return events.flatMap((event, n) => {
    const part = partOf(event, fact, said)
    if (part === undefined) return []
    const { by = '', role, text, ...more } = part
    return [{ seq, n, at: timeOf(at), by, role, text: clip(text), ...more, output: more.output === undefined ? undefined : clip(more.output) }]
  })
}

type MessageContent = Omit<Message, 'seq' | 'n' | 'at' | 'by'> & { readonly by?: string }

/** `said`: the texts of the log entry's messages, which agents show a second time as lines of `stdout`. */
function partOf ({ type, data }: SessionEvent, fact: Fact, said: ReadonlySet<string>): MessageContent | undefined {
  switch (type) {
    case 'input': return inputOf(data)
    case 'stdout': return said.has(textOf(data['text'])) ? undefined : { role: 'service', text: textOf(data['text']) }
    case 'message': return { role: 'assistant', text: textOf(data['content']) || textOf(data['text']) }
    case 'ask': return { role: 'assistant', text: textOf(data['text']) }
    case 'error': return { role: 'service', text: textOf(data['message']) }
    case 'files': return { role: 'service', text: `${textOf(data['stage'])}: ${pathsOf(data['files'])}` }
    case 'command': return commandOf(data, fact)
    case 'tool': return data['phase'] === 'ended' ? toolOf(data, fact) : undefined
    default: return undefined
  }
}

/** None for the result of a command run by hand: the message of the command contains it. */
function inputOf ({ by, text, action }: JsonObject): MessageContent | undefined {
  if (action === 'command_result') return undefined
  return { role: 'user', by: textOf(by), text: textOf(text) || (action === undefined ? '' : `/${textOf(action)}`) }
}

function commandOf (data: JsonObject, fact: Fact): MessageContent {
  const { phase, command, check, passed, output, reason } = data
  if (phase === 'proposed') return { role: 'assistant', text: '', command: textOf(command) }
  if (phase === 'denied') return { role: 'tool', text: textOf(reason), command: textOf(command) }
  if (check !== undefined) return { role: 'tool', text: passed === true ? 'passed' : 'failed', tool: textOf(check), output: textOf(output) || printedBy(fact) }
  return { role: 'tool', text: '', command: textOf(command), output: printedBy(fact) }
}

function toolOf (data: JsonObject, fact: Fact): MessageContent {
  const { name, tool, outcome, message } = data
  const output = fact.kind === 'result' && outcome === 'ok' ? { output: typeof fact.result === 'string' ? fact.result : stringifyJson(fact.result) } : {}
  return { role: 'tool', text: [textOf(outcome), textOf(message)].filter(text => text !== '').join(': '), tool: textOf(name) || textOf(tool), ...output }
}

function printedBy (fact: Fact): string {
  const result = fact.kind === 'result' ? fact.result : fact.kind === 'input' ? fact.action?.data ?? { stdout: fact.text } : undefined
  return [textIn(result, 'stdout'), textIn(result, 'stderr')].filter(text => text !== '').join('\n')
}

function pathsOf (files: Json | undefined): string {
  const paths = listOf(files).map(file => textOf(isJsonObject(file) ? file['path'] : file))
  return `${paths.slice(0, MAX_PATHS).join(', ')}${paths.length > MAX_PATHS ? `, and ${paths.length - MAX_PATHS} more` : ''}`
}

function clip (text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…[truncated]`
}

export interface SessionUse {
  readonly kind: string
  /** A model's purpose, the id of a tool, or a name such as `agents/helper`. */
  readonly name: string
  readonly calls: number
  readonly failures: number
  readonly tokens: number
}

const MAX_USES = 500

const NAMES = ['purpose', 'tool', 'check', 'target', 'workspace', 'definition']

async function usesIn (log: AsyncIterable<LogEntry>): Promise<readonly SessionUse[]> {
  const uses = new Map<string, SessionUse>()
  const keys = new Map<string, string>()
  for await (const { fact, begun } of log) {
    if ('effect' in fact && fact.kind !== 'decided') {
      const use = uses.get(keys.get(fact.effect) ?? '')
      if (use !== undefined) uses.set(keyOf(use), { ...use, failures: use.failures + (hasFailed(fact) ? 1 : 0), tokens: use.tokens + tokensOf(fact) })
      keys.delete(fact.effect)
    }
    for (const { id, kind, subject } of begun) {
      const name = nameOf(subject)
      if (name === undefined) continue
      const key = keyOf({ kind, name })
      const use = uses.get(key) ?? { kind, name, calls: 0, failures: 0, tokens: 0 }
      if (!uses.has(key) && uses.size === MAX_USES) continue
      uses.set(key, { ...use, calls: use.calls + 1 })
      keys.set(id, key)
    }
  }
  return [...uses.values()]
}

function keyOf ({ kind, name }: Pick<SessionUse, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

function nameOf (subject: JsonObject | undefined): string | undefined {
  const found = NAMES.find(name => subject !== undefined && Object.hasOwn(subject, name))
  const name = found === undefined ? undefined : subject?.[found]
  return typeof name === 'string' ? name : undefined
}

/** A command whose exit code is not 0, and a check that does not pass, count as failed, too. */
function hasFailed (fact: Fact): boolean {
  if (fact.kind !== 'result') return true
  const result: Json = fact.result
  return isJsonObject(result) && ((typeof result['exitCode'] === 'number' && result['exitCode'] !== 0) || result['passed'] === false)
}

function tokensOf (fact: Fact): number {
  return fact.kind === 'result' && fact.usage !== undefined ? fact.usage.input + fact.usage.output : 0
}
