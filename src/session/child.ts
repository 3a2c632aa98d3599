import { createHash } from 'node:crypto'
import { type ChildEffect, type Effect, type Spent, type Start } from './model.ts'

export const MAX_DEPTH = 3

export const MAX_OPEN_CHILDREN = 4

/** The most of its parent's budget that is reserved for a child session, when the call that starts the child names no budget. */
export const CHILD_BUDGET: Spent = { steps: 50, tokens: 200_000 }

const NOTHING: Spent = { steps: 0, tokens: 0 }

/** The fields of an open effect that this module reads. An effect is an action of the service for a session, and is open until it has ended. */
interface Open {
  readonly effect: Effect
  readonly phase: string
  readonly by?: string
  readonly reserved?: Spent
}

/** The part of a session that this module reads: its effects that have not ended, by id. */
interface Opens {
  readonly open: ReadonlyMap<string, Open>
}

/** The part of a session that tells what is left of its budget: the budget, and what was used. */
interface Spending extends Opens {
  readonly start: Pick<Start, 'budget'>
  readonly used: Spent
}

/** A child session that runs: the effect of the parent that started it, and the part of the parent's budget that is reserved for it. */
export interface OpenChild {
  readonly effect: ChildEffect
  readonly reserved: Spent
}

/**
 * The id of the child session that an effect of its parent starts. It is computed from the effect's id, so that an effect that is begun
 * twice starts only one child.
 */
export function childId (session: string, effect: string): string {
  return createHash('sha256').update(JSON.stringify([session, effect])).digest('hex').slice(0, 32)
}

/** How many ancestors a session has. */
export function depthOf ({ parent }: Pick<Start, 'parent'>): number {
  return parent?.depth ?? 0
}

/** The child sessions that run: the parent has begun them, and they have not ended. */
export function openChildrenIn ({ open }: Opens): OpenChild[] {
  return [...open.values()].flatMap(({ effect, phase, reserved = NOTHING }) => phase === 'begun' && effect.kind === 'child' ? [{ effect, reserved }] : [])
}

/** The part of a session's budget that is reserved for its running children. @param but id of an effect to leave out */
export function reservedIn (session: Opens, but?: string): Spent {
  return openChildrenIn(session).filter(({ effect }) => effect.id !== but).reduce((sum, { reserved }) => addSpent(sum, reserved), NOTHING)
}

/** Adds two amounts of a budget. */
export function addSpent<S extends Spent> (sum: S, more: Spent | undefined): S {
  return more === undefined ? sum : { ...sum, steps: sum.steps + more.steps, tokens: sum.tokens + more.tokens }
}

/**
 * The part of a session's budget that is reserved for a new child: the budget that the call names, or else the smaller of `CHILD_BUDGET` and half
 * of what is left.
 * @returns `undefined` where too little is left
 */
export function reservationFor (session: Spending, { budget }: ChildEffect): Spent | undefined {
  const left = leftOf(session)
  const wanted = budget ?? {
    steps: Math.min(CHILD_BUDGET.steps, Math.floor(left.steps / 2)),
    tokens: Math.min(CHILD_BUDGET.tokens, Math.floor(left.tokens / 2))
  }
  const isEnough = wanted.steps >= 1 && wanted.tokens >= 1 && wanted.steps <= left.steps && wanted.tokens <= left.tokens
  return isEnough ? wanted : undefined
}

/**
 * How much of a session's budget a new child session can get: what the session has not used and has not reserved for other children, less the
 * one step that starting the child takes.
 */
export function leftOf ({ open, start: { budget }, used }: Spending): Spent {
  const reserved = reservedIn({ open })
  return { steps: Math.max(0, budget.steps - used.steps - reserved.steps - 1), tokens: Math.max(0, budget.tokens - used.tokens - reserved.tokens) }
}

/**
 * Whether a child session has to wait until another child of its parent has ended, because `MAX_OPEN_CHILDREN` run. A child that was
 * begun before never waits.
 */
export function waitsForRoom (session: Opens, { effect, by }: Open): boolean {
  return effect.kind === 'child' && by === undefined && openChildrenIn(session).length >= MAX_OPEN_CHILDREN
}
