import { createHash } from 'node:crypto'
import { type ChildEffect, type Effect, type Spent, type Start } from './model.ts'

/** How many sessions may be above one. */
export const MAX_DEPTH = 3

/** How many children of one session run at a time; the others begin as these end. */
export const MAX_OPEN_CHILDREN = 4

/** What a child is given of its parent's budget at most, where its call says nothing. */
export const CHILD_BUDGET: Spent = { steps: 50, tokens: 200_000 }

const NOTHING: Spent = { steps: 0, tokens: 0 }

/** As much of an effect without an end as counts here. */
interface Open {
  readonly effect: Effect
  readonly phase: string
  readonly by?: string
  readonly reserved?: Spent
}

/** As much of a session as counts here. */
interface Opens {
  readonly open: ReadonlyMap<string, Open>
}

/** A session that has a budget. */
interface Spending extends Opens {
  readonly start: Pick<Start, 'budget'>
  readonly used: Spent
}

/** A child that runs. */
export interface OpenChild {
  readonly effect: ChildEffect
  readonly reserved: Spent
}

/** The id of the session that an effect of a session starts: the same however often it is begun. */
export function childId (session: string, effect: string): string {
  return createHash('sha256').update(JSON.stringify([session, effect])).digest('hex').slice(0, 32)
}

/** How many sessions are above one. */
export function depthOf ({ parent }: Pick<Start, 'parent'>): number {
  return parent?.depth ?? 0
}

/** The children that a session has begun, and that have not ended. */
export function openChildrenIn ({ open }: Opens): OpenChild[] {
  return [...open.values()].flatMap(({ effect, phase, reserved = NOTHING }) => phase === 'begun' && effect.kind === 'child' ? [{ effect, reserved }] : [])
}

/** What children that run may still use of a session's budget. @param but the effect that does not count */
export function reservedIn (session: Opens, but?: string): Spent {
  return openChildrenIn(session).filter(({ effect }) => effect.id !== but).reduce((sum, { reserved }) => addSpent(sum, reserved), NOTHING)
}

/** Both together. */
export function addSpent<S extends Spent> (sum: S, more: Spent | undefined): S {
  return more === undefined ? sum : { ...sum, steps: sum.steps + more.steps, tokens: sum.tokens + more.tokens }
}

/**
 * What of a session's budget is set aside for a child: what its call says, or the default, and never more than half of what is
 * left. @returns `undefined` where too little is left
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

/** What nobody has used or reserved; the call itself is a step. */
export function leftOf ({ open, start: { budget }, used }: Spending): Spent {
  const reserved = reservedIn({ open })
  return { steps: Math.max(0, budget.steps - used.steps - reserved.steps - 1), tokens: Math.max(0, budget.tokens - used.tokens - reserved.tokens) }
}

/** Whether a child has to wait until another one has ended. */
export function waitsForRoom (session: Opens, { effect, by }: Open): boolean {
  return effect.kind === 'child' && by === undefined && openChildrenIn(session).length >= MAX_OPEN_CHILDREN
}
