import { type JsonObject, stringifyJson } from '../../../base/json.ts'
import { describeApproval } from '../../../session/approval.ts'
import { childId, openChildrenIn } from '../../../session/child.ts'
import { ENDED, type ChildEffect } from '../../../session/model.ts'
import { readShown } from '../../../session/read-log.ts'
import { type SessionRunner } from '../../../session/run/runner.ts'
import { type Session } from '../../../session/session.ts'
import { type SessionStore } from '../../../session/session-store.ts'

/**
 * The longest part of a child session's approvals (as JSON), or of its question, that a live event shows, in UTF-16 units. Clients get the rest
 * from the child session itself.
 */
const MAX_SHOWN = 32 * 1024

/** The most transitions (recorded steps) at the end of a session's log that are searched for the text that was shown last. */
const LAST = 5

/** What is needed to read sessions: the store of their logs, and the runner that loads them. */
interface Opened {
  readonly store: SessionStore
  readonly runner: Pick<SessionRunner, 'load' | 'approvals'>
}

/**
 * Makes the live event about a child session: its state, and what it waits for. The followers of all sessions above get it.
 * @param effect the effect (an action of the parent) that has started the child
 */
export async function tellOfChild (opened: Opened, child: Session, { id: effect, name }: Pick<ChildEffect, 'id' | 'name'>): Promise<JsonObject> {
  const { id, start: { definition, parent }, status } = child
  const ask = await askOf(opened, child)
  const path = [...(parent?.line ?? []).map(each => each.definition), definition]
  return { type: 'child', session: id, effect, name, definition, status, path, ...(ask === undefined ? {} : { ask }) }
}

/**
 * Makes the live events about all descendants of a session that wait for a person. A client that begins to follow gets these first, as it
 * has missed the earlier ones.
 */
export async function tellOfWaiting (opened: Opened, session: Session): Promise<JsonObject[]> {
  const told = await Promise.all(openChildrenIn(session).map(async ({ effect }) => {
    const child = await opened.runner.load(childId(session.id, effect.id))
    if (child === undefined || ENDED.has(child.status)) return []
    const own = await tellOfChild(opened, child, effect)
    return [...own['ask'] === undefined ? [] : [own], ...await tellOfWaiting(opened, child)]
  }))
  return told.flat()
}

async function askOf ({ store, runner }: Opened, child: Session): Promise<JsonObject | undefined> {
  let shown = 0
  const approvals = runner.approvals(child).map(describeApproval).map(({ effect, ...approval }): JsonObject => {
    shown += stringifyJson(effect).length
    return { ...approval, ...(shown > MAX_SHOWN ? {} : { effect }) }
  })
  if (approvals.length > 0) return { approvals }
  if (child.status !== 'waiting_input') return undefined
  // The number of the transition tells two questions with the same text apart.
  return { word: child.engine.view.stateName, text: (await lastSaid(store, child)).slice(0, MAX_SHOWN), seq: child.seq }
}

/** The text that a session has last shown to the person for whom it waits. */
async function lastSaid (store: SessionStore, { id, seq }: Session): Promise<string> {
  let said = ''
  for await (const { notices } of readShown(store, id, Math.max(0, seq - LAST))) {
    const texts = notices
      .filter(({ type }) => type === 'ask' || type === 'stdout' || type === 'message')
      .flatMap(({ data: { text } }) => typeof text === 'string' ? [text] : [])
    if (texts.length > 0) said = texts.join('\n')
  }
  return said
}
