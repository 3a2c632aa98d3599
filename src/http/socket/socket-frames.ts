import { type FastifyBaseLogger } from 'fastify'
import { requestInvalid, roleMissing, ServiceError } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { type Service } from '../../service.ts'
import { eventsOf, timeOf } from '../../session/events.ts'
import { type Followed } from '../../session/follow.ts'
import { skillErrorText } from '../base/skill-envelope.ts'
import { type Client } from './client.ts'
import { type FrameOf, readFrame } from './frames.ts'
import { SocketSkill, type SkillServices } from './socket-skill.ts'
import { type FrameHandler, type SocketConnection } from './socket-connection.ts'
import { SocketTerminal } from './socket-terminal.ts'

/** The most sessions that one socket follows at a time. */
const MAX_FOLLOWED = 100

/** The parts of the service that handlers of frames need. */
export type SocketServices = SkillServices & Pick<Service, 'sessions' | 'terminals'>

export interface SocketFramesOptions {
  readonly connection: SocketConnection
  readonly client: Client
  readonly log: FastifyBaseLogger
  readonly services: SocketServices
}

/**
 * Makes the handler of one client's frames (WebSocket messages). Some frames drive a terminal, some drive a skill. With `subscribe` the client
 * begins to follow a session of any kind, with `unsubscribe` it stops.
 */
export function openSocketFrames ({ connection, client, log, services }: SocketFramesOptions): FrameHandler {
  const closing = new AbortController()
  const followed = new Map<string, AbortController>()
  const follow = (id: string, after: number, signal = closing.signal): Promise<AsyncGenerator<Followed>> =>
    services.sessions.follow(client.caller, id, after, signal)
  const terminal = new SocketTerminal({ connection, client, terminals: services.terminals })
  const skill = new SocketSkill({ connection, client, services, follow, signal: closing.signal, onLost, terminal: () => terminal.id })

  /** Refuses a caller without the role `run`, since the socket may also be opened with the role `terminal` alone. @throws ROLE_MISSING */
  function requireRun (): void {
    const { name, roles } = client.caller()
    if (!roles.has('run')) throw roleMissing(name, 'run', [...roles])
  }

  async function subscribe ({ sessionId: id, after = 0 }: FrameOf<'subscribe'>): Promise<void> {
    if (followed.has(id)) return
    if (followed.size === MAX_FOLLOWED) throw requestInvalid(`expected at most ${MAX_FOLLOWED} subscriptions`, { part: 'frame' })
    const leaving = new AbortController()
    const events = await follow(id, after, AbortSignal.any([closing.signal, leaving.signal]))
    followed.set(id, leaving)
    void pump(events, id, leaving.signal).finally(() => { if (followed.get(id) === leaving) followed.delete(id) })
  }

  /**
   * Stops following a session. To follow it again, the client sends a new `subscribe`, which names the transition (recorded step) behind
   * which to begin.
   */
  function unsubscribe ({ sessionId: id }: FrameOf<'unsubscribe'>): void {
    followed.get(id)?.abort()
    followed.delete(id)
  }

  async function pump (events: AsyncGenerator<Followed>, sessionId: string, left: AbortSignal): Promise<void> {
    try {
      for await (const each of events) {
        if (left.aborted) return
        for (const frame of framesOf(each, sessionId)) connection.send(frame)
      }
    } catch (error) {
      onLost(error, 'error')
    }
  }

  /**
   * Tells the client that it can no longer follow a session: the client has lost the right to do so, or the service could not read the
   * session. In the second case the socket is closed, too.
   */
  function onLost (error: unknown, type: 'error' | 'skill_error'): void {
    if (error instanceof ServiceError && error.statusCode < 500) return connection.fail(error, frameOf(type))
    log.warn({ err: error }, 'a session could not be followed')
    if (error instanceof ServiceError) connection.send(frameOf(type)(error))
    connection.close(1011, 'a session could not be followed')
  }

  return {
    async take (given) {
      const frame = readFrame(given)
      if (await terminal.take(frame)) return
      requireRun()
      if (frame.type === 'subscribe') return await subscribe(frame)
      if (frame.type === 'unsubscribe') return unsubscribe(frame)
      await skill.take(frame)
    },
    errorOf: (error: ServiceError, frame) => frameOf(typeof frame?.['type'] === 'string' && frame['type'].startsWith('skill') ? 'skill_error' : 'error')(error),
    isKeys: frame => terminal.isKeys(frame),
    takesKeys: () => terminal.id !== undefined,
    close () {
      terminal.close()
      closing.abort()
    }
  }
}

/**
 * Makes the frame that tells the client of an error. If the client decided about an approval and another one waits now, the frame describes the
 * one that waits. Otherwise the frame has the detail `at` of the error, if there is one: the address of the process that has the terminal, or
 * the time at which the approval was decided.
 */
function frameOf (type: 'error' | 'skill_error'): (error: ServiceError) => JsonObject {
  return error => {
    const { code, message, details } = error
    const { next, at } = (details ?? {}) as { readonly next?: JsonObject, readonly at?: string }
    const about = next === undefined ? at === undefined ? {} : { details: { at } } : { details: { next } }
    return type === 'skill_error' ? { type, error: skillErrorText(error), code, ...about } : { type, code, message, ...about }
  }
}

function framesOf (followed: Followed, sessionId: string): JsonObject[] {
  if ('live' in followed) return [{ type: 'live', sessionId, data: { ...followed.live, at: timeOf(Date.now()) } }]
  const { seq } = followed.transition
  return eventsOf(followed.transition).map(({ type, data }, n) => ({ type: 'event', sessionId, seq, n, event: type, data }))
}
