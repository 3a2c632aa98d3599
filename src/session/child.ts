import { createHash } from 'node:crypto'
import { type ChildEffect, type Effect, type Spent, type Start } from './model.ts'

/** How many ancestors a session may have. */
export const MAX_DEPTH = 3

/** How many children of one session run at a time; the others begin as these end. */
export const MAX_OPEN_CHILDREN = 4

/** The largest part of its parent's budget that a child gets when its call names no budget. */
export const CHILD_BUDGET: Spent = { steps: 50, tokens: 200_000 }

const NOTHING: Spent = { steps: 0, tokens: 0 }

/** The part of an open effect that this module reads. */
interface Open {
  readonly effect: Effect
  readonly phase: string
  readonly by?: string
  readonly reserved?: Spent
}

/** The part of a session that this module reads. */
interface Opens {
  readonly open: ReadonlyMap<string, Open>
}

/** The part of a session that shows its budget and what it has used. */
interface Spending extends Opens {
  readonly start: Pick<Start, 'budget'>
  readonly used: Spent
}

/** A child that runs. */
export interface OpenChild {
  readonly effect: ChildEffect
  readonly reserved: Spent
}

/** The id of the child session that an effect starts. It follows from the effect, so an effect that is begun twice starts one child. */
export function childId (session: string, effect: string): string {
  return createHash('sha256').update(JSON.stringify([session, effect])).digest('hex').slice(0, 32)
}

/** How many ancestors a session has. */
export function depthOf ({ parent }: Pick<Start, 'parent'>): number {
  return parent?.depth ?? 0
}

/** The children that a session has begun, and that have not ended. */
export function openChildrenIn ({ open }: Opens): OpenChild[] {
  return [...open.values()].flatMap(({ effect, phase, reserved = NOTHING }) => phase === 'begun' && effect.kind === 'child' ? [{ effect, reserved }] : [])
}

/** The part of a session's budget that is reserved for its running children. @param but id of an effect that does not count */
export function reservedIn (session: Opens, but?: string): Spent {
  return openChildrenIn(session).filter(({ effect }) => effect.id !== but).reduce((sum, { reserved }) => addSpent(sum, reserved), NOTHING)
}

/** Adds two amounts of a budget. */
export function addSpent<S extends Spent> (sum: S, more: Spent | undefined): S {
  return more === undefined ? sum : { ...sum, steps: sum.steps + more.steps, tokens: sum.tokens + more.tokens }
}

/**
 * The part of a session's budget that is reserved for a new child: the budget that its call names, or else `CHILD_BUDGET` and
 * at most half of what is left. @returns `undefined` where too little is left
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

/** The part of a session's budget that is neither used nor reserved, less one step for the call that asks. */
export function leftOf ({ open, start: { budget }, used }: Spending): Spent {
  const reserved = reservedIn({ open })
  return { steps: Math.max(0, budget.steps - used.steps - reserved.steps - 1), tokens: Math.max(0, budget.tokens - used.tokens - reserved.tokens) }
}

/** Whether a child that was not begun yet has to wait until another child of its parent has ended. */
export function waitsForRoom (session: Opens, { effect, by }: Open): boolean {
  return effect.kind === 'child' && by === undefined && openChildrenIn(session).length >= MAX_OPEN_CHILDREN
}
