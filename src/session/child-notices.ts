import { type JsonObject } from '../base/json.ts'
import { childId } from './child.ts'
import { type ChildEffect, type Effect, type Notice } from './model.ts'
import { type OpenEffect } from './session.ts'
import { type End } from './tool-notices.ts'

/**
 * The notice (an event for the followers of a session) that a child session has begun; empty for an effect that starts no child.
 * @param session id of the parent
 */
export function childBegun (session: string, effect: Effect): Notice[] {
  return effect.kind === 'child' ? [notice(session, effect, { status: 'running' })] : []
}

/**
 * The notice (an event for the followers of a session) of how a child session ended, or that its start was refused; empty for an effect that
 * starts no child.
 * @param session id of the parent
 */
export function childEnded (session: string, { effect }: OpenEffect, fact: End): Notice[] {
  return effect.kind === 'child' ? [notice(session, effect, statusOf(fact))] : []
}

function notice (session: string, { id, name, definition }: ChildEffect, more: JsonObject): Notice {
  return { type: 'child', data: { effect: id, session: childId(session, id), name, definition, ...more } }
}

const STATUSES: ReadonlyMap<string, string> = new Map([['CHILD_EXPIRED', 'expired'], ['CHILD_CANCELLED', 'cancelled']])

function statusOf (fact: End): JsonObject {
  switch (fact.kind) {
    case 'result': return { status: 'completed' }
    case 'refused': return { status: 'refused', message: fact.reason }
    case 'failure': return { status: STATUSES.get(fact.code) ?? 'failed', code: fact.code, message: fact.message }
    case 'unknown': return { status: 'failed', message: fact.reason ?? 'it was interrupted' }
  }
}
