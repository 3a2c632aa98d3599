import { hostname } from 'node:os'
import { NamePatterns } from '../../access/caller.ts'
import { noticeNotFound, requestInvalid } from '../../base/errors.ts'
import { textIn } from '../../base/json.ts'
import { maskSecrets } from '../../base/redact.ts'
import { inOneLine, withoutEnd } from '../../base/text.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import type { Budget, NoticeKind, NoticeReceiver } from '../../config/operator.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { EntryProblem } from '../../registry/entries/entry-table.ts'
import type { Generation } from '../../registry/generation.ts'
import { type LabelMove, type LabelShare, sharesOf } from '../../registry/kinds/release-record.ts'
import type { Registry } from '../../registry/registry.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { ENDED } from '../../session/model.ts'
import { readShown } from '../../session/session-log.ts'
import { createMemorySessionStore } from '../../session/store/memory-session-store.ts'
import { type Append, type Appended, type SessionStore } from '../../session/store/session-store.ts'
import type { Budgets } from '../budgets.ts'
import { storeErrorOf } from '../sessions/session-service.ts'
import { createHttpAgent } from '../../tool/connections.ts'
import type { Operator } from '../../tool/operator.ts'
import { type Draft, Outbox, type OutboxOptions, type Proof } from './outbox.ts'
import { sendNotice } from './receivers.ts'

/** In ms, for which this process knows what it has sent. */
const KEPT = 7 * 86_400_000

/** In ms after a change of what is registered: a prompt is often published a moment before what it needs. */
const SETTLED = 2000

interface Told extends Omit<Draft, 'type'> {
  readonly type: NoticeKind
  /** Left out where a notice is of nobody, or of nothing that has a definition: then receivers for some get it too. */
  readonly owner?: string
  readonly definition?: string
}

interface NoticesOptions extends Pick<OutboxOptions, 'isTrue' | 'log' | 'seals'> {
  readonly config: Pick<Config, 'PUBLIC_URL' | 'LOG_VALUES' | 'SESSION_STORE'>
  readonly receivers: readonly NoticeReceiver[]
  /** Where sessions are kept, too. */
  readonly store: SessionStore
  readonly operator: Pick<Operator, 'egress' | 'tls'>
  readonly metrics: Pick<Metrics, 'notices'> | undefined
}

/**
 * Tells people outside of the service what waits for them, or went wrong, as `notices` in the operator's file says. What the store of sessions keeps is
 * told by all replicas together, once; that a store is lost each process tells by itself, out of its memory, because nothing can be kept then.
 */
export class Notices {
  readonly #options: NoticesOptions
  readonly #receivers: ReadonlyMap<string, NoticeReceiver & { readonly patterns: NamePatterns | undefined }>
  readonly #outbox: Outbox
  readonly #own: Outbox
  readonly #memory: SessionStore
  readonly #agent: ReturnType<typeof createHttpAgent>
  readonly #closing = new AbortController()
  /** By store, since when it is lost, in ms since 1970. */
  readonly #lost = new Map<string, number>()
  #problems: ReadonlySet<string> = new Set()
  #looking: NodeJS.Timeout | undefined

  /** @throws ConfigError */
  constructor (options: NoticesOptions) {
    const { config, receivers, operator: { egress, tls }, store, metrics } = options
    if (!URL.canParse(config.PUBLIC_URL)) {
      throw new ConfigError('PUBLIC_URL: expected the address at which people reach the console, since OPERATOR_FILE has notices')
    }
    for (const { name, url } of receivers) {
      const refusal = egress.refusal(new URL(url).hostname)
      if (refusal !== undefined) throw new ConfigError(`OPERATOR_FILE: notices.${name}: it ${refusal}`)
    }
    this.#options = options
    this.#receivers = new Map(receivers.map(each => [each.name, { ...each, patterns: each.definitions && new NamePatterns(each.definitions) }]))
    this.#agent = createHttpAgent(egress, tls, {})
    const shared: Omit<OutboxOptions, 'store'> = {
      ...options,
      receivers: receivers.map(({ name }) => name),
      send: async (receiver, notice, closing) => await sendNotice(this.#receiver(receiver), this.#agent, notice, closing, Date.now()),
      linkOf: page => this.#link(page),
      metrics: { count: (receiver, outcome) => { metrics?.notices.inc({ receiver, outcome }) } }
    }
    // Where registrations are kept in the same Redis, their reader tells.
    const onStore = config.SESSION_STORE === '' ? undefined : (problem: string | undefined): void => { this.tellOfStore('sessions', problem) }
    this.#outbox = new Outbox({ ...shared, store, onStore })
    this.#memory = createMemorySessionStore({ keep: KEPT })
    this.#own = new Outbox({ ...shared, store: this.#memory })
  }

  /** Before the registry starts. */
  open (
    registry: Pick<Registry, 'onPublished' | 'onRead' | 'problems'> & { readonly generation: Pick<Generation, 'prompts'> }, budgets: Pick<Budgets, 'onLevel'>
  ): void {
    budgets.onLevel((...level) => this.#tellOfBudget(...level))
    if ([...this.#receivers.values()].some(({ kinds }) => kinds.includes('entry.unusable'))) {
      const plan = (): void => {
        this.#looking ??= setTimeout(() => {
          this.#looking = undefined
          void this.#look(registry.generation, registry.problems())
        }, SETTLED).unref()
      }
      registry.onPublished(plan)
      registry.onRead(plan)
    }
    this.#outbox.open()
    this.#own.open()
  }

  /** Closes the store, too. */
  async close (): Promise<void> {
    clearTimeout(this.#looking)
    this.#closing.abort()
    await Promise.all([this.#outbox.close(), this.#own.close()])
    await Promise.all([this.#options.store.close(), this.#memory.close(), this.#agent.close()])
  }

  /** Keeps the notices of a session's log entry before it is written. @throws SessionStoreError, what `write` throws */
  async around (append: Append, write: () => Promise<Appended>, headBefore: () => Promise<{ readonly isAsking: boolean } | undefined>): Promise<Appended> {
    const { id, transition: { seq, token, fact } } = append
    const mayBeOfApproval = fact.kind === 'stopped' && fact.by === 'expiry'
    const told = ofEntry(append, this.#options.config.LOG_VALUES, mayBeOfApproval && (await headBefore())?.isAsking === true)
    if (told.length === 0) return await write()
    const kept = await this.#keep(told, { session: id, seq, token })
    const outcome = await write()
    this.#outbox.settle(kept, typeof outcome === 'string')
    return outcome
  }

  /** Keeps a notice of moves before the record of the prompt is written. A move never waits for the outbox: what it cannot keep is logged. */
  async aroundMoves<T> (prompt: string, moves: readonly LabelMove[], write: () => Promise<T | undefined>): Promise<T | undefined> {
    const kept = (await Promise.all(moves.map(async move => await this.#keepOrLog([ofMove(prompt, move)], { prompt, label: move.label, at: move.at })))).flat()
    const written = await write()
    this.#outbox.settle(kept, written !== undefined)
    return written
  }

  /** @param problem `undefined` when the store answers again */
  tellOfStore (store: 'registrations' | 'sessions', problem: string | undefined): void {
    const since = this.#lost.get(store)
    const now = Date.now()
    if ((problem === undefined) === (since === undefined)) return
    const at = since ?? now
    if (problem === undefined) this.#lost.delete(store)
    else this.#lost.set(store, at)
    const [process, isLost] = [hostname(), problem !== undefined]
    const seconds = Math.round((now - at) / 1000)
    // The processes of one machine say it with one id, which receivers know again.
    const draft: Told = {
      type: isLost ? 'store.lost' : 'store.back',
      words: isLost ? `${process} cannot reach the store of ${store}` : `${process} reaches the store of ${store} again after ${seconds} s`,
      page: isLost ? 'problems' : '',
      about: `store ${store} ${process} ${Math.floor(at / 60_000)}`,
      key: String(isLost),
      data: { store, process, since: new Date(at).toISOString(), seconds: isLost ? undefined : seconds }
    }
    for (const { name, kinds } of this.#receivers.values()) if (kinds.includes(draft.type)) void this.#own.keep(name, draft).catch(() => {})
  }

  /** @throws SessionStoreError */
  async #tellOfBudget ({ name, period, unit, most }: Budget, key: string, percent: number, used: number, ends: number): Promise<void> {
    const [bound, amount] = unit === 'usd' ? [most / 1e9, used / 1e9] : [most, used]
    await this.#keep([{
      type: percent < 100 ? 'budget.low' : 'budget.used',
      words: `The budget "${name}" of ${bound} ${unit === 'usd' ? 'USD' : 'tokens'} a ${period} is used to ${percent} %`,
      page: '',
      about: `budget ${key}`,
      key: String(percent),
      data: { budget: name, period, unit, percent, used: amount, most: bound, ends: new Date(ends).toISOString() }
    }])
  }

  /** Of this process and of the store. @throws REQUEST_INVALID for an unknown cursor, SESSIONS_UNAVAILABLE */
  async list (receiver: string | undefined, limit: number, cursor?: string) {
    try {
      const own = cursor === undefined ? (await this.#own.list(receiver, limit)).notices : []
      const { notices, next } = await this.#outbox.list(receiver, limit, cursor)
      return { notices: [...own, ...notices], next }
    } catch (error) {
      throw error instanceof RangeError ? requestInvalid(`querystring: after: ${error.message}`, { part: 'querystring' }) : storeErrorOf(error)
    }
  }

  /** @throws NOTICE_NOT_FOUND */
  async resend (id: string): Promise<void> {
    await this.#own.resend(id).catch(() => this.#outbox.resend(id)).catch(error => { throw storeErrorOf(error) })
  }

  /** Tries a receiver once. @throws NOTICE_NOT_FOUND */
  async test (name: string) {
    if (!this.#receivers.has(name)) throw noticeNotFound(name, [...this.#receivers.keys()])
    const at = Date.now()
    const id = `msg_test_${at}`
    const content = { type: 'test', at, words: 'This is a test of notices', link: this.#link(''), data: {} }
    return { id, ...await sendNotice(this.#receiver(name), this.#agent, { ...content, id }, this.#closing.signal, at) }
  }

  /** How many things wait, by receiver. */
  async waiting (): Promise<ReadonlyMap<string, number>> {
    const count = async (name: string): Promise<number> => await this.#outbox.waiting(name) + await this.#own.waiting(name)
    return new Map(await Promise.all(Array.from(this.#receivers.keys(), async name => [name, await count(name)] as const)))
  }

  /** What was told before, or by another replica, is kept only once. */
  async #look ({ prompts }: Pick<Generation, 'prompts'>, problems: readonly EntryProblem[]): Promise<void> {
    const slices = createSlices()
    const found: EntryProblem[] = [...problems]
    for (const { id, state, diagnostics } of prompts.values()) {
      const errors = diagnostics.filter(({ severity }) => severity === 'error')
      if (state !== 'valid') found.push({ key: `prompts/${id}`, servesLastGood: false, diagnostics: errors })
      if (slices.isDue()) await slices.pause()
    }
    const now = new Map(found.map(problem => [stampOf(problem), problem]))
    for (const [stamp, problem] of now) if (!this.#problems.has(stamp)) await this.#keepOrLog([ofProblem(problem, stamp)])
    this.#problems = new Set(now.keys())
  }

  async #keepOrLog (told: readonly Told[], proof?: Proof): Promise<readonly string[]> {
    return await this.#keep(told, proof).catch((error: Error) => {
      for (const { type, words } of told) this.#options.log.error({ type, words, reason: error.message }, 'a notice could not be kept, and is not sent')
      return []
    })
  }

  async #keep (told: readonly Told[], proof?: Proof): Promise<readonly string[]> {
    const kept = []
    for (const { owner, definition, ...draft } of told) {
      for (const { name, kinds, owners, patterns } of this.#receivers.values()) {
        if (!kinds.includes(draft.type) || (owner !== undefined && owners?.includes(owner) === false)) continue
        if (definition !== undefined && patterns?.allows(definition.replaceAll('/', '.')) === false) continue
        kept.push(await this.#outbox.keep(name, draft, proof))
      }
    }
    return kept.filter(id => id !== undefined)
  }

  #receiver (name: string): NoticeReceiver {
    return this.#receivers.get(name) as NoticeReceiver
  }

  #link (page: string): string {
    return `${withoutEnd(this.#options.config.PUBLIC_URL, '/')}/console/${page}`
  }
}

/** What a session's log entry tells. Without `withValues` it has nothing that people or models have said. */
function ofEntry ({ id, transition: { token, held, notices }, head }: Append, withValues: boolean, wasAsking: boolean): Told[] {
  const { definition, owner, status, title, problem } = head
  const about = { about: `session ${id}`, owner, definition }
  const said = (text: string | undefined): string | undefined => withValues && text !== undefined ? inOneLine(maskSecrets(text)) : undefined
  const session = { session: id, root: head.root, definition, owner, title: said(title) }
  const asked = notices.filter(({ type, data }) => type === 'approval' && Object.hasOwn(data, 'digest')).map(({ data }): Told => {
    const approval = textIn(data, 'id')
    const { kind, rule = '' } = { kind: textIn(data, 'kind'), rule: held.find(({ effect }) => effect.id === data['effect'])?.rule }
    const what = textIn(data, 'tool') || textIn(data, 'target') || textIn(data, 'workspace') || textIn(data, 'name')
    const command = said(textIn(data, 'command'))
    return {
      ...about,
      type: 'approval.waiting',
      words: `${definition} waits for an approval of ${kind} ${what}${command === undefined || command === '' ? '' : `: ${command}`}`,
      page: `approvals?at=${encodeURIComponent(approval)}`,
      key: `${token} ${approval}`,
      data: { ...session, approval, kind, on: what, rule, expiresAt: textIn(data, 'expiresAt'), command }
    }
  })
  const ends = { ...about, page: `sessions/${id}`, data: { ...session, status, code: problem?.code, problem: said(problem?.message) } }
  const words = `A session of ${definition} is ${status}${problem === undefined ? '' : ` (${problem.code})`}`
  // A child's end is its parent's to tell.
  const isEnd = ENDED.has(status) && head.parent === undefined && notices.some(({ type }) => type === 'done')
  return [
    ...asked,
    ...wasAsking
      ? [{ ...ends, type: 'approval.expired' as const, words: `Nobody has decided in time about an approval of ${definition}`, key: `${token} expired` }]
      : [],
    ...isEnd ? [{ ...ends, type: status === 'failed' ? 'session.failed' as const : 'session.ended' as const, words, key: `${token} end` }] : []
  ]
}

function ofMove (prompt: string, { label, from, to, at, by, note }: LabelMove): Told {
  const share = ({ version, weight }: LabelShare): string => weight === 100 ? `${version}` : `${version} (${weight} %)`
  const shown = (target: LabelMove['to']): string => target === null ? 'nothing' : sharesOf(target).map(share).join(', ')
  return {
    type: 'label.moved',
    at: Date.parse(at),
    words: `The label ${label} of ${prompt} means ${shown(to)}, and meant ${shown(from)} before; moved by ${by === '' ? 'a caller without a name' : by}`,
    page: `prompts/${encodeURIComponent(prompt.replaceAll('/', '.'))}`,
    about: `label ${prompt} ${label}`,
    key: at,
    definition: prompt,
    data: { prompt: prompt.replaceAll('/', '.'), label, from: shown(from), to: shown(to), by, note: note === undefined ? undefined : maskSecrets(note) }
  }
}

function ofProblem ({ key, servesLastGood, diagnostics }: EntryProblem, stamp: string): Told {
  return {
    type: 'entry.unusable',
    words: `${key} cannot be used as it is stored${servesLastGood ? '; what was stored before is served' : ''}`,
    page: 'problems',
    about: `entry ${stamp}`,
    key: '',
    data: { key, servesLastGood, problems: diagnostics.slice(0, 20).map(({ code, line }) => `${code}${line === undefined ? '' : ` in line ${line}`}`) }
  }
}

function stampOf ({ key, servesLastGood, diagnostics }: EntryProblem): string {
  return JSON.stringify([key, servesLastGood, diagnostics.map(({ code, message, line, column }) => [code, message, line, column])])
}

/** `undefined` while no log entry has this place. @throws SessionStoreError */
export async function wasWritten (store: SessionStore, { session, seq, token }: Extract<Proof, { readonly session: string }>): Promise<boolean | undefined> {
  const read = readShown(store, session, seq - 1)
  const { value } = await read.next()
  await read.return(undefined)
  return value === undefined ? undefined : value.token === token
}
