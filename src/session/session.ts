import { createHash } from 'node:crypto'
import { approvalOutdated, commitDisabled, requestInvalid, sessionBusy, sessionEnded, sessionFull } from '../base/errors.ts'
import { type JsonObject, listOf, ownField, textIn } from '../base/json.ts'
import { isSensitive, maskSecrets, REDACTED } from '../base/redact.ts'
import { beginningOf } from '../base/text.ts'
import { type RunningEngine } from './engine.ts'
import {
  type Action, type ChildEffect, type Effect, ENDED, type Fact, type Head, type LogPosition, type Notice, type Problem,
  type Spent, type Start, type Status
} from './model.ts'

/** Computed from its log, and immutable. */
export interface Session extends LogPosition {
  readonly id: string
  readonly start: Start
  readonly status: Status
  readonly engine: RunningEngine
  readonly open: ReadonlyMap<string, OpenEffect>
  readonly used: SpentBudget
  /** An input that a client sends twice counts once. */
  readonly lastInput: string | undefined
  /** The work that follows from an input, or from the start, which is turn 0. `over` is the log entry after which it waits for the next, or has ended. */
  readonly turn: { readonly number: number, readonly began: number, readonly over: number | undefined }
  /** Digests of interrupted calls, of which nobody knows whether they were done. A later result of an equal call removes one. */
  readonly doubtful: ReadonlySet<string>
  readonly asked: ReadonlyMap<string, ApprovalRecord>
  /** In bytes. A log entry counts only when the store has written it. */
  readonly bytes: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly title: string | undefined
  /** The last one that was told. The session may have gone on since. */
  readonly problem: Problem | undefined
}

/** A log of so many bytes begins no further effect and accepts no input. */
export const MAX_LOG_BYTES = 64 * 1024 * 1024

export interface OpenEffect {
  readonly effect: Effect
  /** `owed`: to be begun. `held`: waits for an approval. `begun`: a replica performs it. */
  readonly phase: 'owed' | 'held' | 'begun'
  readonly by?: string
  /** In ms since 1970. */
  readonly since?: number
  readonly isAgain?: boolean
  /** When the content has changed since the approval, the person is asked again. */
  readonly approved?: string
  /** `at` is in ms since 1970. */
  readonly question?: { readonly rule: string, readonly about: JsonObject, readonly at: number }
  /** For a child session: what is reserved for it. */
  readonly reserved?: Spent
}

export interface ApprovalRecord {
  readonly seq: number
  readonly digest: string
  readonly decided?: number
}

export interface SpentBudget extends Spent {
  /** By digest, since the user's last input: a high number shows a model that repeats itself. */
  readonly calls: ReadonlyMap<string, number>
}

export function headOf (session: Session, driver: string | undefined): Head {
  const { id, seq, token, start: { owner, engine, definition, forkOf, parent }, status, createdAt, updatedAt, title, problem, engine: { view } } = session
  const children = openChildrenIn(session).map(({ effect }) => childId(id, effect.id))
  const held = openIn(session, 'held')
  return {
    id,
    seq,
    token,
    owner,
    engine,
    definition,
    status,
    isAsking: held.length > 0,
    askedAt: held.length === 0 ? undefined : Math.min(...held.map(({ question }) => question?.at ?? updatedAt)),
    createdAt,
    updatedAt,
    driver,
    copied: forkOf?.bytes,
    parent: parent?.session,
    root: parent?.root,
    children: children.length === 0 ? undefined : children,
    title,
    word: view.stateName === '' ? undefined : view.stateName,
    problem: problemOf({ status, problem })
  }
}

/** Why a session ended that did not complete. */
export function problemOf ({ status, problem }: Pick<Session, 'status' | 'problem'>): Problem | undefined {
  return status !== 'completed' && ENDED.has(status) ? problem : undefined
}

/** In UTF-16 units. */
const [MAX_TITLE, MAX_PROBLEM, MAX_LOOKED_AT] = [120, 300, 4096]

/** What a person wants of the session, if this fact says it: the goal, the task, the words to a skill or its parameters, or the first words said. */
export function titleIn (fact: Fact): string | undefined {
  // A command of a dialogue, such as `/help`, says nothing of its subject.
  if (fact.kind === 'input') return fact.action !== undefined || fact.text.trimStart().startsWith('/') ? undefined : oneLine(fact.text, MAX_TITLE)
  if (fact.kind !== 'started') return undefined
  const { input, setting } = fact.start
  const parameters = listOf(ownField(ownField(setting, 'skill'), 'parameters')).map(each => [textIn(each, 'name'), textIn(each, 'value')] as const)
  const given = parameters.filter(([, value]) => value !== '').map(([name, value]) => `${name}: ${isSensitive(name) ? REDACTED : value}`).join(', ')
  return oneLine(wordsOf(fact.start) || textIn(input, 'task') || given, MAX_TITLE)
}

/** With which words a session begins; empty where it waits for the first ones. */
export function wordsOf ({ input, setting }: Pick<Start, 'input' | 'setting'>): string {
  return textIn(input, 'goal') || textIn(ownField(setting, 'skill'), 'prompt')
}

/** Of several errors in one log entry the last counts: the others led to it. */
export function problemIn (fact: Fact, notices: readonly Notice[]): Problem | undefined {
  const told = notices.findLast(({ type }) => type === 'error')?.data
  if (told !== undefined) return { code: textIn(told, 'code'), message: oneLine(textIn(told, 'message'), MAX_PROBLEM) ?? '' }
  return fact.kind === 'stopped' ? { code: fact.by, message: oneLine(fact.reason, MAX_PROBLEM) ?? '' } : undefined
}

/** Without what looks like a secret; `undefined` for nothing but spaces. */
function oneLine (text: string, most: number): string | undefined {
  // Masked before it is cut: half a secret has no form to know it by.
  const line = maskSecrets(beginningOf(text, MAX_LOOKED_AT)).replaceAll(/\s+/g, ' ').trim()
  if (line === '') return undefined
  return line.length <= most ? line : `${line.slice(0, most).replace(/[\uD800-\uDBFF]$/, '').trimEnd()}…`
}

/** In the order in which the engine asked for them. */
export function openIn ({ open }: Session, phase: OpenEffect['phase']): OpenEffect[] {
  return [...open.values()].filter(each => each.phase === phase)
}

/** A child may have to wait until another has ended. */
export function owedNow (session: Session): OpenEffect[] {
  return openIn(session, 'owed').filter(each => !waitsForRoom(session, each))
}

export function acceptsInput (session: Session): boolean {
  return [...session.open.values()].some(({ effect, phase }) => effect.kind === 'wait' && phase === 'begun')
}

/** Log entries of a session; with so many it accepts no further input. */
const MAX_LOG_ENTRIES = 10_000

export interface SessionInput {
  /** A request that is sent twice counts once. */
  readonly id: string
  readonly by: string
  readonly text: string
  readonly action?: Action | undefined
}

/** `undefined` for a repeated input. @throws SESSION_ENDED, SESSION_BUSY, SESSION_FULL, REQUEST_INVALID, APPROVAL_OUTDATED, COMMIT_DISABLED */
export function inputFact (session: Session, { id: input, by, text, action }: SessionInput): Fact | undefined {
  const { id, status, engine } = session
  if (session.lastInput === input) return undefined
  if (ENDED.has(status)) throw sessionEnded(id, status)
  const { kind, message } = engine.refuses(text, action) ?? {}
  switch (kind) {
    case 'busy': throw sessionBusy(id, status, message)
    case 'invalid': throw requestInvalid(message ?? '', { part: 'body' })
    case 'outdated': throw approvalOutdated(id, undefined)
    case 'disabled': throw commitDisabled(id, message ?? '')
  }
  if (!acceptsInput(session)) throw sessionBusy(id, status)
  if (session.seq >= MAX_LOG_ENTRIES) throw sessionFull(id, `${MAX_LOG_ENTRIES} transitions`)
  if (session.bytes >= MAX_LOG_BYTES) throw sessionFull(id, `a log of ${MAX_LOG_BYTES} bytes`)
  return { kind: 'input', id: input, by, text, action }
}

export function driverOf (session: Session): string | undefined {
  return [...session.open.values()].find(({ effect, phase }) => effect.kind !== 'wait' && phase === 'begun')?.by
}

export function isWaiting (session: Session): boolean {
  return driverOf(session) === undefined && openIn(session, 'owed').length === 0
}

export function statusOf (session: Session): Status {
  const { outcome } = session.engine.view
  if (outcome !== 'open') return outcome
  if (openIn(session, 'begun').some(({ effect }) => effect.kind !== 'wait') || openIn(session, 'owed').length > 0) return 'running'
  if (openIn(session, 'held').length > 0) return 'waiting_approval'
  return acceptsInput(session) ? 'waiting_input' : 'running'
}

export const MAX_DEPTH = 3

const MAX_OPEN_CHILDREN = 4

/** The most that is reserved for a child when the call that starts it names no budget. */
const CHILD_BUDGET: Spent = { steps: 50, tokens: 200_000 }

const NOTHING: Spent = { steps: 0, tokens: 0 }

/** The child's id follows from the effect's id, so an effect that is begun twice starts only one child. */
export function childId (session: string, effect: string): string {
  return createHash('sha256').update(JSON.stringify([session, effect])).digest('hex').slice(0, 32)
}

export function depthOf ({ parent }: Pick<Start, 'parent'>): number {
  return parent?.depth ?? 0
}

export function openChildrenIn ({ open }: Pick<Session, 'open'>): { readonly effect: ChildEffect, readonly reserved: Spent }[] {
  return [...open.values()].flatMap(({ effect, phase, reserved = NOTHING }) => phase === 'begun' && effect.kind === 'child' ? [{ effect, reserved }] : [])
}

export function reservedIn (session: Pick<Session, 'open'>, but?: string): Spent {
  return openChildrenIn(session).filter(({ effect }) => effect.id !== but).reduce((sum, { reserved }) => addSpent(sum, reserved), NOTHING)
}

export function addSpent<S extends Spent> (sum: S, more: Spent | undefined): S {
  if (more === undefined) return sum
  const [usd, unpriced] = (['usd', 'unpriced'] as const).map(name => more[name] === undefined ? sum[name] : (sum[name] ?? 0) + more[name])
  return {
    ...sum,
    steps: sum.steps + more.steps,
    tokens: sum.tokens + more.tokens,
    // In whole billionths, since sums of fractions drift.
    ...usd !== undefined && { usd: Math.round(usd * 1e9) / 1e9 },
    ...unpriced !== undefined && { unpriced }
  }
}

/** The named budget, or else the smaller of `CHILD_BUDGET` and half of what is left; `undefined` where too little is left. */
export function reservationFor (session: Pick<Session, 'open' | 'start' | 'used'>, { budget }: ChildEffect): Spent | undefined {
  const left = leftOf(session)
  const wanted = budget ?? {
    steps: Math.min(CHILD_BUDGET.steps, Math.floor(left.steps / 2)),
    tokens: Math.min(CHILD_BUDGET.tokens, Math.floor(left.tokens / 2))
  }
  const isEnough = wanted.steps >= 1 && wanted.tokens >= 1 && wanted.steps <= left.steps && wanted.tokens <= left.tokens
  return isEnough ? wanted : undefined
}

/** Less the one step that starting the child takes. */
export function leftOf ({ open, start: { budget }, used }: Pick<Session, 'open' | 'start' | 'used'>): Spent {
  const reserved = reservedIn({ open })
  return { steps: Math.max(0, budget.steps - used.steps - reserved.steps - 1), tokens: Math.max(0, budget.tokens - used.tokens - reserved.tokens) }
}

/** A child that was begun before never waits. */
export function waitsForRoom (session: Session, { effect, by }: OpenEffect): boolean {
  return effect.kind === 'child' && by === undefined && openChildrenIn(session).length >= MAX_OPEN_CHILDREN
}
