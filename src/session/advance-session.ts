import { type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { approvalAsked, approvalDecided, approvalDigest } from './approvals.ts'
import { digestOf, rowOf } from './effects.ts'
import type { EngineStart, RunningEngine } from './engine.ts'
import type { Gate } from './gate.ts'
import {
  type Begun, type Denied, type Effect, ENDED, type Fact, type Held, type Notice, type Start, type Status, type StopCause,
  type LogEntry, type Spent, type Usage
} from './model.ts'
import {
  addSpent, type ApprovalRecord, childId, type OpenEffect, openIn, problemIn, reservationFor, type Session, type SpentBudget, statusOf, titleIn
} from './session.ts'

type End = Extract<Fact, { readonly effect: string }> & { readonly kind: 'result' | 'failure' | 'unknown' | 'refused' }

/** UTF-16 units; longer JSON is cut. */
const MAX_ARGUMENTS = 16_000

function toolNotice (effect: Effect, phase: 'called' | 'ended', more: JsonObject): Notice[] {
  if (effect.kind !== 'tool') return []
  const { id, name, tool, arguments: given } = effect
  return [{ type: 'tool', data: { effect: id, ...(name === undefined ? {} : { name }), tool, arguments: cutArguments(given), phase, ...more } }]
}

function outcomeOf (fact: End): JsonObject {
  switch (fact.kind) {
    case 'result': return { outcome: 'ok' }
    case 'failure': return { outcome: 'failed', code: fact.code, message: fact.message }
    case 'unknown': return { outcome: 'unknown', message: `${fact.reason ?? 'It was interrupted'}. Nobody knows whether it was done` }
    case 'refused': return { outcome: 'refused', message: fact.reason }
  }
}

const GIVEN_UP: JsonObject = { outcome: 'unknown', message: 'It was given up. Nobody knows whether it was done' }

function cutArguments (given: JsonObject): Json {
  const text = stringifyJson(given)
  return text.length <= MAX_ARGUMENTS ? given : `${text.slice(0, MAX_ARGUMENTS)}…[truncated]`
}

function childNotice (session: string, effect: Effect, more: JsonObject): Notice[] {
  if (effect.kind !== 'child') return []
  const { id, name, definition } = effect
  return [{ type: 'child', data: { effect: id, session: childId(session, id), name, definition, ...more } }]
}

const STATUSES: ReadonlyMap<string, string> = new Map([['CHILD_EXPIRED', 'expired'], ['CHILD_CANCELLED', 'cancelled']])

function endStatus (fact: End): JsonObject {
  switch (fact.kind) {
    case 'result': return { status: 'completed' }
    case 'refused': return { status: 'refused', message: fact.reason }
    case 'failure': return { status: STATUSES.get(fact.code) ?? 'failed', code: fact.code, message: fact.message }
    case 'unknown': return { status: 'failed', message: fact.reason ?? 'it was interrupted' }
  }
}

export type Stamp = Pick<LogEntry, 'at' | 'token' | 'by'>

export interface Advanced {
  readonly session: Session
  readonly transition: LogEntry
}

export function begin (id: string, start: Start, engine: EngineStart, gate: Gate, stamp: Stamp): Advanced {
  const empty: Session = {
    id,
    seq: 0,
    token: '',
    start,
    status: 'running',
    engine: engine(),
    open: new Map(),
    used: { steps: 0, tokens: 0, calls: new Map() },
    lastInput: undefined,
    turn: { number: 0, began: stamp.at, over: undefined },
    doubtful: new Set(),
    asked: new Map(),
    bytes: 0,
    createdAt: stamp.at,
    updatedAt: stamp.at,
    title: undefined,
    problem: undefined
  }
  return advance(empty, { kind: 'started', start }, gate, stamp)
}

/** Computes the next log entry. Reading a log runs the same function, with a gate that repeats the recorded decisions. */
export function advance (session: Session, fact: Fact, gate: Gate, stamp: Stamp): Advanced {
  return new LogEntryBuilder(session, stamp).take(fact, gate)
}

const STOPPED: Readonly<Record<StopCause, Status>> = { cancel: 'cancelled', expiry: 'expired', budget: 'failed', fault: 'failed' }

/** Computes one log entry, and the session after it. No effect is performed before the log entry is written. */
class LogEntryBuilder {
  readonly #before: Session
  readonly #stamp: Stamp
  readonly #open: Map<string, OpenEffect>
  readonly #begun: Begun[] = []
  readonly #held: Held[] = []
  readonly #denied: Denied[] = []
  readonly #notices: Notice[] = []
  readonly #seq: number
  #engine: RunningEngine
  #used: SpentBudget
  #stopped: Status | undefined
  #asked = 0
  #lastInput: string | undefined
  #turn: Session['turn']
  #doubtful: ReadonlySet<string>
  #people: ReadonlyMap<string, ApprovalRecord>

  constructor (session: Session, stamp: Stamp) {
    this.#before = session
    this.#stamp = stamp
    this.#seq = session.seq + 1
    this.#open = new Map(session.open)
    this.#engine = session.engine
    this.#used = session.used
    this.#lastInput = session.lastInput
    this.#turn = session.turn
    this.#doubtful = session.doubtful
    this.#people = session.asked
    this.#stopped = ENDED.has(session.status) ? session.status : undefined
  }

  take (fact: Fact, gate: Gate): Advanced {
    this.#takeFact(fact)
    for (let owed = this.#firstOwed(gate); owed !== undefined; owed = this.#firstOwed(gate)) this.#decide(...owed)
    if (this.#engine.view.outcome !== 'open') this.#open.clear()
    const title = this.#before.title ?? titleIn(fact)
    const problem = ENDED.has(this.#before.status) ? undefined : problemIn(fact, this.#notices)
    const now = this.#session()
    const isOver = now.turn.over === undefined && (now.status === 'waiting_input' || ENDED.has(now.status))
    const session: Session = { ...now, title, problem: problem ?? this.#before.problem, turn: isOver ? { ...now.turn, over: this.#seq } : now.turn }
    // A notice of the state follows each input, also where the status stays as it was: the client that sent the input waits for the notice.
    if (session.status !== this.#before.status || this.#seq === 1 || fact.kind === 'input') {
      this.#notices.push({
        type: 'state',
        data: { status: session.status, word: this.#engine.view.stateName }
      })
    }
    if (ENDED.has(session.status) && !ENDED.has(this.#before.status)) this.#notices.push({ type: 'done', data: { status: session.status } })
    const { at, token, by } = this.#stamp
    return { session, transition: { seq: this.#seq, at, token, by, fact, begun: this.#begun, held: this.#held, denied: this.#denied, notices: this.#notices } }
  }

  #takeFact (fact: Fact): void {
    switch (fact.kind) {
      case 'stopped':
        this.#stop(fact)
        break
      case 'took':
        for (const id of fact.repeats) this.#change(id, { phase: 'owed' })
        break
      case 'decided':
        this.#takeDecision(fact)
        break
      case 'input':
        for (const { effect } of openIn(this.#session(), 'begun')) if (effect.kind === 'wait') this.#open.delete(effect.id)
        this.#lastInput = fact.id
        this.#turn = { number: this.#turn.number + 1, began: this.#stamp.at, over: undefined }
        // Only equal calls without an input of the user between them count as a loop.
        this.#used = { ...this.#used, calls: new Map() }
        this.#handToEngine(fact)
        break
      case 'result':
        this.#used = addSpent(this.#used, spentIn(fact.usage))
        this.#doubt(fact.effect, false)
        this.#close(fact.effect, fact)
        break
      case 'unknown':
        this.#takeUnknown(fact)
        break
      case 'failure':
      case 'refused':
        this.#close(fact.effect, fact)
        break
      case 'started':
        this.#handToEngine(fact)
    }
  }

  /** The engine is told which command really began, since a person may have edited it. */
  #takeUnknown (fact: Extract<Fact, { kind: 'unknown' }>): void {
    const effect = this.#open.get(fact.effect)?.effect
    this.#doubt(fact.effect, true)
    if (this.#stopped === undefined) this.#close(fact.effect, effect?.kind === 'exec' ? { ...fact, command: effect.command } : fact)
    else {
      this.#notices.push({
        type: 'error',
        data: { code: 'END_NOT_CONFIRMED', effect: fact.effect, message: 'it was ended with the session, and nobody has confirmed that: it may run on' }
      })
    }
  }

  #doubt (id: string, isDoubtful: boolean): void {
    const effect = this.#open.get(id)?.effect
    if (effect?.kind !== 'tool' && effect?.kind !== 'exec') return
    const digest = digestOf(effect)
    if (this.#doubtful.has(digest) === isDoubtful) return
    this.#doubtful = new Set(isDoubtful ? [...this.#doubtful, digest] : [...this.#doubtful].filter(each => each !== digest))
  }

  #stop ({ by, reason }: Extract<Fact, { kind: 'stopped' }>): void {
    this.#stopped = STOPPED[by]
    for (const open of openIn(this.#before, 'begun')) this.#notices.push(...this.#toolEnded(open, GIVEN_UP))
    this.#open.clear()
    if (by !== 'cancel') this.#notices.push({ type: 'error', data: { code: by, message: reason } })
  }

  #firstOwed (gate: Gate): [OpenEffect, Exclude<ReturnType<Gate>, { answer: 'owe' }>] | undefined {
    if (this.#stopped !== undefined || this.#engine.view.outcome !== 'open') return undefined
    const session = this.#session()
    for (const owed of openIn(session, 'owed')) {
      const verdict = gate(session, owed)
      if (verdict.answer !== 'owe') return [owed, verdict]
    }
    return undefined
  }

  #decide ({ effect, by, reserved }: OpenEffect, verdict: Exclude<ReturnType<Gate>, { answer: 'owe' }>): void {
    const { id, kind } = effect
    const digest = digestOf(effect)
    if (verdict.answer === 'deny') {
      this.#denied.push({ id, by: verdict.by, reason: verdict.reason })
      this.#refuse(id, verdict.by, verdict.reason)
    } else if (verdict.answer === 'ask') {
      this.#hold(effect, digest, verdict)
    } else {
      const subject = rowOf(effect).subject(effect)
      const aside = effect.kind === 'child' ? reserved ?? reservationFor(this.#session(), effect) : undefined
      this.#begun.push({ id, kind, digest, ...(subject === undefined ? {} : { subject }) })
      this.#change(id, {
        phase: 'begun',
        by: this.#stamp.by,
        since: this.#stamp.at,
        ...(by === undefined ? {} : { isAgain: true }),
        ...(aside === undefined ? {} : { reserved: aside })
      })
      if (kind === 'wait') return
      this.#notices.push(...toolNotice(effect, 'called', by === undefined ? {} : { isAgain: true }))
      this.#notices.push(...childNotice(this.#before.id, effect, { status: 'running' }))
      const calls = (kind === 'tool' || kind === 'exec') && by === undefined
        ? new Map(this.#used.calls).set(digest, (this.#used.calls.get(digest) ?? 0) + 1)
        : this.#used.calls
      this.#used = { ...this.#used, steps: this.#used.steps + 1, calls }
    }
  }

  #hold (effect: Effect, digest: string, { rule, about }: Extract<ReturnType<Gate>, { answer: 'ask' }>): void {
    const { id: session, start: { budget } } = this.#before
    const { at } = this.#stamp
    const shown = approvalDigest(session, effect, about)
    const held = { effect, digest, rule, about }
    this.#held.push(held)
    this.#notices.push(approvalAsked(session, held, shown, at + budget.idle))
    this.#people = new Map(this.#people).set(effect.id, { seq: this.#seq, digest: shown })
    this.#change(effect.id, { phase: 'held', question: { rule, about, at } })
  }

  #takeDecision (fact: Extract<Fact, { kind: 'decided' }>): void {
    const { effect, decision, reason = '' } = fact
    this.#notices.push(approvalDecided(this.#before.id, fact))
    const asked = this.#people.get(effect)
    if (asked !== undefined) this.#people = new Map(this.#people).set(effect, { ...asked, decided: this.#seq })
    if (decision === 'approve') this.#approve(fact)
    else this.#refuse(effect, 'person', reason)
  }

  /** The gate judges an approved effect again, with the command as the person edited it. */
  #approve (fact: Extract<Fact, { kind: 'decided' }>): void {
    const { effect: id, digest = '', command } = fact
    const effect = this.#open.get(id)?.effect
    this.#change(id, { phase: 'owed', approved: digest, ...(effect?.kind === 'exec' && command !== undefined ? { effect: { ...effect, command } } : {}) })
    this.#handToEngine(fact)
  }

  #refuse (effect: string, by: 'policy' | 'person' | 'budget', reason: string): void {
    const refused = this.#open.get(effect)?.effect
    this.#close(effect, { kind: 'refused', effect, by, reason, ...(refused?.kind === 'exec' ? { command: refused.command } : {}) })
  }

  #close (id: string, fact: End): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    this.#open.delete(id)
    if ('spent' in fact) this.#used = addSpent(this.#used, fact.spent)
    this.#notices.push(...this.#toolEnded(open, outcomeOf(fact)), ...childNotice(this.#before.id, open.effect, endStatus(fact)))
    this.#handToEngine(fact)
  }

  #toolEnded ({ effect, since }: OpenEffect, outcome: JsonObject): Notice[] {
    // Never negative, even when two replicas' clocks differ.
    const duration: JsonObject = since === undefined ? {} : { durationMs: Math.max(0, this.#stamp.at - since) }
    return toolNotice(effect, 'ended', { ...outcome, ...duration })
  }

  #handToEngine (fact: Fact): void {
    const moment = { session: this.#before.id, seq: this.#seq, at: this.#stamp.at, effects: this.#asked, notices: this.#notices.length }
    const { engine, effects, notices } = this.#engine.take(fact, moment)
    this.#engine = engine
    this.#notices.push(...notices)
    this.#asked += effects.length
    for (const effect of effects) this.#open.set(effect.id, { effect, phase: 'owed' })
  }

  #change (id: string, change: Partial<OpenEffect>): void {
    const open = this.#open.get(id)
    if (open !== undefined) this.#open.set(id, { ...open, ...change })
  }

  #session (): Session {
    const { id, start, createdAt, bytes } = this.#before
    const session: Session = {
      id,
      start,
      createdAt,
      bytes,
      seq: this.#seq,
      token: this.#stamp.token,
      updatedAt: this.#stamp.at,
      engine: this.#engine,
      open: this.#open,
      used: this.#used,
      lastInput: this.#lastInput,
      turn: this.#turn,
      doubtful: this.#doubtful,
      asked: this.#people,
      title: this.#before.title,
      problem: this.#before.problem,
      status: 'running'
    }
    return { ...session, open: new Map(this.#open), status: this.#stopped ?? statusOf(session) }
  }
}

/** The step was counted when it began. */
function spentIn (usage: Usage | undefined): Spent | undefined {
  if (usage === undefined) return undefined
  const { input, output, usd } = usage
  return { steps: 0, tokens: input + output, ...typeof usd === 'number' && { usd }, ...usd === null && { unpriced: 1 } }
}

/** On reading a log, the engine asked for other effects than it records: it was changed without a new version. */
export class EngineDiverged extends Error {
  override readonly name = 'EngineDiverged'
}

export class EngineUnknown extends Error {
  override readonly name = 'EngineUnknown'
}

export type Engines = ReadonlyMap<string, EngineStart>

/** @throws EngineDiverged, EngineUnknown */
export function foldLogEntry (id: string, session: Session | undefined, transition: LogEntry, engines: Engines): Session {
  const { fact } = transition
  const gate = recordedGate(transition)
  const next = session === undefined ? first(id, transition, engines, gate) : advance(session, fact, gate, transition).session
  const recorded = [...transition.begun, ...transition.held.map(({ effect }) => effect), ...transition.denied]
  const missed = recorded.find(({ id: effect }) => !gate.seen.has(effect))
  if (missed !== undefined) throw new EngineDiverged(`transition ${transition.seq} began effect ${missed.id}, which the engine does not ask for`)
  return next
}

function first (id: string, transition: LogEntry, engines: Engines, gate: Gate): Session {
  const { fact } = transition
  if (fact.kind !== 'started') throw new EngineDiverged(`the first transition is "${fact.kind}"`)
  const engine = engines.get(fact.start.engine)
  if (engine === undefined) throw new EngineUnknown(`no engine ${fact.start.engine} is here`)
  return begin(id, fact.start, engine, gate, transition).session
}

/** Repeats the recorded decisions. An effect that the log entry does not name is not begun. */
function recordedGate ({ seq, begun, held, denied }: LogEntry): Gate & { readonly seen: ReadonlySet<string> } {
  const seen = new Set<string>()
  const decide = (_session: Session, { effect }: OpenEffect): ReturnType<Gate> => {
    const digest = digestOf(effect)
    const began = begun.find(({ id }) => id === effect.id)
    const asked = held.find(each => each.effect.id === effect.id)
    const refused = denied.find(({ id }) => id === effect.id)
    seen.add(effect.id)
    if ((began !== undefined && (began.kind !== effect.kind || began.digest !== digest)) || (asked !== undefined && asked.digest !== digest)) {
      throw new EngineDiverged(`effect ${effect.id} of transition ${seq} is another than the one that was recorded`)
    }
    if (began !== undefined) return { answer: 'allow' }
    if (asked !== undefined) return { answer: 'ask', rule: asked.rule, about: asked.about }
    return refused === undefined ? { answer: 'owe' } : { answer: 'deny', by: refused.by, reason: refused.reason }
  }
  return Object.assign(decide, { seen })
}
