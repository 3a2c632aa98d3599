import { createHash, randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { noticeNotFound } from '../../base/errors.ts'
import { parseOwnJson, stringifyJson } from '../../base/json.ts'
import { KeyedMutex } from '../../runtime/concurrency.ts'
import type { Log } from '../../runtime/telemetry.ts'
import type { Fact, Head, LogEntry } from '../../session/model.ts'
import { LogUntrusted, readGenuine, type Seals } from '../../session/session-log.ts'
import type { SessionStore } from '../../session/store/session-store.ts'
import type { NoticeContent, Sent } from './receivers.ts'

/** What has to be true for a notice to be sent: a log entry that was written, or a label that was moved. */
export type Proof =
  | { readonly session: string, readonly seq: number, readonly token: string }
  | { readonly prompt: string, readonly label: string, readonly at: string }

export interface Draft extends Omit<NoticeContent, 'link' | 'at'> {
  readonly at?: number
  /** Below the console's own path. */
  readonly page: string
  /** Notices about the same are sent in their order. */
  readonly about: string
  /** Tells notices about the same apart: told twice, it is sent once. */
  readonly key: string
}

interface Queued extends NoticeContent {
  readonly id: string
  readonly proof?: Proof
  /** `announced`: not known yet whether it has come true. */
  readonly phase: 'announced' | 'waiting' | 'dead'
  /** When its retries began, in ms since 1970. */
  readonly since: number
  /** When to try next. */
  readonly due: number
  readonly tries: number
  readonly problem?: string | undefined
  /** An operator wants it sent, whatever the receiver has said before. */
  readonly isResent?: true
}

/** For one receiver, about one thing. A queue is kept as a session is: its log holds all that happened to its notices. */
interface Queue {
  readonly id: string
  seq: number
  token: string
  receiver: string
  createdAt: number
  /** `over`: sent, so that nothing is sent again. */
  readonly notices: Map<string, Queued | 'over'>
}

/** In ms: who works on a queue has it for so long, which is longer than an attempt takes. */
const LEASE = 30_000

/** In ms, after which somebody looks whether what was announced came true, and after which it never will. */
const [ANNOUNCED, NEVER] = [15_000, 600_000]

/** Between attempts, in ms. */
const PAUSES = [5000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000, 28_800_000]

/** In ms: after it, a notice that no receiver has taken is dead. */
const DAY = 86_400_000

/** Open queues of a receiver, and notices that one holds. */
const [MOST, MOST_IN_QUEUE] = [10_000, 100]

/** Attempts at a time, for one receiver; and the wait of its other queues for a place, and after it was not reached, in ms. */
const [AT_ONCE, BUSY, AWAY] = [10, 500, 5000]

/** At most this long between two takes of queues that are due, in ms; queues in work at a time. */
const [POLL, ROOM] = [5000, 100]

const REMEMBERED = 1000

export interface OutboxOptions {
  readonly store: SessionStore
  readonly receivers: readonly string[]
  readonly send: (receiver: string, notice: Queued, closing: AbortSignal) => Promise<Sent>
  /** `undefined` while that cannot be told. */
  readonly isTrue: (proof: Proof) => Promise<boolean | undefined>
  readonly linkOf: (page: string) => string
  readonly seals: Seals
  readonly log: Log
  readonly metrics: { count (receiver: string, outcome: 'sent' | 'failed' | 'dead' | 'dropped'): void }
  /** Told of the store that keeps the outbox. */
  readonly onStore?: ((problem: string | undefined) => void) | undefined
  /** In ms since 1970. @default Date.now */
  readonly now?: () => number
}

/**
 * Notices that wait for their receivers, in a store of sessions: it has due times and leases, so replicas share them, and what one leaves another
 * sends. Each is sent at least once. One that follows from a change is announced before the change is made; a crash between the two leaves an
 * announcement whose proof somebody looks up. In a queue, one waits for the one before; one that nobody takes for a day is dead, and holds up no other.
 */
export class Outbox {
  readonly #options: OutboxOptions
  readonly #store: SessionStore
  readonly #now: () => number
  readonly #by = randomUUID()
  readonly #engines: ReadonlySet<string>
  readonly #queues = new LRUCache<string, Queue>({ max: REMEMBERED })
  readonly #lock = new KeyedMutex()
  readonly #working = new Set<string>()
  readonly #work = new Set<Promise<void>>()
  readonly #busy = new Map<string, number>()
  /** By receiver, in ms since 1970: it was not reached. */
  readonly #away = new Map<string, number>()
  /** They have answered 410, and get nothing more from this process. */
  readonly #gone = new Set<string>()
  /** By receiver, how many were not kept; and why it did not take the last one. */
  readonly #dropped = new Map<string, number>()
  readonly #failing = new Map<string, string>()
  readonly #closing = new AbortController()
  #timer: NodeJS.Timeout | undefined
  /** On the clock of `performance.now()`, in ms; never before `open`. */
  #wakesAt = -Infinity
  #problem: string | undefined

  constructor (options: OutboxOptions) {
    this.#options = options
    this.#store = options.store
    this.#now = options.now ?? Date.now
    this.#engines = new Set(options.receivers.map(engineOf))
  }

  open (): void {
    this.#wakesAt = Infinity
    this.#wake(0)
  }

  /** The store stays open. */
  async close (): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    const left = [...this.#working]
    while (this.#work.size > 0) await Promise.all(this.#work)
    await this.#store.renew(this.#by, left, 0).catch(() => {})
  }

  /** With a proof, the notices are only announced: `settle` says whether they came true. @throws SessionStoreError */
  async keep (receiver: string, { page, about, key, at = this.#now(), ...content }: Draft, proof?: Proof): Promise<string | undefined> {
    const queue = digest(receiver, about).slice(0, 32)
    const id = `msg_${queue}${digest(key).slice(0, 16)}`
    if (this.#gone.has(receiver)) return this.#drop(receiver, 'it has answered 410 Gone')
    let isFull = false
    const change = this.#change(queue, receiver, async ({ notices }) => {
      isFull = false
      if (notices.has(id)) return undefined
      const isIdle = firstOf(notices) === undefined
      isFull = openIn(notices).length >= MOST_IN_QUEUE || (isIdle && await this.#store.countOpen(receiver) >= MOST)
      if (isFull) return undefined
      return { kind: 'input', id, by: receiver, text: stringifyJson({ ...content, at, link: this.#options.linkOf(page), proof }) }
    })
    // A session must not stop because somebody has written to a queue.
    const problem = await change.then(() => undefined, (error: Error) => error)
    if (problem instanceof LogUntrusted) return this.#drop(receiver, problem.message)
    if (problem !== undefined) throw problem
    if (isFull) return this.#drop(receiver, `${MOST} things wait for it, or ${MOST_IN_QUEUE} notices of one of them`)
    if (proof === undefined) this.#wake(0)
    return id
  }

  /** Not awaited by whoever has made the change: what is not settled is looked up. */
  settle (ids: readonly string[], isTrue: boolean): void {
    for (const id of ids) {
      this.#track(this.#settle(id, isTrue).then(() => { this.#wake(0) }, (error: Error) => {
        this.#options.log.debug({ notice: id, reason: error.message }, 'whether a notice is true will be looked up')
      }))
    }
  }

  /** The newest queues first; a page can have fewer notices than `limit`, or none. @throws SessionStoreError; RangeError for a foreign cursor */
  async list (receiver: string | undefined, limit: number, cursor?: string) {
    const { heads, next } = await this.#store.list({ statuses: ['running', 'failed'], limit, owner: receiver, cursor })
    const queues = await Promise.all(heads.map(({ id }) => this.#read(id)))
    return { notices: queues.flatMap(({ receiver, notices }) => openIn(notices).map(notice => ({ ...notice, receiver }))), next }
  }

  /** A dead one, or one that waits for a further attempt. @throws NOTICE_NOT_FOUND, SessionStoreError */
  async resend (id: string): Promise<void> {
    const place = queueOf(id)
    if (place === undefined || await this.#store.head(place) === undefined) throw noticeNotFound(id)
    await this.#change(place, '', async ({ notices }) => {
      if (!isQueued(notices.get(id), 'waiting', 'dead')) throw noticeNotFound(id)
      return { kind: 'took', repeats: [id] }
    })
    this.#wake(0)
  }

  /** Queues with notices that wait. @throws SessionStoreError */
  async waiting (receiver: string): Promise<number> {
    return await this.#store.countOpen(receiver)
  }

  /** Works on what is due until that is done, for who has a clock of its own. */
  async sendDue (): Promise<void> {
    await this.#take()
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  #wake (after: number): void {
    const at = performance.now() + after
    if (this.#closing.signal.aborted || at >= this.#wakesAt) return
    clearTimeout(this.#timer)
    this.#wakesAt = at
    this.#timer = setTimeout(() => {
      this.#wakesAt = Infinity
      this.#track(this.#look())
    }, after).unref()
  }

  async #look (): Promise<void> {
    try {
      const next = await this.#take()
      if (this.#problem !== undefined) this.#options.onStore?.(undefined)
      this.#problem = undefined
      this.#wake(Math.min(next ?? POLL, POLL))
    } catch (error) {
      const { message } = error as Error
      if (this.#problem === undefined) {
        this.#options.log.warn({ reason: message }, 'no notices can be sent')
        this.#options.onStore?.(message)
      }
      this.#problem = message
      this.#wake(POLL / 5)
    }
  }

  /** Waits for no receiver, since one that hangs must hold up no other. @returns in how many ms the next queue is due */
  async #take (): Promise<number | undefined> {
    const room = ROOM - this.#working.size
    if (room <= 0) return BUSY
    const { ids, next } = await this.#store.take(this.#by, room, LEASE, this.#engines)
    for (const id of ids) this.#track(this.#workOn(id))
    return ids.length === room ? 0 : next
  }

  async #workOn (id: string): Promise<void> {
    this.#working.add(id)
    try {
      await this.#deliver(id)
    } catch (error) {
      const isForged = error instanceof LogUntrusted
      const what = isForged ? 'somebody else has written to a queue of notices, so none of it is sent' : 'notices could not be sent; somebody will try again'
      this.#options.log[isForged ? 'error' : 'warn']({ queue: id, reason: (error as Error).message }, what)
      if (isForged) await this.#store.renew(this.#by, [id], DAY)
    } finally {
      this.#working.delete(id)
    }
  }

  /** Until nothing of the queue is left, or has to wait. */
  async #deliver (id: string): Promise<void> {
    const putOff = async (wait: number): Promise<void> => { await this.#store.renew(this.#by, [id], wait) }
    for (;;) {
      const { receiver, notices } = await this.#read(id)
      const first = firstOf(notices)
      if (first === undefined || this.#closing.signal.aborted) return
      if (first.proof !== undefined && first.phase === 'announced') {
        const isTrue = await this.#options.isTrue(first.proof) ?? (this.#now() - first.since > NEVER ? false : undefined)
        if (isTrue === undefined) return await putOff(ANNOUNCED)
        await this.#settle(first.id, isTrue, true)
        continue
      }
      const wait = (this.#busy.get(receiver) ?? 0) >= AT_ONCE ? BUSY : (this.#away.get(receiver) ?? 0) - this.#now()
      if (wait > 0) return await putOff(wait)
      const fact = await this.#try(receiver, first)
      if (fact === undefined) return
      await this.#change(id, receiver, ({ notices: now }) => isQueued(now.get(first.id), 'waiting') ? fact : undefined, true)
      if (fact.kind === 'failure') return
    }
  }

  /** `undefined` where this process ends first. */
  async #try (receiver: string, notice: Queued): Promise<Fact | undefined> {
    const { log, metrics, send } = this.#options
    const { id, type, since, tries, isResent } = notice
    const about = { receiver, notice: id, type }
    const die = (reason: string, said?: string): Fact => {
      log.warn({ ...about, reason }, 'a notice is dead: `aps notices` lists it, and can send it again')
      metrics.count(receiver, 'dead')
      return { kind: 'refused', effect: id, by: 'policy', reason: withQuote(reason, said) }
    }
    if (this.#gone.has(receiver) && isResent !== true) return die('the receiver has answered 410 Gone')
    this.#busy.set(receiver, (this.#busy.get(receiver) ?? 0) + 1)
    const { status, problem, quote } = await send(receiver, notice, this.#closing.signal).finally(() => {
      this.#busy.set(receiver, (this.#busy.get(receiver) ?? 1) - 1)
    })
    if (problem === undefined) {
      this.#gone.delete(receiver)
      if (this.#failing.delete(receiver)) log.info({ receiver }, 'a receiver of notices takes them again')
      metrics.count(receiver, 'sent')
      return { kind: 'result', effect: id, result: status ?? null }
    }
    if (this.#closing.signal.aborted) return undefined
    metrics.count(receiver, 'failed')
    if (this.#failing.get(receiver) !== problem) log.warn({ ...about, reason: problem }, 'a receiver did not take a notice')
    this.#failing.set(receiver, problem)
    if (status === undefined) this.#away.set(receiver, this.#now() + AWAY)
    if (status === 410) {
      log.error({ receiver }, 'a receiver of notices has answered 410 Gone: until a restart nothing more is sent to it, but what is sent again')
      this.#gone.add(receiver)
      return die(problem, quote)
    }
    return this.#now() + pauseAfter(tries + 1) - since > DAY
      ? die(problem, quote)
      : { kind: 'failure', effect: id, code: 'NOTICE_FAILED', message: withQuote(problem, quote) }
  }

  async #settle (id: string, isTrue: boolean, isMine = false): Promise<void> {
    await this.#change(queueOf(id) ?? '', '', ({ notices }) => isQueued(notices.get(id), 'announced')
      ? { kind: 'decided', effect: id, by: this.#by, decision: isTrue ? 'approve' : 'reject' }
      : undefined, isMine)
  }

  #drop (receiver: string, reason: string): undefined {
    this.#options.metrics.count(receiver, 'dropped')
    const dropped = (this.#dropped.get(receiver) ?? 0) + 1
    this.#dropped.set(receiver, dropped)
    // A flood of them is told by its size.
    if (Number.isInteger(Math.log10(dropped))) this.#options.log.error({ receiver, dropped, reason }, 'a notice is not kept')
  }

  async #read (id: string): Promise<Queue> {
    return await this.#lock.run(id, () => this.#load(id))
  }

  async #load (id: string): Promise<Queue> {
    const queue = this.#queues.get(id) ?? { id, seq: 0, token: '', receiver: '', createdAt: 0, notices: new Map() }
    for await (const { transition } of readGenuine(this.#store, this.#options.seals, id, queue.seq === 0 ? undefined : queue)) fold(queue, transition)
    if (queue.seq > 0) this.#queues.set(id, queue)
    return queue
  }

  /** @param isMine whether this process works on the queue, and goes on with it while something can be sent */
  async #change (
    id: string, receiver: string, decide: (queue: Queue) => Fact | undefined | Promise<Fact | undefined>, isMine = false
  ): Promise<Queue> {
    return await this.#lock.run(id, async () => {
      for (;;) {
        const before = await this.#load(id)
        const fact = await decide(before)
        if (fact === undefined) return before
        const [at, token] = [this.#now(), randomUUID()]
        const transition: LogEntry = { seq: before.seq + 1, at, token, by: this.#by, fact, begun: [], held: [], denied: [], notices: [] }
        const after: Queue = { ...before, receiver: before.receiver || receiver, notices: new Map(before.notices) }
        fold(after, transition)
        const first = firstOf(after.notices)
        // Whoever works on it, or knows when to, is left alone.
        const isLeft = !isMine && first !== undefined && first === firstOf(before.notices)
        const goesOn = isMine && first !== undefined && first.due <= at
        const unsealed = { seq: after.seq, text: stringifyJson(transition) }
        const outcome = await this.#store.append({
          id,
          after: before.seq === 0 ? undefined : { seq: before.seq, token: before.token },
          transition,
          entry: { ...unsealed, seal: this.#options.seals.sealOf(id, before.token, unsealed) },
          head: headOf(after, at, goesOn ? this.#by : undefined),
          due: isLeft ? 'keep' : first === undefined ? 'never' : goesOn ? LEASE : Math.max(0, first.due - at)
        })
        if (typeof outcome === 'string') {
          this.#queues.set(id, after)
          return after
        }
        this.#queues.delete(id)
      }
    })
  }

  #track (work: Promise<void>): void {
    const tracked = work.catch((error: unknown) => {
      this.#options.log.error({ reason: (error as Error).message }, 'notices: unexpected')
    }).finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
  }
}

function fold (queue: Queue, { seq, token, at, fact }: LogEntry): void {
  const { notices } = queue
  if (queue.seq === 0) queue.createdAt = at
  queue.seq = seq
  queue.token = token
  const change = (id: string, next: (notice: Queued) => Partial<Queued>): void => {
    const notice = notices.get(id)
    if (notice !== undefined && notice !== 'over') notices.set(id, { ...notice, ...next(notice) })
  }
  switch (fact.kind) {
    case 'input': {
      const content = parseOwnJson(fact.text) as unknown as NoticeContent & Pick<Queued, 'proof'>
      const isAnnounced = content.proof !== undefined
      queue.receiver = fact.by
      const phase = isAnnounced ? 'announced' : 'waiting'
      notices.set(fact.id, { ...content, id: fact.id, phase, since: at, tries: 0, due: isAnnounced ? at + ANNOUNCED : at })
      break
    }
    case 'decided':
      if (fact.decision === 'reject') notices.delete(fact.effect)
      else change(fact.effect, () => ({ phase: 'waiting', since: at, due: at }))
      break
    case 'result':
      notices.set(fact.effect, 'over')
      break
    case 'failure':
      change(fact.effect, ({ tries }) => ({ tries: tries + 1, due: at + pauseAfter(tries + 1), problem: fact.message }))
      break
    case 'refused':
      change(fact.effect, ({ tries }) => ({ phase: 'dead', tries: tries + 1, problem: fact.reason }))
      break
    case 'took':
      for (const id of fact.repeats) change(id, () => ({ phase: 'waiting', since: at, tries: 0, due: at, isResent: true }))
  }
}

function headOf ({ id, seq, token, receiver, createdAt, notices }: Queue, at: number, driver: string | undefined): Head {
  const status = firstOf(notices) !== undefined ? 'running' : openIn(notices).length > 0 ? 'failed' : 'completed'
  const [owner, engine, definition] = [receiver, engineOf(receiver), `notices/${receiver}`]
  return { id, seq, token, owner, engine, definition, status, isAsking: false, createdAt, updatedAt: at, driver }
}

/** So that no replica takes what is for a receiver that it does not know. */
function engineOf (receiver: string): string {
  return `outbox/${receiver}`
}

function openIn (notices: Queue['notices']): Queued[] {
  return [...notices.values()].filter(notice => notice !== 'over')
}

/** The one for whose end the others wait. */
function firstOf (notices: Queue['notices']): Queued | undefined {
  return openIn(notices).find(({ phase }) => phase !== 'dead')
}

function isQueued (notice: Queued | 'over' | undefined, ...phases: ReadonlyArray<Queued['phase']>): boolean {
  return notice !== undefined && notice !== 'over' && phases.includes(notice.phase)
}

function pauseAfter (tries: number): number {
  return PAUSES[Math.min(tries, PAUSES.length) - 1] as number
}

function withQuote (problem: string, quote: string | undefined): string {
  return quote === undefined ? problem : `${problem}: ${quote}`
}

function queueOf (id: string): string | undefined {
  return /^msg_([0-9a-f]{32})[0-9a-f]{16}$/.exec(id)?.[1]
}

function digest (...names: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('hex')
}
