import { createHash } from 'node:crypto'
import { type ChildEffect, type Effect, type Spent, type Start } from './model.ts'

export const MAX_DEPTH = 3

const MAX_OPEN_CHILDREN = 4

/** The most that is reserved for a child when the call that starts it names no budget. */
const CHILD_BUDGET: Spent = { steps: 50, tokens: 200_000 }

const NOTHING: Spent = { steps: 0, tokens: 0 }

interface Open {
  readonly effect: Effect
  readonly phase: string
  readonly by?: string
  readonly reserved?: Spent
}

interface Opens {
  readonly open: ReadonlyMap<string, Open>
}

interface Spending extends Opens {
  readonly start: Pick<Start, 'budget'>
  readonly used: Spent
}

/** The child's id follows from the effect's id, so an effect that is begun twice starts only one child. */
export function childId (session: string, effect: string): string {
  return createHash('sha256').update(JSON.stringify([session, effect])).digest('hex').slice(0, 32)
}

export function depthOf ({ parent }: Pick<Start, 'parent'>): number {
  return parent?.depth ?? 0
}

export function openChildrenIn ({ open }: Opens): { readonly effect: ChildEffect, readonly reserved: Spent }[] {
  return [...open.values()].flatMap(({ effect, phase, reserved = NOTHING }) => phase === 'begun' && effect.kind === 'child' ? [{ effect, reserved }] : [])
}

export function reservedIn (session: Opens, but?: string): Spent {
  return openChildrenIn(session).filter(({ effect }) => effect.id !== but).reduce((sum, { reserved }) => addSpent(sum, reserved), NOTHING)
}

export function addSpent<S extends Spent> (sum: S, more: Spent | undefined): S {
  return more === undefined ? sum : { ...sum, steps: sum.steps + more.steps, tokens: sum.tokens + more.tokens }
}

/** The named budget, or else the smaller of `CHILD_BUDGET` and half of what is left; `undefined` where too little is left. */
export function reservationFor (session: Spending, { budget }: ChildEffect): Spent | undefined {
  const left = leftOf(session)
  const wanted = budget ?? {
    steps: Math.min(CHILD_BUDGET.steps, Math.floor(left.steps / 2)),
    tokens: Math.min(CHILD_BUDGET.tokens, Math.floor(left.tokens / 2))
  }
  const isEnough = wanted.steps >= 1 && wanted.tokens >= 1 && wanted.steps <= left.steps && wanted.tokens <= left.tokens
  return isEnough ? wanted : undefined
}

/** Less the one step that starting the child takes. */
export function leftOf ({ open, start: { budget }, used }: Spending): Spent {
  const reserved = reservedIn({ open })
  return { steps: Math.max(0, budget.steps - used.steps - reserved.steps - 1), tokens: Math.max(0, budget.tokens - used.tokens - reserved.tokens) }
}

/** A child that was begun before never waits. */
export function waitsForRoom (session: Opens, { effect, by }: Open): boolean {
  return effect.kind === 'child' && by === undefined && openChildrenIn(session).length >= MAX_OPEN_CHILDREN
}
