import { type FastifyRequest } from 'fastify'
import { requestInvalid, type ServiceError } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { type Sessions } from '../../service/sessions/sessions.ts'
import { eventsOf, timeOf } from '../../session/events.ts'
import { type Followed } from '../../session/follow.ts'
import { skillErrorText } from '../skills/skill-envelope.ts'
import { textOf } from './frame-fields.ts'
import { SkillConversation, type SkillServices } from './skill-conversation.ts'
import { type FrameHandler, type SocketConnection } from './socket-connection.ts'

/** Sessions that one socket follows at a time. */
const MAX_FOLLOWED = 100

/** What conversations over sockets are about. */
export interface Conversations extends SkillServices {
  readonly sessions: Sessions
}

/** The frames of one client: those of skills, and `subscribe` for every session. */
export function openConversation (connection: SocketConnection, request: FastifyRequest, services: Conversations): FrameHandler {
  const closing = new AbortController()
  const followed = new Set<string>()
  const skill = new SkillConversation({ connection, request, services, signal: closing.signal })

  async function subscribe ({ sessionId, after = 0 }: JsonObject): Promise<void> {
    const id = textOf(sessionId, 'sessionId')
    if (typeof after !== 'number' || !Number.isInteger(after) || after < 0) throw requestInvalid('after: expected the number of a transition, or nothing', { part: 'frame' })
    if (followed.has(id)) return
    if (followed.size === MAX_FOLLOWED) throw requestInvalid(`expected at most ${MAX_FOLLOWED} subscriptions`, { part: 'frame' })
    const events = await services.sessions.follow(request.caller, id, after, closing.signal)
    followed.add(id)
    void pump(events, id).finally(() => followed.delete(id))
  }

  async function pump (events: Awaited<ReturnType<Sessions['follow']>>, sessionId: string): Promise<void> {
    try {
      for await (const each of events) for (const frame of framesOf(each, sessionId)) connection.send(frame)
    } catch (error) {
      request.log.warn({ err: error }, 'a session could not be followed')
      connection.close(1011, 'a session could not be followed')
    }
  }

  return {
    async take (frame) {
      if (frame['type'] === 'subscribe') return await subscribe(frame)
      if (await skill.take(frame)) return
      throw requestInvalid('expected a frame as docs/skills.md has them: a JSON object with a type, such as subscribe or skill_invoke', { part: 'frame' })
    },
    errorOf: (error: ServiceError, frame) => {
      const isOfSkill = typeof frame?.['type'] === 'string' && frame['type'].startsWith('skill')
      return isOfSkill ? { type: 'skill_error', error: skillErrorText(error), code: error.code } : { type: 'error', code: error.code, message: error.message }
    },
    close () { closing.abort() }
  }
}

function framesOf (followed: Followed, sessionId: string): JsonObject[] {
  if ('live' in followed) return [{ type: 'live', sessionId, data: { ...followed.live, at: timeOf(Date.now()) } }]
  const { seq } = followed.transition
  return eventsOf(followed.transition).map(({ type, data }, n) => ({ type: 'event', sessionId, seq, n, event: type, data }))
}
