import { type Json, type JsonObject } from '../../../base/json.ts'
import { type Log } from '../../../base/log.ts'
import { type Transition } from '../../../session/model.ts'
import { type Session } from '../../../session/session.ts'
import { traceIdOf } from './trace.ts'

/** The log level of the service for each level of a line that a session logs. */
const METHODS: ReadonlyMap<string, keyof Log> = new Map([['debug', 'debug'], ['info', 'info'], ['warning', 'warn'], ['error', 'error'], ['critical', 'error']])

/** Members of a line that a session logs, whose texts come from the service itself. They are logged even if words of users and models are not. */
const PLAIN = new Set(['code', 'mode', 'check', 'action', 'name', 'skill_name', 'serverId', 'serverName', 'skill_log_id', 'session_id'])

/** The longest text that is logged from the members in PLAIN, in UTF-16 units. A longer text is left out, since a user or a model perhaps wrote it. */
const MAX_PLAIN = 200

/** Members of a line that a session logs, which become fields of their own in the service's log and are not repeated in its field `data`. */
const APART = new Set(['prefix', 'level', 'text', 'brief', 'event', 'trace_id'])

/**
 * Makes the function that copies the lines which sessions log to the service's log. Only the process that has written a transition copies
 * its lines, so each line is logged once.
 * @param hasValues whether the operator allows that words of users, models and tools are logged
 */
export function logLinesTo (log: Log, hasValues: boolean): (session: Pick<Session, 'id' | 'start'>, transition: Pick<Transition, 'notices'>) => void {
  return ({ id, start: { definition } }, { notices }) => {
    for (const { type, data } of notices) {
      if (type !== 'log') continue
      const { prefix, level, text, brief, event } = data
      const method = METHODS.get(textOf(level)) ?? 'info'
      const shown = textOf(event) || textOf(brief) || textOf(text)
      const more = dataOf(data, hasValues)
      log[method]({
        session: id,
        traceId: traceIdOf(id),
        definition,
        prefix: textOf(prefix),
        severity: textOf(level),
        ...(event === undefined ? {} : { event: textOf(event) }),
        ...(Object.keys(more).length === 0 ? {} : { data: more }),
        ...(hasValues && text !== shown ? { text: textOf(text) } : {})
      }, `[${textOf(prefix)}] ${shown}`)
    }
  }
}

function dataOf (data: JsonObject, hasValues: boolean): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([name, value]) => !APART.has(name) && (hasValues || isPlain(name, value))))
}

function isPlain (name: string, value: Json): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length <= MAX_PLAIN && PLAIN.has(name))
}

function textOf (value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
